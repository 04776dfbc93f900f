// A confusion matrix as a picture: a row for each true class, a column for each answer, darker
// where there are more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

class ConfusionMatrix {
public:
    explicit ConfusionMatrix(std::size_t classes) : classes_(classes), counts_(classes * classes) {}

    void add(std::size_t truth, std::size_t answer) { ++counts_.at(truth * classes_ + answer); }
    std::size_t count(std::size_t truth, std::size_t answer) const {
        return counts_.at(truth * classes_ + answer);
    }
    std::size_t total() const {
        std::size_t sum = 0;
        for (auto const n : counts_) sum += n;
        return sum;
    }
    std::size_t right() const {
        std::size_t sum = 0;
        for (std::size_t k = 0; k < classes_; ++k) sum += count(k, k);
        return sum;
    }
    double accuracy() const { return static_cast<double>(right()) / static_cast<double>(total()); }

    void write_svg(std::filesystem::path const& path, std::string const& title) const {
        constexpr std::size_t cell = 36, left = 60, top = 60;
        auto const side = std::to_string(left + cell * classes_ + 30),
                   most = std::to_string(*std::max_element(counts_.begin(), counts_.end()));
        std::string svg =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + side + "\" height=\"" + side +
            "\" font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n";
        svg += "<rect width=\"" + side + "\" height=\"" + side + "\" fill=\"white\"/>\n";
        auto const text = [&svg](std::size_t x, std::size_t y, std::string const& label,
                              char const* more = "") {
            svg += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + more +
                   ">" + label + "</text>\n";
        };
        text(left + cell * classes_ / 2, 20, title, " font-size=\"15\"");
        text(left + cell * classes_ / 2, 38, "answer");
        text(18, top + cell * classes_ / 2, "digit",
            (" transform=\"rotate(-90 18 " + std::to_string(top + cell * classes_ / 2) + ")\"")
                .c_str());
        for (std::size_t k = 0; k < classes_; ++k) {
            text(left + cell * k + cell / 2, top - 6, std::to_string(k));
            text(left - 14, top + cell * k + cell / 2 + 5, std::to_string(k));
            for (std::size_t j = 0; j < classes_; ++j) {
                auto const n = count(k, j);
                double const part =
                    std::sqrt(static_cast<double>(n) /
                              std::stod(most)); // so that a single mistake can be seen
                auto const shade = [part](double dark) {
                    return std::to_string(std::lround(255 + part * (dark - 255)));
                };
                auto const fill =
                    k == j ? "rgb(" + shade(0) + "," + shade(114) + "," + shade(178) + ")"
                           : "rgb(" + shade(213) + "," + shade(94) + "," + shade(0) + ")";
                svg += "<rect x=\"" + std::to_string(left + cell * j) + "\" y=\"" +
                       std::to_string(top + cell * k) + "\" width=\"" + std::to_string(cell) +
                       "\" height=\"" + std::to_string(cell) + "\" fill=\"" + fill +
                       "\" stroke=\"#cccccc\"/>\n";
                if (n)
                    text(left + cell * j + cell / 2, top + cell * k + cell / 2 + 5,
                        std::to_string(n), part > 0.6 ? " fill=\"white\"" : "");
            }
        }
        std::ofstream file(path);
        file << svg << "</svg>\n";
        if (!file) throw std::runtime_error(path.string() + " cannot be written");
    }

private:
    std::size_t classes_;
    std::vector<std::size_t> counts_;
};

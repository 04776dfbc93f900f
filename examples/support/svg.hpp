// Charts as SVG: axes, ticks, labels and any number of series, as lines or as points.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

struct Point {
    double x, y;
};

struct Series {
    std::string name;
    std::vector<Point> points; // a point that is not finite interrupts the line
    bool scattered = false;    // points without a line
};

struct Chart {
    std::string title, x_label, y_label;
    std::vector<Series> series;
};

namespace detail {

/// One axis: its range, widened to whole ticks at 1, 2 or 5 times a power of ten, and where that
/// lies on the page.
class Scale {
public:
    Scale(double low, double high, double page_low, double page_high)
        : page_low_(page_low), page_high_(page_high) {
        if (!(low <= high)) low = 0, high = 1; // no data
        if (low == high) low -= 0.5, high += 0.5;
        auto const rough = (high - low) / 6;
        auto const power = std::pow(10, std::floor(std::log10(rough)));
        auto const digit = rough / power;
        step_ = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
        first_ = std::floor(low / step_ + 1e-9);
        last_ = std::ceil(high / step_ - 1e-9);
    }

    double operator()(double value) const {
        return page_low_ + (value / step_ - first_) / (last_ - first_) * (page_high_ - page_low_);
    }

    std::vector<double> ticks() const {
        std::vector<double> values;
        for (auto tick = first_; tick <= last_; ++tick) values.push_back(tick * step_);
        return values;
    }

private:
    double page_low_, page_high_, step_, first_, last_;
};

inline std::string escaped(std::string_view text) {
    std::string out;
    for (char const c : text) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else out += c;
    }
    return out;
}

inline bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

class ChartWriter {
public:
    explicit ChartWriter(Chart const& chart)
        : chart_(chart), x_(scale(&Point::x, left, right)), y_(scale(&Point::y, bottom, top)) {
        svg_.imbue(std::locale::classic());
    }

    std::string write() {
        svg_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"400\" "
                "viewBox=\"0 0 640 400\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"640\" height=\"400\" fill=\"white\"/>\n";
        for (double const tick : x_.ticks()) {
            line(x_(tick), bottom, x_(tick), top, "#dddddd");
            text(x_(tick), bottom + 18, "middle", number(tick));
        }
        for (double const tick : y_.ticks()) {
            line(left, y_(tick), right, y_(tick), "#dddddd");
            text(left - 8, y_(tick) + 4, "end", number(tick));
        }
        line(left, bottom, right, bottom, "black");
        line(left, bottom, left, top, "black");
        text((left + right) / 2, top - 18, "middle", chart_.title, "font-size=\"15\"");
        text((left + right) / 2, bottom + 42, "middle", chart_.x_label);
        text(18, (top + bottom) / 2, "middle", chart_.y_label, "transform=\"rotate(-90 18 195)\"");
        for (std::size_t i = 0; i < chart_.series.size(); ++i) draw(chart_.series[i], i);
        svg_ << "</svg>\n";
        return svg_.str();
    }

private:
    static constexpr double left = 70, right = 500, top = 45, bottom = 345;

    Scale scale(double Point::*axis, double page_low, double page_high) const {
        double low = INFINITY, high = -INFINITY;
        for (auto const& series : chart_.series)
            for (auto const& point : series.points)
                if (is_finite(point))
                    low = std::min(low, point.*axis), high = std::max(high, point.*axis);
        return {low, high, page_low, page_high};
    }

    void draw(Series const& series, std::size_t index) {
        static constexpr std::array colours{
            "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b"};
        auto const colour = colours[index % colours.size()];
        auto const gap = [](Point p) { return !is_finite(p); };
        for (auto begin = series.points.begin(); begin != series.points.end();) {
            begin = std::find_if_not(begin, series.points.end(), gap);
            auto const end = std::find_if(begin, series.points.end(), gap);
            if (series.scattered) markers(begin, end, colour, end - begin <= 50 ? 3 : 1.5);
            else if (begin != end) draw(begin, end, colour);
            begin = end;
        }
        auto const height = top + 10 + 20 * static_cast<double>(index);
        line(right + 12, height, right + 32, height, colour, 2);
        text(right + 38, height + 4, "start", series.name);
    }

    using Iterator = std::vector<Point>::const_iterator;

    void draw(Iterator begin, Iterator end, std::string_view colour) {
        svg_ << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"2\" points=\"";
        for (auto point = begin; point != end; ++point)
            svg_ << (point == begin ? "" : " ") << x_(point->x) << ',' << y_(point->y);
        svg_ << "\"/>\n";
        if (end - begin <= 50) markers(begin, end, colour, 3); // more would hide the line
    }

    void markers(Iterator begin, Iterator end, std::string_view colour, double radius) {
        for (auto point = begin; point != end; ++point)
            svg_ << "<circle cx=\"" << x_(point->x) << "\" cy=\"" << y_(point->y) << "\" r=\""
                 << radius << "\" fill=\"" << colour << "\"/>\n";
    }

    void line(double x1, double y1, double x2, double y2, std::string_view colour, int width = 1) {
        svg_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2
             << "\" stroke=\"" << colour << "\" stroke-width=\"" << width << "\"/>\n";
    }

    void text(double x, double y, std::string_view anchor, std::string_view content,
        std::string_view attributes = "") {
        svg_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\" "
             << attributes << '>' << escaped(content) << "</text>\n";
    }

    static std::string number(double value) {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream << (std::abs(value) < 1e-12 ? 0.0 : value);
        return stream.str();
    }

    Chart const& chart_;
    Scale x_, y_;
    std::ostringstream svg_;
};

} // namespace detail

inline std::string to_svg(Chart const& chart) { return detail::ChartWriter(chart).write(); }

inline void write_svg(std::filesystem::path const& path, Chart const& chart) {
    std::ofstream file(path);
    file << to_svg(chart);
    if (!file.flush()) throw std::runtime_error("cannot write '" + path.string() + "'");
}

} // namespace examples

// Charts as SVG: axes, ticks, labels and any number of series, as lines or as points. Series differ
// in colour and in dashes or markers; the colours are those of Okabe and Ito, "Color universal
// design", 2008, which people with colour blindness can tell apart.
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
    bool square = false; // both axes are of one quantity: the same range, the same length
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

/// How the series with this number looks.
struct Look {
    std::string_view colour, dashes, marker; // the marker is a path around (0, 0)
};

inline Look look(std::size_t series) {
    static constexpr std::array looks{
        Look{"#0072b2", "none", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"}, // blue, a circle
        Look{"#d55e00", "7 4", "M0-4.8L4.8 3.6L-4.8 3.6z"},            // vermilion, a triangle
        Look{"#000000", "2 3", "M-3.6-3.6h7.2v7.2h-7.2z"},             // black, a square
        Look{"#56b4e9", "9 3 2 3", "M0-5L5 0L0 5L-5 0z"},              // sky blue, a diamond
    };
    return looks[series % looks.size()];
}

class ChartWriter {
public:
    explicit ChartWriter(Chart const& chart)
        : chart_(chart), right_(chart.square ? left + bottom - top : 430), x_(scale(&Point::x)),
          y_(scale(&Point::y)) {
        svg_.imbue(std::locale::classic());
    }

    std::string write() {
        std::size_t longest = 0;
        for (auto const& series : chart_.series) longest = std::max(longest, series.name.size());
        auto const width = right_ + 52 + 7.5 * static_cast<double>(longest);
        svg_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
             << "\" height=\"360\" viewBox=\"0 0 " << width
             << " 360\" font-family=\"sans-serif\" font-size=\"13\">\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
        for (double const tick : x_.ticks()) {
            line(x_(tick), bottom, x_(tick), top, "stroke=\"#dddddd\"");
            text(x_(tick), bottom + 18, "middle", number(tick));
        }
        for (double const tick : y_.ticks()) {
            line(left, y_(tick), right_, y_(tick), "stroke=\"#dddddd\"");
            text(left - 8, y_(tick) + 4, "end", number(tick));
        }
        line(left, bottom, right_, bottom, "stroke=\"black\"");
        line(left, bottom, left, top, "stroke=\"black\"");
        text((left + right_) / 2, top - 16, "middle", chart_.title, "font-size=\"16\"");
        text((left + right_) / 2, bottom + 42, "middle", chart_.x_label);
        text(18, (top + bottom) / 2, "middle", chart_.y_label, "transform=\"rotate(-90 18 175)\"");
        for (std::size_t i = 0; i < chart_.series.size(); ++i) {
            draw(chart_.series[i], look(i));
            legend(chart_.series[i], look(i), top + 10 + 22 * static_cast<double>(i));
        }
        svg_ << "</svg>\n";
        return svg_.str();
    }

private:
    static constexpr double left = 70, top = 40, bottom = 310;

    Scale scale(double Point::*axis) const {
        double low = INFINITY, high = -INFINITY;
        for (auto const& series : chart_.series)
            for (auto const& point : series.points)
                if (is_finite(point))
                    for (auto const each : {&Point::x, &Point::y})
                        if (each == axis || chart_.square)
                            low = std::min(low, point.*each), high = std::max(high, point.*each);
        if (axis == &Point::x) return {low, high, left, right_};
        return {low, high, bottom, top};
    }

    void draw(Series const& series, Look const& look) {
        auto const gap = [](Point p) { return !is_finite(p); };
        for (auto begin = series.points.begin(); begin != series.points.end();) {
            begin = std::find_if_not(begin, series.points.end(), gap);
            auto const end = std::find_if(begin, series.points.end(), gap);
            if (!series.scattered && begin != end) polyline(begin, end, look);
            if (end - begin <= 50) markers(begin, end, look); // more would hide the line
            else if (series.scattered) dots(begin, end, look);
            begin = end;
        }
    }

    void legend(Series const& series, Look const& look, double height) {
        if (series.scattered) marker({right_ + 22, height}, look);
        else line(right_ + 8, height, right_ + 36, height, stroke(look));
        text(right_ + 42, height + 4, "start", series.name);
    }

    using Iterator = std::vector<Point>::const_iterator;

    void polyline(Iterator begin, Iterator end, Look const& look) {
        svg_ << "<polyline fill=\"none\" " << stroke(look) << " points=\"";
        for (auto point = begin; point != end; ++point)
            svg_ << (point == begin ? "" : " ") << page(x_(point->x)) << ',' << page(y_(point->y));
        svg_ << "\"/>\n";
    }

    void markers(Iterator begin, Iterator end, Look const& look) {
        for (auto point = begin; point != end; ++point) marker({x_(point->x), y_(point->y)}, look);
    }

    void marker(Point at, Look const& look) {
        svg_ << "<path transform=\"translate(" << page(at.x) << ' ' << page(at.y) << ")\" d=\""
             << look.marker << "\" fill=\"" << look.colour << "\"/>\n";
    }

    /// Many points in one path, of which each is a line without length and with round ends.
    void dots(Iterator begin, Iterator end, Look const& look) {
        svg_ << "<path fill=\"none\" stroke=\"" << look.colour
             << "\" stroke-width=\"3.5\" stroke-linecap=\"round\" d=\"";
        for (auto point = begin; point != end; ++point)
            svg_ << 'M' << page(x_(point->x)) << ' ' << page(y_(point->y)) << "h0";
        svg_ << "\"/>\n";
    }

    void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
        svg_ << "<line x1=\"" << page(x1) << "\" y1=\"" << page(y1) << "\" x2=\"" << page(x2)
             << "\" y2=\"" << page(y2) << "\" " << attributes << "/>\n";
    }

    void text(double x, double y, std::string_view anchor, std::string_view content,
        std::string_view attributes = "") {
        svg_ << "<text x=\"" << page(x) << "\" y=\"" << page(y) << "\" text-anchor=\"" << anchor
             << "\" " << attributes << '>' << escaped(content) << "</text>\n";
    }

    static std::string stroke(Look const& look) {
        return "stroke=\"" + std::string(look.colour) +
               "\" stroke-width=\"2\" stroke-dasharray=\"" + std::string(look.dashes) + '"';
    }

    /// A place on the page, to a tenth of a pixel.
    static double page(double at) { return std::round(at * 10) / 10; }

    static std::string number(double value) {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream << (std::abs(value) < 1e-12 ? 0.0 : value);
        return stream.str();
    }

    Chart const& chart_;
    double right_;
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

// Bodies of progress.hpp.
#pragma once

#include <xgrad/data/progress.hpp>

namespace xgrad::data {

XGRAD_FUNCTION ProgressBar::ProgressBar(std::size_t total, ProgressOptions options)
    : total_(total), options_(std::move(options)) {
    terminal_ = options_.terminal.value_or(is_terminal(*options_.out));
    interval_ = options_.interval.value_or(terminal_ ? 0.1 : 10);
    start_ = drawn_ = options_.clock();
}

XGRAD_FUNCTION void ProgressBar::update(std::size_t steps) {
    done_ += steps;
    auto const now = options_.clock();
    if (!finished_ && (now - drawn_ >= interval_ || (terminal_ && done_ >= total_))) draw(now);
}

XGRAD_FUNCTION void ProgressBar::update(std::size_t steps, double loss) {
    // an exponential moving average; dividing by the sum of weights corrects the bias of the
    // first values
    average_ = options_.smoothing * average_ + (1 - options_.smoothing) * loss;
    weight_ = options_.smoothing * weight_ + (1 - options_.smoothing);
    update(steps);
}

XGRAD_FUNCTION void ProgressBar::finish() {
    if (finished_) return;
    if (drawn_steps_ != done_) draw(options_.clock());
    finished_ = true;
    if (terminal_) *options_.out << '\n' << std::flush;
}

XGRAD_FUNCTION bool ProgressBar::is_terminal(std::ostream const& out) {
#if __has_include(<unistd.h>)
    if (out.rdbuf() == std::cerr.rdbuf()) return ::isatty(STDERR_FILENO) == 1;
    if (out.rdbuf() == std::cout.rdbuf()) return ::isatty(STDOUT_FILENO) == 1;
#endif
    return false;
}

XGRAD_FUNCTION std::string ProgressBar::duration(double seconds) {
    if (!(seconds >= 0 && seconds < 360'000'000)) return "?";
    auto const s = static_cast<long long>(std::lround(seconds));
    char text[32];
    if (s >= 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else std::snprintf(text, sizeof text, "%02lld:%02lld", s / 60, s % 60);
    return text;
}

XGRAD_FUNCTION void ProgressBar::draw(double now) {
    drawn_ = now, drawn_steps_ = done_;
    double const elapsed = now - start_,
                 part = total_
                            ? std::min(1., static_cast<double>(done_) / static_cast<double>(total_))
                            : 1;
    std::string line = options_.label.empty() ? "" : options_.label + ": ";
    char text[64];
    std::snprintf(text, sizeof text, "%3d%% ", static_cast<int>(100 * part));
    line += text;
    if (terminal_) {
        auto const full = static_cast<std::size_t>(part * std::max(options_.width, 0));
        line += '[' + std::string(full, '#') +
                std::string(static_cast<std::size_t>(std::max(options_.width, 0)) - full, '.') +
                "] ";
    }
    line += std::to_string(done_) + "/" + std::to_string(total_) + " " + duration(elapsed);
    if (done_ < total_)
        line += " left " + (done_ ? duration(elapsed * static_cast<double>(total_ - done_) /
                                             static_cast<double>(done_))
                                  : "?");
    if (weight_ > 0) {
        std::snprintf(text, sizeof text, " loss %.4g", loss());
        line += text;
    }
    if (terminal_)
        *options_.out << '\r' << line << "\x1b[K"
                      << std::flush; // the escape sequence erases the rest of the line
    else *options_.out << line << '\n' << std::flush;
}

} // namespace xgrad::data

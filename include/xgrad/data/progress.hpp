// ProgressBar: the progress of a loop, the remaining time, and the smoothed loss. On a terminal it
// redraws one line; in a file or pipe it prints a plain line now and then.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <string>

#if __has_include(<unistd.h>)
#    include <unistd.h>
#endif

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::data {

struct ProgressOptions {
    /// The text before the bar.
    std::string label = {};
    /// The stream to which it is drawn.
    std::ostream* out = &std::cerr;
    /// True if that is a terminal. Without a value that is found out for std::cerr and std::cout,
    /// and false for other streams.
    std::optional<bool> terminal = {};
    /// Seconds between two drawings; without a value 0.1 on a terminal and 10 otherwise.
    std::optional<double> interval = {};
    /// The weight of earlier losses in the moving average.
    double smoothing = 0.98;
    int width = 30;
    /// The time in seconds, from any start.
    std::function<double()> clock = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
};

class ProgressBar {
public:
    explicit ProgressBar(std::size_t total, ProgressOptions options = {})
        : total_(total), options_(std::move(options)) {
        terminal_ = options_.terminal.value_or(is_terminal(*options_.out));
        interval_ = options_.interval.value_or(terminal_ ? 0.1 : 10);
        start_ = drawn_ = options_.clock();
    }
    ProgressBar(ProgressBar const&) = delete;
    ProgressBar& operator=(ProgressBar const&) = delete;
    /// Ends the line as finish() does.
    ~ProgressBar() {
        try {
            finish();
        } catch (...) { // an exception of the stream must not end the program
        }
    }

    /// Counts finished steps.
    void update(std::size_t steps = 1) {
        done_ += steps;
        auto const now = options_.clock();
        if (!finished_ && (now - drawn_ >= interval_ || (terminal_ && done_ >= total_))) draw(now);
    }
    /// Counts finished steps, with their loss.
    void update(std::size_t steps, double loss) {
        // an exponential moving average; dividing by the sum of weights corrects the bias of the
        // first values
        average_ = options_.smoothing * average_ + (1 - options_.smoothing) * loss;
        weight_ = options_.smoothing * weight_ + (1 - options_.smoothing);
        update(steps);
    }
    /// Draws the final state and ends the line. Later updates draw nothing.
    void finish() {
        if (finished_) return;
        if (drawn_steps_ != done_) draw(options_.clock());
        finished_ = true;
        if (terminal_) *options_.out << '\n' << std::flush;
    }
    /// The moving average of the losses; NaN before the first.
    double loss() const noexcept { return average_ / weight_; }

private:
    static bool is_terminal(std::ostream const& out) {
#if __has_include(<unistd.h>)
        if (out.rdbuf() == std::cerr.rdbuf()) return ::isatty(STDERR_FILENO) == 1;
        if (out.rdbuf() == std::cout.rdbuf()) return ::isatty(STDOUT_FILENO) == 1;
#endif
        return false;
    }
    /// "1:02:03" or "02:03".
    static std::string duration(double seconds) {
        if (!(seconds >= 0 && seconds < 360'000'000)) return "?";
        auto const s = static_cast<long long>(std::lround(seconds));
        char text[32];
        if (s >= 3600)
            std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
        else std::snprintf(text, sizeof text, "%02lld:%02lld", s / 60, s % 60);
        return text;
    }
    void draw(double now) {
        drawn_ = now, drawn_steps_ = done_;
        double const elapsed = now - start_,
                     part = total_ ? std::min(1.,
                                         static_cast<double>(done_) / static_cast<double>(total_))
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

    std::size_t total_, done_ = 0;
    std::optional<std::size_t> drawn_steps_;
    ProgressOptions options_;
    bool terminal_, finished_ = false;
    double interval_, start_, drawn_, average_ = 0, weight_ = 0;
};

} // namespace xgrad::data

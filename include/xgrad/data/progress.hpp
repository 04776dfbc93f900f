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

#include <xgrad/core/config.hpp>

namespace xgrad::data {

/// Options of ProgressBar.
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
    int width = 30; // characters of the bar on a terminal
    /// The time in seconds, from any start.
    std::function<double()> clock = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
};

/// Prints the progress of a loop, the remaining time, and the smoothed loss.
class ProgressBar {
public:
    explicit ProgressBar(std::size_t total, ProgressOptions options = {});
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
    void update(std::size_t steps = 1);
    /// Counts finished steps, with their loss.
    void update(std::size_t steps, double loss);
    /// Draws the final state and ends the line. Later updates draw nothing.
    void finish();
    /// The moving average of the losses; NaN before the first.
    double loss() const noexcept { return average_ / weight_; }

private:
    static bool is_terminal(std::ostream const& out);
    /// "1:02:03" or "02:03".
    static std::string duration(double seconds);
    void draw(double now);

    std::size_t total_, done_ = 0;
    std::optional<std::size_t> drawn_steps_;
    ProgressOptions options_;
    bool terminal_, finished_ = false;
    double interval_, start_, drawn_, average_ = 0, weight_ = 0;
};

} // namespace xgrad::data

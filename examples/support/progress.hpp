// A progress bar that shows a loss, a relative error and the length of a step.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace examples {

/// On a terminal, one line that redraws itself; in a pipe or a file, a new line every tenth of the way.
class Progress {
public:
    Progress(std::string title, std::size_t steps) : title_(std::move(title)), steps_(steps > 0 ? steps : 1) {}

    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    ~Progress() { finish(); }

    /// Call after each step, counted from 1; `length` is how far the step went.
    void update(std::size_t step, double loss, double relative_error, double length)
    {
        last_ = line(step, loss, relative_error, length);
        if (!due(step)) {
            pending_ = true;
            return;
        }
        draw();
    }

    /// Shows the last step, also where the work ended early.
    void finish()
    {
        if (pending_) draw();
        if (terminal_ && drawn_ > 0) std::puts("");
        drawn_ = 0;
    }

private:
    using Clock = std::chrono::steady_clock;

    static bool standard_output_is_a_terminal()
    {
#if defined(_WIN32)
        return _isatty(_fileno(stdout)) != 0;
#else
        return isatty(fileno(stdout)) != 0;
#endif
    }

    bool due(std::size_t step)
    {
        if (!terminal_) {
            auto const tenth = step * 10 / steps_;
            return std::exchange(tenth_, tenth) != tenth;
        }
        auto const now = Clock::now();
        if (step < steps_ && drawn_ > 0 && now - drawn_at_ < std::chrono::milliseconds(50)) return false;
        drawn_at_ = now;
        return true;
    }

    std::string line(std::size_t step, double loss, double relative_error, double length) const
    {
        constexpr std::size_t width = 20;
        auto const done = std::min(step, steps_) * width / steps_;
        char numbers[128];
        std::snprintf(numbers, sizeof numbers, "] %zu/%zu  loss %.1e  error %.1e  step %.1e", step, steps_, loss,
            relative_error, length);
        return title_ + " [" + std::string(done, '#') + std::string(width - done, '.') + numbers;
    }

    void draw()
    {
        pending_ = false;
        if (terminal_) {
            auto const length = last_.size();
            std::printf("\r%s%*s", last_.c_str(), static_cast<int>(drawn_ > length ? drawn_ - length : 0), "");
            drawn_ = length;
        } else {
            std::printf("%s\n", last_.c_str());
        }
        std::fflush(stdout);
    }

    std::string title_, last_;
    std::size_t steps_;
    std::size_t drawn_ = 0;    // characters now on the terminal's line
    std::size_t tenth_ = 0;
    bool pending_ = false;
    bool terminal_ = standard_output_is_a_terminal();
    Clock::time_point drawn_at_{};
};

} // namespace examples

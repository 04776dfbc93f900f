// Bodies of file.hpp and progress.hpp.
#pragma once

#include <xgrad/data/file.hpp>
#include <xgrad/data/progress.hpp>

namespace xgrad::data {

XGRAD_FUNCTION void Input::read(
    std::uint64_t offset, void* to, std::size_t n, std::string_view what) const {
    if (n == 0) return;
    if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
    if (bytes_) return void(std::memcpy(to, bytes_ + offset, n));
    file_->clear();
    file_->seekg(static_cast<std::streamoff>(offset));
    file_->read(static_cast<char*>(to), static_cast<std::streamsize>(n));
    if (!*file_) fail_at(offset, "cannot be read");
}

XGRAD_FUNCTION std::string Input::text(
    std::uint64_t offset, std::size_t n, std::string_view what) const {
    if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
    std::string s(n, '\0');
    read(offset, s.data(), n, what);
    return s;
}

XGRAD_FUNCTION Input::Input(OpenTag, std::filesystem::path const& path)
    : name_(path.string()), file_(std::make_shared<std::ifstream>()) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        xgrad::detail::fail(name_, ": cannot be read: it is a directory");
    errno = 0;
    file_->open(path, std::ios::binary);
    if (!*file_) xgrad::detail::fail(name_, ": cannot be read: ", std::strerror(errno));
    size_ = std::filesystem::file_size(path, error);
    if (error) xgrad::detail::fail(name_, ": cannot be read: ", error.message());
}

XGRAD_FUNCTION AtomicFile::AtomicFile(std::filesystem::path path)
    : name_(path.string()), path_(std::move(path)) {
    constexpr int max_links = 40, max_writers = 100;
    std::error_code error;
    for (int i = 0; i < max_links && std::filesystem::is_symlink(path_, error); ++i)
        path_ = path_.parent_path() / std::filesystem::read_symlink(path_);
    errno = ELOOP;
    if (std::filesystem::is_symlink(path_, error)) fail();
    auto const status = std::filesystem::status(path_, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        xgrad::detail::fail(name_, ": cannot be written: it is no regular file");
    int i = 0;
    for (; !file_; ++i) {
        temporary_ = temporary_name(i);
        errno = 0;
        file_ = open_new();
        if (!file_ && (errno != EEXIST || i == max_writers)) fail();
    }
#if XGRAD_DATA_POSIX
    while (std::filesystem::exists(temporary_name(i), error) && remove_abandoned(temporary_name(i)))
        ++i;
#endif
}

XGRAD_FUNCTION AtomicFile::~AtomicFile() {
    if (!file_) return;
#if XGRAD_DATA_POSIX
    remove(); // while it is locked
    std::fclose(file_);
#else
    std::fclose(file_);
    remove();
#endif
}

XGRAD_FUNCTION void AtomicFile::write(void const* from, std::size_t n) {
    if (n && std::fwrite(from, 1, n, file_) != n) fail();
    position_ += n;
}

XGRAD_FUNCTION void AtomicFile::commit() {
    if (std::fflush(file_) != 0) fail();
#if XGRAD_DATA_POSIX
    int const descriptor = ::fileno(file_);
    keep_mode_and_owner(descriptor);
    if (::fsync(descriptor) != 0) fail();
#else
    close(); // an open file cannot be renamed everywhere
#endif
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) {
        remove();
        xgrad::detail::fail(name_, ": cannot be written: ", error.message());
    }
#if XGRAD_DATA_POSIX
    close(); // which ends the lock
    sync_directory();
#endif
}

XGRAD_FUNCTION std::filesystem::path AtomicFile::temporary_name(int i) const {
    auto name = path_;
    name += (i ? "." + std::to_string(i) : std::string()) + ".tmp";
    return name;
}

XGRAD_FUNCTION void AtomicFile::close() {
    if (std::fclose(std::exchange(file_, nullptr)) == 0) return;
    auto const error = errno;
    remove();
    errno = error;
    fail();
}

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

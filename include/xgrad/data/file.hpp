// Input: what readers read, a file or bytes in memory. AtomicFile: a file that appears only when it is complete.
#pragma once

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>

#if __has_include(<unistd.h>)
#    include <unistd.h>
#endif

#include <xgrad/base/error.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::data {

/// A file that is not what it should be. The message names the file, the place in it, and what is wrong.
struct FormatError : Error {
    using Error::Error;
};

/// What a reader reads: a file, so that a path may be passed wherever an Input is wanted, or bytes in memory.
class Input {
public:
    template <class P>
        requires std::convertible_to<P const&, std::filesystem::path>
    Input(P const& path) : Input(Opened{}, std::filesystem::path(path))
    {
    }
    /// Reads from memory, which must outlive it; `name` stands for the file name in messages.
    Input(std::span<std::byte const> bytes, std::string name) : name_(std::move(name)), size_(bytes.size()), bytes_(bytes.data()) {}

    std::string const& name() const noexcept { return name_; }
    std::uint64_t size() const noexcept { return size_; }

    /// n bytes from an offset on. `what` is named where the file ends before them.
    void read(std::uint64_t offset, void* to, std::size_t n, std::string_view what) const
    {
        if (n == 0) return;
        if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
        if (bytes_) return void(std::memcpy(to, bytes_ + offset, n));
        file_->clear();
        file_->seekg(static_cast<std::streamoff>(offset));
        file_->read(static_cast<char*>(to), static_cast<std::streamsize>(n));
        if (!*file_) fail_at(offset, "cannot be read");
    }
    std::string text(std::uint64_t offset, std::size_t n, std::string_view what) const
    {
        if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
        std::string s(n, '\0');
        read(offset, s.data(), n, what);
        return s;
    }

    /// Throws FormatError for this file and an offset in it.
    template <class... Parts> [[noreturn]] void fail_at(std::uint64_t offset, Parts const&... parts) const { xgrad::detail::fail<FormatError>(name_, ", at byte ", offset, ": ", parts...); }

private:
    struct Opened {};
    Input(Opened, std::filesystem::path const& path) : name_(path.string()), file_(std::make_shared<std::ifstream>())
    {
        std::error_code error;
        if (std::filesystem::is_directory(path, error)) xgrad::detail::fail(name_, ": cannot be read: it is a directory");
        errno = 0;
        file_->open(path, std::ios::binary);
        if (!*file_) xgrad::detail::fail(name_, ": cannot be read: ", std::strerror(errno));
        size_ = std::filesystem::file_size(path, error);
        if (error) xgrad::detail::fail(name_, ": cannot be read: ", error.message());
    }

    std::string name_;
    std::uint64_t size_ = 0;
    std::byte const* bytes_ = nullptr;
    std::shared_ptr<std::ifstream> file_;
};

/// Writes to a new file beside the one that is wanted, which commit() puts in its place in one go. Without commit() nothing has happened.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path) : path_(std::move(path))
    {
        std::random_device random;
        for (int tries = 0; !file_; ++tries) {
            temporary_ = path_;
            temporary_ += "." + std::to_string(random()) + ".tmp";
            errno = 0;
            file_ = std::fopen(temporary_.string().c_str(), "wbx");
            if (!file_ && (errno != EEXIST || tries == 100)) fail();
        }
    }
    AtomicFile(AtomicFile const&) = delete;
    AtomicFile& operator=(AtomicFile const&) = delete;
    ~AtomicFile()
    {
        if (!file_) return;
        std::fclose(file_);
        remove();
    }

    void write(void const* from, std::size_t n)
    {
        if (n && std::fwrite(from, 1, n, file_) != n) fail();
        position_ += n;
    }
    void write(std::string_view text) { write(text.data(), text.size()); }
    std::uint64_t position() const noexcept { return position_; }

    /// After this the file is there, whole, also if the machine stops.
    void commit()
    {
        bool good = std::fflush(file_) == 0;
#if __has_include(<unistd.h>)
        good = good && ::fsync(::fileno(file_)) == 0;
#endif
        if (!good) fail();
        bool const closed = std::fclose(std::exchange(file_, nullptr)) == 0;
        std::error_code error;
        if (closed) std::filesystem::rename(temporary_, path_, error);
        if (closed && !error) return;
        remove();
        if (closed) xgrad::detail::fail(path_.string(), ": cannot be written: ", error.message());
        fail();
    }

private:
    void remove() noexcept
    {
        std::error_code ignored;
        std::filesystem::remove(temporary_, ignored);
    }
    [[noreturn]] void fail() const { xgrad::detail::fail(path_.string(), ": cannot be written: ", std::strerror(errno)); }

    std::filesystem::path path_, temporary_;
    std::FILE* file_ = nullptr;
    std::uint64_t position_ = 0;
};

namespace detail {

using xgrad::detail::fail;

/// A number in its first bytes, the lowest one first.
template <std::unsigned_integral U> U little_endian(void const* from) noexcept
{
    auto const* const bytes = static_cast<unsigned char const*>(from);
    U value = 0;
    for (std::size_t i = sizeof(U); i-- > 0;) value = static_cast<U>((static_cast<std::uint64_t>(value) << 8) | bytes[i]);
    return value;
}
template <std::unsigned_integral U> void put_little_endian(std::string& to, U value)
{
    for (std::size_t i = 0; i < sizeof(U); ++i) to += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

}  // namespace detail
}  // namespace xgrad::data

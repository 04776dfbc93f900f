// Input: what readers read, a file or bytes in memory. AtomicFile: a file that appears only when it
// is complete.
//
// Errors: a file that ends too early is a FormatError; one that cannot be opened, read or written
// is an Error.
#pragma once

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#if __has_include(<unistd.h>) && __has_include(<sys/file.h>) && !defined(_WIN32)
#    define XGRAD_DATA_POSIX 1
#    include <fcntl.h>
#    include <sys/file.h>
#    include <sys/stat.h>
#    include <unistd.h>
#else
#    define XGRAD_DATA_POSIX 0
#endif

#include <xgrad/core/error.hpp>

namespace xgrad::data {

/// A malformed file. The message names the file, the position in it, and what is wrong.
struct FormatError : Error {
    using Error::Error;
};

/// The source of a reader: a file (a path converts to an Input) or bytes in memory.
class Input {
public:
    template <class P>
        requires std::convertible_to<P const&, std::filesystem::path>
    Input(P const& path) : Input(OpenTag{}, std::filesystem::path(path)) {}
    /// Reads from memory, which must outlive it; `name` stands for the file name in messages.
    Input(std::span<std::byte const> bytes, std::string name)
        : name_(std::move(name)), size_(bytes.size()), bytes_(bytes.data()) {}

    /// The name in messages, and the number of bytes.
    std::string const& name() const noexcept { return name_; }
    std::uint64_t size() const noexcept { return size_; }

    /// n bytes at an offset. The error for a file that ends before them names `what`.
    void read(std::uint64_t offset, void* to, std::size_t n, std::string_view what) const;
    std::string text(std::uint64_t offset, std::size_t n, std::string_view what) const;

    /// Throws FormatError for this file and an offset in it.
    template <class... Parts>
    [[noreturn]] void fail_at(std::uint64_t offset, Parts const&... parts) const {
        xgrad::detail::fail<FormatError>(name_, ", at byte ", offset, ": ", parts...);
    }

private:
    struct OpenTag {};
    Input(OpenTag, std::filesystem::path const& path);

    std::string name_;
    std::uint64_t size_ = 0;
    std::byte const* bytes_ = nullptr;
    std::shared_ptr<std::ifstream> file_;
};

/// Writes to a temporary file beside the destination. commit() renames it atomically, with the mode
/// and, if that is allowed, the owner of the file before. Without commit() the destination is
/// unchanged. Symbolic links are followed.
///
/// The temporary file is "NAME.tmp", or "NAME.1.tmp", ... while other writers of the same file are
/// active. A writer locks its file: one without a lock was left by a program that was killed, and
/// the next writer removes it.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);
    AtomicFile(AtomicFile const&) = delete;
    AtomicFile& operator=(AtomicFile const&) = delete;
    ~AtomicFile();

    /// Appends bytes; throws where that fails.
    void write(void const* from, std::size_t n);
    void write(std::string_view text) { write(text.data(), text.size()); }
    std::uint64_t position() const noexcept { return position_; }

    /// After it the file is complete, also if the machine stops.
    void commit();

private:
    /// The temporary name of a writer that starts while i others are active.
    std::filesystem::path temporary_name(int i) const;
#if XGRAD_DATA_POSIX
    /// Creates a file that did not exist; null, with errno, if another writer has it.
    std::FILE* open_new() const {
        for (;;) {
            constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
            int const descriptor = ::open(temporary_.c_str(), flags, 0666);
            if (descriptor < 0) {
                if (errno == EEXIST && remove_abandoned(temporary_)) continue;
                return nullptr;
            }
            if (lock(descriptor, temporary_)) {
                std::FILE* const file = ::fdopen(descriptor, "wb");
                if (!file) ::close(descriptor);
                return file;
            }
            ::close(descriptor); // another writer removed it as abandoned before it was locked
        }
    }
    /// Locks an open file; true if it still has this name.
    static bool lock(int descriptor, std::filesystem::path const& name) noexcept {
        struct ::stat own, there;
        return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &own) == 0 &&
               ::stat(name.c_str(), &there) == 0 && own.st_ino == there.st_ino &&
               own.st_dev == there.st_dev;
    }
    /// Removes the temporary file of a writer that was killed; false if the writer is active.
    static bool remove_abandoned(std::filesystem::path const& name) noexcept {
        int const descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        bool const gone = descriptor < 0 ? errno == ENOENT
                                         : lock(descriptor, name) && ::unlink(name.c_str()) == 0;
        if (descriptor >= 0) ::close(descriptor);
        errno = EEXIST;
        return gone;
    }
    void keep_mode_and_owner(int descriptor) const noexcept {
        struct ::stat before;
        if (::stat(path_.c_str(), &before) != 0) return;
        // Only the superuser may give a file away; others may still keep its group.
        if (::fchown(descriptor, before.st_uid, before.st_gid) != 0 &&
            ::fchown(descriptor, static_cast<::uid_t>(-1), before.st_gid) != 0)
            errno = 0;
        if (::fchmod(descriptor, before.st_mode & 07777) != 0) errno = 0;
    }
    /// Makes the new name durable.
    void sync_directory() const {
        auto const directory =
            path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
        int const descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor < 0) return; // it may be written, but not read
        bool const good = ::fsync(descriptor) == 0 || errno == EINVAL;
        auto const error = errno;
        ::close(descriptor);
        errno = error;
        if (!good) fail();
    }
#else
    std::FILE* open_new() const { return std::fopen(temporary_.string().c_str(), "wb"); }
#endif
    void close();
    void remove() noexcept {
        std::error_code ignored;
        std::filesystem::remove(temporary_, ignored);
    }
    [[noreturn]] void fail() const {
        xgrad::detail::fail(name_, ": cannot be written: ", std::strerror(errno));
    }

    std::string name_; // as the caller gave it
    std::filesystem::path path_, temporary_;
    std::FILE* file_ = nullptr;
    std::uint64_t position_ = 0;
};

namespace detail {

using xgrad::detail::fail;

/// An unsigned integer from its bytes, the lowest one first.
template <std::unsigned_integral U> U little_endian(void const* from) noexcept {
    auto const* const bytes = static_cast<unsigned char const*>(from);
    U value = 0;
    for (std::size_t i = sizeof(U); i-- > 0;)
        value = static_cast<U>((static_cast<std::uint64_t>(value) << 8) | bytes[i]);
    return value;
}
template <std::unsigned_integral U> void put_little_endian(std::string& to, U value) {
    for (std::size_t i = 0; i < sizeof(U); ++i)
        to += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

} // namespace detail
} // namespace xgrad::data

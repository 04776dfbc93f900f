// Input: what readers read, a file or bytes in memory. AtomicFile: a file that appears only when it
// is complete.
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

#if __has_include(<unistd.h>) && __has_include(<sys/file.h>)
#    define XGRAD_DATA_POSIX 1
#    include <fcntl.h>
#    include <sys/file.h>
#    include <sys/stat.h>
#    include <unistd.h>
#else
#    define XGRAD_DATA_POSIX 0
#endif

#include <xgrad/base/error.hpp>

XGRAD_COMPILED_ONCE

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
    Input(P const& path) : Input(Opened{}, std::filesystem::path(path)) {}
    /// Reads from memory, which must outlive it; `name` stands for the file name in messages.
    Input(std::span<std::byte const> bytes, std::string name)
        : name_(std::move(name)), size_(bytes.size()), bytes_(bytes.data()) {}

    std::string const& name() const noexcept { return name_; }
    std::uint64_t size() const noexcept { return size_; }

    /// n bytes at an offset. The error for a file that ends before them names `what`.
    void read(std::uint64_t offset, void* to, std::size_t n, std::string_view what) const {
        if (n == 0) return;
        if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
        if (bytes_) return void(std::memcpy(to, bytes_ + offset, n));
        file_->clear();
        file_->seekg(static_cast<std::streamoff>(offset));
        file_->read(static_cast<char*>(to), static_cast<std::streamsize>(n));
        if (!*file_) fail_at(offset, "cannot be read");
    }
    std::string text(std::uint64_t offset, std::size_t n, std::string_view what) const {
        if (offset > size_ || n > size_ - offset) fail_at(offset, "the file ends within ", what);
        std::string s(n, '\0');
        read(offset, s.data(), n, what);
        return s;
    }

    /// Throws FormatError for this file and an offset in it.
    template <class... Parts>
    [[noreturn]] void fail_at(std::uint64_t offset, Parts const&... parts) const {
        xgrad::detail::fail<FormatError>(name_, ", at byte ", offset, ": ", parts...);
    }

private:
    struct Opened {};
    Input(Opened, std::filesystem::path const& path)
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
    explicit AtomicFile(std::filesystem::path path) : name_(path.string()), path_(std::move(path)) {
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
        while (std::filesystem::exists(temporary_name(i), error) &&
               remove_abandoned(temporary_name(i)))
            ++i;
#endif
    }
    AtomicFile(AtomicFile const&) = delete;
    AtomicFile& operator=(AtomicFile const&) = delete;
    ~AtomicFile() {
        if (!file_) return;
#if XGRAD_DATA_POSIX
        remove(); // while it is locked
        std::fclose(file_);
#else
        std::fclose(file_);
        remove();
#endif
    }

    void write(void const* from, std::size_t n) {
        if (n && std::fwrite(from, 1, n, file_) != n) fail();
        position_ += n;
    }
    void write(std::string_view text) { write(text.data(), text.size()); }
    std::uint64_t position() const noexcept { return position_; }

    /// After it the file is complete, also if the machine stops.
    void commit() {
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

private:
    /// The temporary name of a writer that starts while i others are active.
    std::filesystem::path temporary_name(int i) const {
        auto name = path_;
        name += (i ? "." + std::to_string(i) : std::string()) + ".tmp";
        return name;
    }
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
    void close() {
        if (std::fclose(std::exchange(file_, nullptr)) == 0) return;
        auto const error = errno;
        remove();
        errno = error;
        fail();
    }
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

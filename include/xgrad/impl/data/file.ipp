// Bodies of file.hpp.
#pragma once

#include <xgrad/data/file.hpp>

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

} // namespace xgrad::data

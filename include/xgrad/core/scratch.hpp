// Scratch<T>: an uninitialised temporary buffer for one call of a kernel, usually without an
// allocation.
//
// Each thread keeps one buffer, up to a size limit. A Scratch takes it out and its destructor puts
// it back. A kernel that runs inside another finds no buffer and allocates its own, so nesting is
// safe.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include <xgrad/core/config.hpp>

namespace xgrad::detail::kernel {

/// n / by, rounded up.
constexpr std::size_t divided_up(std::size_t n, std::size_t by) { return (n + by - 1) / by; }
/// n rounded up to a multiple of `step`.
constexpr std::size_t rounded_up(std::size_t n, std::size_t step) {
    return divided_up(n, step) * step;
}

/// Memory aligned to a cache line, which is the alignment of the widest SIMD vector.
class AlignedBytes {
public:
    static constexpr std::align_val_t alignment{64};

    AlignedBytes() = default;
    explicit AlignedBytes(std::size_t size)
        : begin_(::operator new(size, alignment)), size_(size) {}

    void* begin() const { return begin_.get(); }
    std::size_t size() const { return begin_ ? size_ : 0; }

private:
    struct Free {
        void operator()(void* p) const { ::operator delete(p, alignment); }
    };
    std::unique_ptr<void, Free> begin_;
    std::size_t size_ = 0;
};

/// The buffer that this thread keeps for the next Scratch.
inline AlignedBytes& kept_scratch() {
    thread_local AlignedBytes bytes;
    return bytes;
}

/// A buffer of `count` elements T that lives as long as this object.
template <class T> class Scratch {
public:
    explicit Scratch(std::size_t count)
        : bytes_(count == 0 || !keeps ? AlignedBytes() : std::exchange(kept_scratch(), {})) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
        if (bytes_.size() < count * sizeof(T)) bytes_ = AlignedBytes(count * sizeof(T));
    }
    ~Scratch() {
        if (!keeps || bytes_.size() == 0 || bytes_.size() > limit) return;
        if (bytes_.size() > kept_scratch().size()) kept_scratch() = std::move(bytes_);
    }
    Scratch(Scratch const&) = delete;
    Scratch& operator=(Scratch const&) = delete;

    T* data() const { return static_cast<T*>(bytes_.begin()); }

private:
    static constexpr bool keeps = XGRAD_THREAD_DESTRUCTORS;
    static constexpr std::size_t limit = std::size_t{32} << 20;

    AlignedBytes bytes_;
};
} // namespace xgrad::detail::kernel

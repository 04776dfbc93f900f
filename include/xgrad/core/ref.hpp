// Ref<T>: an intrusive shared pointer. The object contains its reference count, so that a Ref is
// one pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#if __has_include(<sys/single_threaded.h>)
#    include <sys/single_threaded.h>
#endif

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// True as long as the process never started a second thread: reference counts then need no atomic
/// read-modify-write instruction.
[[gnu::always_inline]] inline bool single_threaded() noexcept {
#if __has_include(<sys/single_threaded.h>) && !XGRAD_THREAD_SANITIZER
    return __libc_single_threaded;
#else
    return false;
#endif
}

/// A thread-safe reference count.
class RefCount {
public:
    constexpr explicit RefCount(std::uint32_t owners = 0) noexcept : count_(owners) {}
    RefCount(RefCount const&) = delete;
    RefCount& operator=(RefCount const&) = delete;

    /// Returns the count before the increment.
    [[gnu::always_inline]] std::uint32_t increment() noexcept {
        if (!single_threaded()) return count_.fetch_add(1, std::memory_order_acq_rel);
        auto const before = count_.load(std::memory_order_relaxed);
        count_.store(before + 1, std::memory_order_relaxed);
        return before;
    }
    /// Sets the count to 1 in an object that no other thread knows yet.
    void begin() noexcept { count_.store(1, std::memory_order_relaxed); }
    /// True if the count is 0 now: the caller must destroy the object.
    [[gnu::always_inline]] bool decrement() noexcept {
        if (single_threaded()) {
            auto const left = count_.load(std::memory_order_relaxed) - 1;
            count_.store(left, std::memory_order_relaxed);
            return left == 0;
        }
        return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    /// Increments the count unless it is 0; returns whether it did. (As std::weak_ptr::lock.)
    bool increment_if_owned() noexcept;
    std::uint32_t load() const noexcept { return count_.load(std::memory_order_acquire); }

private:
    std::atomic<std::uint32_t> count_;
};

/// A reference to a T. T has a member `RefCount refs` and a function `T::destroy(T*)`. An optional
/// member `only_owners_share()` is true if new references are made only from existing ones (there
/// is no weak reference).
template <class T> class Ref {
public:
    Ref() noexcept = default;
    Ref(std::nullptr_t) noexcept {}
    [[gnu::always_inline]] explicit Ref(T* p) noexcept : p_(p) {
        if (p_) p_->refs.increment();
    }
    /// The first reference to a new object whose count is 0.
    [[gnu::always_inline]] static Ref first(T* p) noexcept {
        p->refs.begin();
        return adopt(p);
    }
    /// Takes over a reference that is counted already.
    [[gnu::always_inline]] static Ref adopt(T* p) noexcept {
        Ref r;
        r.p_ = p;
        return r;
    }
    [[gnu::always_inline]] Ref(Ref const& o) noexcept : Ref(o.p_) {}
    [[gnu::always_inline]] Ref(Ref&& o) noexcept
        : p_(optimisation_barrier(std::exchange(o.p_, nullptr))) {}
    template <class U>
        requires std::is_convertible_v<U*, T*>
    Ref(Ref<U> o) noexcept : p_(o.release()) {}
    [[gnu::always_inline]] ~Ref() {
        if (!p_) return;
        if (!single_threaded()) end_among_threads(p_);
        else if (p_->refs.decrement()) T::destroy(p_);
    }
    [[gnu::always_inline]] Ref& operator=(Ref o) noexcept {
        o.p_ = std::exchange(p_, o.p_);
        return *this;
    }

    T* get() const noexcept { return p_; }
    T* operator->() const noexcept { return p_; }
    T& operator*() const noexcept { return *p_; }
    explicit operator bool() const noexcept { return p_ != nullptr; }
    friend bool operator==(Ref const& a, Ref const& b) noexcept { return a.p_ == b.p_; }

    /// Returns the pointer and leaves the count as it is: the caller owns the reference.
    T* release() noexcept { return std::exchange(p_, nullptr); }

private:
    /// Releases the reference in a program with several threads. The only owner needs no
    /// read-modify-write instruction if no other thread can make a reference.
    [[gnu::noinline]] static void end_among_threads(T* p) noexcept {
        bool is_alone = false;
        if constexpr (requires { p->only_owners_share(); })
            is_alone = p->refs.load() == 1 && p->only_owners_share();
        if (is_alone || p->refs.decrement()) T::destroy(p);
    }

    T* p_ = nullptr;
};

/// The only reference to a T, which has a function `T::destroy(T*)`.
template <class T> class Owner {
public:
    Owner() noexcept = default;
    explicit Owner(T* p) noexcept : p_(p) {}
    Owner(Owner&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    Owner& operator=(Owner&& o) noexcept {
        reset(std::exchange(o.p_, nullptr));
        return *this;
    }
    ~Owner() {
        if (p_) T::destroy(p_);
    }

    T* get() const noexcept { return p_; }
    T* operator->() const noexcept { return p_; }
    T& operator*() const noexcept { return *p_; }
    explicit operator bool() const noexcept { return p_ != nullptr; }
    void reset(T* p = nullptr) noexcept {
        if (T* const before = std::exchange(p_, p)) T::destroy(before);
    }

private:
    T* p_ = nullptr;
};

} // namespace xgrad::detail

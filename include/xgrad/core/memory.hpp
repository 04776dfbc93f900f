// The buffer cache. Each thread has free lists of blocks by size class, so that a training loop
// allocates from the system only in its first iteration and touches no new page afterwards.
// Storages, Nodes and tensors use it. With AddressSanitizer every block comes from the system, so
// that a use after free is detected.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad {

namespace detail {

inline constexpr bool cache_blocks = !XGRAD_ADDRESS_SANITIZER && XGRAD_THREAD_DESTRUCTORS;

inline constexpr std::size_t block_alignment = 64;

/// Blocks of up to this size have the system's default alignment: alignment to a cache line would
/// add up to eighty bytes to a Node instead of eight.
inline constexpr std::size_t small_block = 512;

void* system_allocate(std::size_t bytes);
void system_deallocate(void* p, std::size_t bytes) noexcept;

/// Size classes: multiples of 32 bytes up to 512, then four classes for each power of two.
struct SizeClass {
    std::size_t index;
    std::size_t bytes;

    static constexpr std::size_t even = 16; // classes of equal steps
    static constexpr std::size_t bytes_of(std::size_t index) noexcept {
        if (index < even) return (index + 1) * 32;
        std::size_t const exponent = 9 + (index - even) / 4;
        return (std::size_t{1} << exponent) +
               ((index - even) % 4 + 1) * (std::size_t{1} << (exponent - 2));
    }
    static constexpr SizeClass of(std::size_t bytes) noexcept {
        if (bytes <= even * 32) {
            std::size_t const i = (bytes - (bytes != 0)) / 32;
            return {i, (i + 1) * 32};
        }
        auto const exponent = 8 * sizeof(std::size_t) - 1 -
                              static_cast<std::size_t>(std::countl_zero(
                                  bytes - 1)); // 2^exponent < bytes <= 2^(exponent + 1)
        std::size_t const step = std::size_t{1} << (exponent - 2);
        std::size_t const quarter = (bytes - (std::size_t{1} << exponent) + step - 1) / step;
        return {
            even + (exponent - 9) * 4 + quarter - 1, (std::size_t{1} << exponent) + quarter * step};
    }
};

/// One thread's lists of free blocks.
class BlockCache {
public:
    static_assert([] {
        for (unsigned const n :
            {1u, 32u, 33u, 256u, 257u, 320u, 512u, 513u, 640u, 641u, 1000u, 1024u, 1025u, 5000u})
            if (SizeClass::of(n).bytes < n ||
                SizeClass::bytes_of(SizeClass::of(n).index) != SizeClass::of(n).bytes)
                return false;
        return true;
    }());
    static constexpr std::size_t classes = SizeClass::even + 55 * 4;

    void* take(SizeClass c) noexcept {
        Link* const block = free_[c.index];
        if (!block) return nullptr;
        free_[c.index] = block->next;
        held_ -= c.bytes;
        return block;
    }
    bool give(void* p, SizeClass c) noexcept {
        if (held_ + c.bytes > limit) return false;
        free_[c.index] = ::new (p) Link{free_[c.index]};
        held_ += c.bytes;
        return true;
    }
    void clear() noexcept;
    std::size_t held() const noexcept { return held_; }

    std::size_t limit = std::size_t{512} << 20;

private:
    struct Link {
        Link* next;
    };
    std::array<Link*, classes> free_{};
    std::size_t held_ = 0;
};

/// The cache of this thread, or null. After the thread has destroyed its cache, blocks of objects
/// with static storage duration bypass it.
inline constinit thread_local BlockCache* block_cache = nullptr;
inline constinit thread_local bool block_cache_ended = false;

struct BlockCacheOwner {
    BlockCache cache;
    BlockCacheOwner() noexcept { block_cache = &cache; }
    ~BlockCacheOwner() {
        block_cache = nullptr;
        block_cache_ended = true;
        cache.clear();
    }
};

[[gnu::noinline]] inline BlockCache* make_block_cache() noexcept {
    if (block_cache_ended) return nullptr;
    static thread_local BlockCacheOwner owner;
    return block_cache;
}

inline BlockCache* this_thread_cache() noexcept {
    return block_cache ? block_cache : make_block_cache();
}

[[gnu::noinline, gnu::cold]] inline void* allocate_fresh(SizeClass c) {
    this_thread_cache();
    return system_allocate(c.bytes);
}
[[gnu::cold]] void deallocate_unkept(void* p, SizeClass c) noexcept;

/// Takes a block from the cache of the calling thread, or allocates one. deallocate() returns a
/// block to the cache of the thread that calls it, which may be another one.
[[gnu::always_inline]] inline void* allocate(SizeClass c) {
    if (BlockCache* const cache = block_cache) [[likely]]
        if (void* const p = cache->take(c)) [[likely]]
            return p;
    return allocate_fresh(c);
}
[[gnu::always_inline]] inline void deallocate(void* p, SizeClass c) noexcept {
    if (BlockCache* const cache = block_cache; !cache || !cache->give(p, c)) [[unlikely]]
        deallocate_unkept(p, c);
}

/// Allocates a block of at least `bytes` bytes, aligned to a cache line above 512 bytes. Throws
/// std::bad_alloc.
inline void* allocate(std::size_t bytes) {
    if constexpr (cache_blocks) return allocate(SizeClass::of(bytes));
    else return system_allocate(bytes);
}

/// Frees a block of allocate(bytes).
[[gnu::noinline]] inline void deallocate(void* p, std::size_t bytes) noexcept {
    if constexpr (cache_blocks) deallocate(p, SizeClass::of(bytes));
    else system_deallocate(p, bytes);
}

/// A base class: operators new and delete use the cache.
struct Cached {
    [[gnu::always_inline]] static void* operator new(std::size_t bytes) {
        if constexpr (cache_blocks) return allocate(SizeClass::of(bytes));
        else return system_allocate(bytes);
    }
    [[gnu::always_inline]] static void operator delete(void* p, std::size_t bytes) noexcept {
        if constexpr (cache_blocks) deallocate(p, SizeClass::of(bytes));
        else system_deallocate(p, bytes);
    }
};

/// The part of std::vector that xgrad uses, with memory of the cache. It is much less for a
/// compiler to instantiate.
template <class T> class CachedVector {
public:
    using value_type = T;

    CachedVector() noexcept = default;
    explicit CachedVector(std::size_t n) { resize(n); }
    CachedVector(std::size_t n, T const& value) {
        reserve(n);
        while (size_ < n) push_back(value);
    }
    CachedVector(CachedVector const& other) {
        reserve(other.size_);
        for (auto const& x : other) push_back(x);
    }
    CachedVector(CachedVector&& other) noexcept { swap(other); }
    CachedVector& operator=(CachedVector other) noexcept {
        swap(other);
        return *this;
    }
    ~CachedVector() {
        clear();
        if (capacity_) deallocate(data_, capacity_ * sizeof(T));
    }

    T* data() noexcept { return data_; }
    T const* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return capacity_; }
    bool empty() const noexcept { return size_ == 0; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    T const* begin() const noexcept { return data_; }
    T const* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t i) noexcept { return data_[i]; }
    T const& operator[](std::size_t i) const noexcept { return data_[i]; }
    T& back() noexcept { return data_[size_ - 1]; }

    void swap(CachedVector& other) noexcept {
        data_ = std::exchange(other.data_, data_);
        size_ = std::exchange(other.size_, size_);
        capacity_ = std::exchange(other.capacity_, capacity_);
    }
    template <class... A> T& emplace_back(A&&... arguments) {
        if (size_ < capacity_) [[likely]]
            return *::new (data_ + size_++) T{std::forward<A>(arguments)...};
        T element{std::forward<A>(arguments)...}; // the arguments may be elements
        reserve(capacity_ ? 2 * capacity_ : 4);
        return *::new (data_ + size_++) T(std::move(element));
    }
    void push_back(T const& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }
    void pop_back() noexcept { data_[--size_].~T(); }
    void clear() noexcept {
        while (size_) pop_back();
    }
    void resize(std::size_t n) {
        reserve(n);
        while (size_ > n) pop_back();
        while (size_ < n) emplace_back();
    }
    void resize(std::size_t n, T value) { // which may be an element
        reserve(n);
        while (size_ > n) pop_back();
        while (size_ < n) push_back(value);
    }
    [[gnu::noinline]] void reserve(std::size_t n) {
        if (n <= capacity_) return;
        CachedVector larger;
        larger.data_ = static_cast<T*>(allocate(n * sizeof(T)));
        larger.capacity_ = n;
        for (auto& x : *this) ::new (larger.data_ + larger.size_++) T(std::move(x));
        swap(larger);
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

/// A vector of trivially copyable elements. The first N are stored in itself.
template <class T, std::size_t N> class InlineVector {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    InlineVector() noexcept = default;
    InlineVector(InlineVector const& other) : InlineVector() {
        for (std::size_t i = 0; i < other.size_; ++i) emplace_back(other[i]);
    }
    InlineVector& operator=(InlineVector const&) = delete;
    ~InlineVector() {
        if (capacity_ != N) deallocate(data_, capacity_ * sizeof(T));
    }
    template <class... A> T& emplace_back(A&&... arguments) {
        T const element{std::forward<A>(arguments)...}; // as above
        if (size_ == capacity_) [[unlikely]]
            grow();
        return *::new (data_ + size_++) T(element);
    }
    T pop_back() noexcept { return data_[--size_]; }
    std::size_t size() const noexcept { return size_; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }
    T const* begin() const noexcept { return data_; }
    T const* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t i) noexcept { return data_[i]; }
    T const& operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    [[gnu::noinline]] void grow() {
        auto* const larger = static_cast<T*>(allocate(2 * capacity_ * sizeof(T)));
        std::memcpy(larger, data_, size_ * sizeof(T));
        if (capacity_ != N) deallocate(data_, capacity_ * sizeof(T));
        data_ = larger;
        capacity_ *= 2;
    }

    T* data_ = reinterpret_cast<T*>(stack_);
    std::size_t size_ = 0, capacity_ = N;
    alignas(T) std::byte stack_[N * sizeof(T)];
};

/// A local array of n elements: on the stack up to N, else on the heap.
template <class T, std::size_t N> class LocalArray {
public:
    explicit LocalArray(std::size_t n) : size_(n), data_(reinterpret_cast<T*>(stack_)) {
        if (is_small && n <= N) [[likely]]
            std::memset(stack_, 0, sizeof stack_); // a constant count
        else construct();
    }
    LocalArray(LocalArray const& other) : LocalArray(other.size_) {
        for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
    }
    LocalArray& operator=(LocalArray const&) = delete;
    ~LocalArray() {
        for (std::size_t i = 0; i < size_; ++i) data_[i].~T();
        if (size_ > N) [[unlikely]]
            system_deallocate(data_, size_ * sizeof(T));
    }
    T* data() noexcept { return data_; }
    T& operator[](std::size_t i) noexcept { return data_[i]; }
    T const& operator[](std::size_t i) const noexcept { return data_[i]; }
    std::span<T> span() noexcept { return {data_, size_}; }

private:
    void construct() {
        if (size_ > N) [[unlikely]]
            data_ = static_cast<T*>(system_allocate(size_ * sizeof(T)));
        for (std::size_t i = 0; i < size_; ++i) ::new (data_ + i) T();
    }
    static constexpr bool is_small = N * sizeof(T) <= 128 && std::is_trivial_v<T>;

    std::size_t const size_;
    T* data_;
    alignas(T) std::byte stack_[N * sizeof(T)];
};

} // namespace detail

/// Gives the calling thread's cached free blocks back to the system.
void empty_cache() noexcept;

/// Sets how many bytes of free blocks the calling thread keeps (512 MiB to begin with); 0 keeps
/// none.
void set_cache_limit(std::size_t bytes) noexcept;

/// Bytes of free blocks that the calling thread keeps now.
std::size_t cached_bytes() noexcept;

} // namespace xgrad

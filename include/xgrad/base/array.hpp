// Storage and Array: memory with a version counter, and a strided window on it. No gradients here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <xgrad/base/memory.hpp>
#include <xgrad/base/ref.hpp>
#include <xgrad/base/scalar.hpp>
#include <xgrad/base/shape.hpp>
#include <xgrad/base/transposed.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// A block of memory and how often it was changed in place. Header and data are one allocation,
/// which a small storage may share with an object in front of it: the last of the two gives it
/// back.
class Storage {
public:
    static constexpr std::size_t header = 16;

    static Ref<Storage> make(std::size_t bytes) {
        return Ref<Storage>::adopt(
            ::new (allocate(header_for(bytes) + bytes)) Storage(bytes, false));
    }
    static void destroy(Storage* s) noexcept {
        if (s->shares_block()) return release_block(s);
        auto const total = header_for(s->bytes()) + s->bytes();
        s->~Storage();
        deallocate(s, total);
    }

    /// Up to how many bytes lie in a block together with an object.
    static constexpr std::size_t max_shared_bytes = 64;
    /// The block for an object of `before` bytes with a storage behind it, which follows by
    /// make_behind().
    [[gnu::always_inline]] static void* allocate_shared(std::size_t before, std::size_t bytes) {
        if constexpr (cache_blocks) return allocate(SizeClass::of(shared_bytes(before, bytes)));
        else return system_allocate(shared_bytes(before, bytes));
    }
    static void deallocate_shared(void* block, std::size_t before, std::size_t bytes) noexcept {
        deallocate(block, shared_bytes(before, bytes));
    }
    static Ref<Storage> make_behind(void* object, std::size_t before, std::size_t bytes) noexcept {
        auto* const seam = ::new (static_cast<std::byte*>(object) + before) Seam(before);
        return Ref<Storage>::adopt(::new (seam + 1) Storage(bytes, true));
    }
    /// The storage that follows an object of so many bytes.
    static Storage* behind(void* object, std::size_t before) noexcept {
        return reinterpret_cast<Storage*>(static_cast<std::byte*>(object) + before + sizeof(Seam));
    }
    /// To be called once when the object in front is gone, and by the storage itself at its own
    /// end.
    static void release_block(Storage* s) noexcept {
        if (s->seam()->owners.decrement()) s->free_block();
    }
    /// Both ends at once, where the object in front is the storage's last owner.
    void free_block() noexcept {
        auto* const seam = this->seam();
        deallocate_shared(reinterpret_cast<std::byte*>(seam) - seam->before, seam->before, bytes());
    }

    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + header_for(bytes()); }
    std::size_t bytes() const noexcept { return size_ >> 1; }
    std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
    void bump() noexcept {
        if (single_threaded()) version_.store(version() + 1, std::memory_order_relaxed);
        else version_.fetch_add(1, std::memory_order_relaxed);
    }

    RefCount refs{1};

    static constexpr bool only_owners_share() noexcept { return true; }

private:
    /// Between an object and the storage in its block.
    struct Seam {
        RefCount owners{2};
        std::size_t before; // bytes of the object

        explicit Seam(std::size_t bytes) noexcept : before(bytes) {}
    };

    Storage(std::size_t bytes, bool shares_block) noexcept
        : size_(bytes << 1 | std::size_t{shares_block}) {}
    bool shares_block() const noexcept { return size_ & 1; }
    Seam* seam() noexcept { return reinterpret_cast<Seam*>(this) - 1; }
    static constexpr std::size_t shared_bytes(std::size_t before, std::size_t bytes) noexcept {
        return before + sizeof(Seam) + header + bytes;
    }
    /// Large data starts on a cache line; small data follows the header closely.
    static constexpr std::size_t header_for(std::size_t bytes) noexcept {
        return bytes < 256 ? header : block_alignment;
    }

    std::atomic<std::uint32_t> version_{0};
    std::size_t size_; // twice the bytes, and one more where the block is shared
};
static_assert(sizeof(Storage) <= Storage::header);

/// A strided window on a Storage; what type its elements have is known to the owner.
struct AnyArray {
    Ref<Storage> storage;
    std::byte* data = nullptr;
    std::size_t numel = 0;
    Shape shape;
    Strides strides;        // in elements
    bool contiguous = true; // row-major without gaps

    AnyArray() = default;
    /// In row-major order, without memory.
    explicit AnyArray(Shape const& s) : shape(s) { numel = lay_out(shape, strides); }
    struct Number {};
    /// Of no dimensions, without memory.
    explicit AnyArray(Number) noexcept : numel(1) {}
    struct Layout {
        AnyArray const& of;
    };
    /// Laid out as another one, without memory.
    explicit AnyArray(Layout l)
        : numel(l.of.numel), shape(l.of.shape), strides(l.of.strides), contiguous(l.of.contiguous) {
    }
    /// Fresh memory for elements of this many bytes, not initialised.
    AnyArray(Shape const& s, std::size_t element) : AnyArray(s) {
        set_storage(Storage::make(numel * element));
    }

    [[gnu::always_inline]] void set_storage(Ref<Storage> s) noexcept {
        storage = std::move(s);
        data = storage->data();
    }

    bool defined() const noexcept { return static_cast<bool>(storage); }

    /// Gives elements in row-major order another shape of as many.
    void reshape(Shape s) {
        shape = std::move(s);
        strides = row_major(shape);
    }
    /// Looks at the same memory through another window, which starts `bytes` after this one's.
    void set_view(Shape s, Strides st, std::ptrdiff_t bytes = 0) {
        data += bytes;
        numel = xgrad::numel(s);
        contiguous = detail::is_row_major(s, st);
        shape = std::move(s);
        strides = std::move(st);
    }
};

/// An array of T: what operations compute on.
template <Scalar T> struct Array : AnyArray {
    using value_type = T;

    Array() = default;
    /// Fresh memory of this shape, not initialised.
    explicit Array(Shape const& s) : AnyArray(s, sizeof(T)) {}
    Array(Shape const& s, T value) : Array(s) { std::uninitialized_fill_n(begin(), numel, value); }

    T* begin() const noexcept { return reinterpret_cast<T*>(data); }
    T* end() const noexcept { return begin() + numel; }

    /// Another window on the same memory; `offset` in elements from this one's start.
    Array view(Shape s, Strides st, std::ptrdiff_t offset = 0) const {
        Array out;
        out.storage = storage;
        out.data = data;
        out.set_view(std::move(s), std::move(st), offset * static_cast<std::ptrdiff_t>(sizeof(T)));
        return out;
    }
};

template <class T> Array<T> const& as(AnyArray const& a) noexcept {
    return static_cast<Array<T> const&>(a);
}
template <class T> Array<T>& as(AnyArray& a) noexcept { return static_cast<Array<T>&>(a); }

/// Visits an index space in row-major order: f(count, offsets) for each run along the last axis,
/// where offsets[k] is the start of the run in operand k.
template <std::size_t K, class F>
void for_each_run(Shape const& shape, Strides const* const (&strides)[K], F f) {
    std::ptrdiff_t offset[K] = {};
    if (numel(shape) == 0) return;
    std::size_t const rank = shape.size();
    if (rank == 0) return f(std::size_t{1}, offset);
    Shape index(rank, 0);
    for (;;) {
        f(shape[rank - 1], offset);
        std::size_t d = rank - 1;
        for (;;) {
            if (d-- == 0) return;
            for (std::size_t k = 0; k < K; ++k) offset[k] += (*strides[k])[d];
            if (++index[d] < shape[d]) break;
            for (std::size_t k = 0; k < K; ++k)
                offset[k] -= (*strides[k])[d] * static_cast<std::ptrdiff_t>(shape[d]);
            index[d] = 0;
        }
    }
}

template <class To, class From> To converted(From v) {
    if constexpr (is_complex<To> && is_complex<From>)
        return To(static_cast<precision_of<To>>(v.real()), static_cast<precision_of<To>>(v.imag()));
    else if constexpr (is_complex<From> && !is_complex<To>) return static_cast<To>(v.real());
    else if constexpr (is_complex<To>) return To(static_cast<precision_of<To>>(v));
    else return static_cast<To>(v);
}

/// Visits the elements of two windows of one shape side by side: f(element of a, element of b).
template <class A, class B, class F> void for_each_pair(Array<A> const& a, Array<B> const& b, F f) {
    Strides const* const strides[] = {&a.strides, &b.strides};
    std::size_t const rank = a.shape.size();
    std::ptrdiff_t const step_a = rank ? a.strides[rank - 1] : 0,
                         step_b = rank ? b.strides[rank - 1] : 0;
    for_each_run(a.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
        auto* p = a.begin() + at[0];
        auto const* q = b.begin() + at[1];
        for (std::size_t i = 0; i < n; ++i, p += step_a, q += step_b) f(*p, *q);
    });
}

/// Copies between two windows of which one has its neighbours along the last axis and the other
/// along axis d.
inline void copy_transposed_axis(
    AnyArray const& to, AnyArray const& from, std::size_t d, std::size_t element) {
    std::size_t const last = to.shape.size() - 1, rows = to.shape[d], columns = to.shape[last];
    bool const reads_across = from.strides[d] == 1;
    Shape others = to.shape;
    others[d] = others[last] = 1;
    Strides const* const strides[] = {&to.strides, &from.strides};
    auto const bytes = static_cast<std::ptrdiff_t>(element);
    for_each_run(others, strides, [&](std::size_t, std::ptrdiff_t const* at) {
        auto *const t = to.data + at[0] * bytes, *const f = from.data + at[1] * bytes;
        if (reads_across)
            copy_transposed(element, t, to.strides[d], f, from.strides[last], rows, columns);
        else copy_transposed(element, t, to.strides[last], f, from.strides[d], columns, rows);
    });
}

/// An axis for copy_transposed_axis() that is worth it, or none.
inline std::optional<std::size_t> transposed_axis(AnyArray const& to, AnyArray const& from) {
    for (std::size_t d = 0; d + 1 < to.shape.size(); ++d) {
        bool const reads = from.strides[d] == 1 && to.strides.back() == 1,
                   writes = to.strides[d] == 1 && from.strides.back() == 1;
        if (reads != writes && to.shape[d] >= 8 && to.shape.back() >= 8) return d;
    }
    return {};
}

/// Copies elements between two windows of one shape, converting as needed.
template <class To, class From> void copy_elements(Array<To> const& to, Array<From> const& from) {
    if (std::same_as<To, From> && to.contiguous && from.contiguous) {
        if (to.numel) std::memmove(to.data, from.data, to.numel * sizeof(To));
        return;
    }
    if constexpr (std::same_as<To, From>) {
        if (auto const d = transposed_axis(to, from))
            return copy_transposed_axis(to, from, *d, sizeof(To));
        if (!to.shape.empty() && to.strides.back() == 1 && from.strides.back() == 1) {
            Strides const* const strides[] = {&to.strides, &from.strides};
            return for_each_run(to.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
                std::memmove(to.begin() + at[0], from.begin() + at[1], n * sizeof(To));
            });
        }
    }
    for_each_pair(to, from, [](To& t, From const& f) { t = converted<To>(f); });
}

/// The same elements in row-major order: the array itself where it is so already.
template <class T> Array<T> contiguous(Array<T> const& a) {
    if (a.contiguous) return a;
    Array<T> out(a.shape);
    copy_elements(out, a);
    return out;
}

/// A window of shape `to` that repeats `a` along stretched axes.
template <class T> Array<T> broadcast_view(Array<T> const& a, Shape const& to) {
    return a.view(to, broadcast_strides(a.shape, a.strides, to));
}

/// The window on `count` positions of one axis from `start` on.
template <class T>
Array<T> part_along(Array<T> const& a, std::size_t axis, std::size_t start, std::size_t count) {
    Shape shape = a.shape;
    shape[axis] = count;
    return a.view(
        std::move(shape), a.strides, static_cast<std::ptrdiff_t>(start) * a.strides[axis]);
}

/// True where the elements fill their memory without gaps, in the order of some permutation of the
/// axes.
inline bool is_dense(AnyArray const& a) {
    if (a.contiguous) return true;
    std::size_t const rank = a.shape.size();
    std::ptrdiff_t next = 1;
    for (std::size_t placed = 0; placed < rank; ++placed) {
        std::size_t d = 0;
        while (d < rank && (a.shape[d] == 1 || a.strides[d] != next)) ++d;
        if (d == rank) break;
        next *= static_cast<std::ptrdiff_t>(a.shape[d]);
    }
    return static_cast<std::size_t>(next) == a.numel;
}

/// Fresh memory for elements of this many bytes, laid out like `a` where that is dense, else in
/// row-major order.
inline AnyArray fresh_like(AnyArray const& a, std::size_t element) {
    AnyArray out = is_dense(a) ? AnyArray(AnyArray::Layout{a}) : AnyArray(a.shape);
    out.set_storage(Storage::make(out.numel * element));
    return out;
}

/// True where two elements share a place.
inline bool overlaps_itself(AnyArray const& a) {
    for (std::size_t d = 0; a.numel && d < a.shape.size(); ++d)
        if (a.shape[d] > 1 && a.strides[d] == 0) return true;
    return false;
}

} // namespace xgrad::detail

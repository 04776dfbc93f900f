// Storage and Array: memory with a version counter, and a strided view of it. No gradients here.
//
// An Array is a pointer to its first element, a shape and strides in elements. Several arrays may
// share a Storage; an operation in place increments the version of the Storage. AnyArray does not
// know its element type. Read next: memory.hpp, which allocates the blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <xgrad/core/memory.hpp>
#include <xgrad/core/ref.hpp>
#include <xgrad/core/scalar.hpp>
#include <xgrad/core/shape.hpp>
#include <xgrad/core/transposed.hpp>
#include <xgrad/core/vector.hpp>

namespace xgrad::detail {

/// A block of memory and a version: the number of changes in place. Header and data are one
/// allocation. A small storage may stand behind another object in one block ("shared"); the last of
/// the two owners frees the block: a small tensor and its elements are one allocation. A storage of
/// memory that somebody else allocated ("external") has an ExternalMemory behind its header.
class Storage {
public:
    static constexpr std::size_t header = 16;
    /// Bytes of a batch of real numbers: what this build's kernels read and write at once.
    static constexpr std::uint8_t batch = kernel::register_bytes ? kernel::register_bytes : 1;
    /// Bytes of elements that end in a whole batch; one of complex numbers is two registers.
    /// Inlined: files for other instruction sets have another batch.
    [[gnu::always_inline]] static constexpr std::size_t padded(
        std::size_t bytes, bool is_complex) noexcept {
        std::size_t const rest = (std::size_t{batch} << is_complex) - 1;
        return (bytes + rest) & ~rest;
    }

    static Ref<Storage> make(std::size_t bytes);
    static void destroy(Storage* s) noexcept;

    /// Memory that somebody else allocated, and what to call when the last tensor of it is gone.
    struct ExternalMemory {
        std::byte* data;
        void (*release)(void* owner) noexcept; // null: nobody is told
        void* owner;
    };
    static Ref<Storage> make_external(ExternalMemory const& memory, std::size_t bytes);
    /// Says what to call when the storage is gone.
    void release_with(void (*release)(void*) noexcept, void* owner) noexcept {
        external_memory().release = release;
        external_memory().owner = owner;
    }
    /// True for memory that its owner sees: its values are changed by in-place operations only.
    bool is_external() const noexcept { return size_ & external; }

    /// The largest number of bytes of a storage that shares its block with an object.
    static constexpr std::size_t max_shared_bytes = 128;
    /// Bytes of a storage behind an object in one block. make_behind() constructs it.
    static constexpr std::size_t shared_bytes(std::size_t bytes) noexcept {
        return sizeof(Seam) + header + bytes;
    }
    static Ref<Storage> make_behind(void* object, std::size_t before, std::size_t bytes) noexcept;
    /// The storage behind an object of `before` bytes.
    static Storage* behind(void* object, std::size_t before) noexcept;
    /// Each of the two owners calls this once: the object in front in its destructor, the storage
    /// in destroy().
    static void release_block(Storage* s) noexcept;
    /// Frees the block for both owners.
    void free_block() noexcept;

    std::byte* data() noexcept;
    /// With the padding.
    std::size_t bytes() const noexcept { return size_ >> 2; }
    std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
    void bump() noexcept;

    RefCount refs{1};

    static constexpr bool only_owners_share() noexcept { return true; }

private:
    /// Stands between an object and the storage in its block.
    struct Seam {
        RefCount owners{2};
        std::size_t before; // bytes of the object

        explicit Seam(std::size_t bytes) noexcept : before(bytes) {}
    };

    static constexpr std::size_t shared = 1, external = 2; // flags in size_

    Storage(std::size_t bytes, std::size_t flags) noexcept : size_(bytes << 2 | flags) {}
    ExternalMemory& external_memory() noexcept {
        return *reinterpret_cast<ExternalMemory*>(reinterpret_cast<std::byte*>(this) + header);
    }
    static void destroy_external(Storage* s) noexcept;
    Seam* seam() noexcept { return reinterpret_cast<Seam*>(this) - 1; }
    /// Large data is aligned to a cache line; small data follows the header.
    static constexpr std::size_t header_for(std::size_t bytes) noexcept {
        static_assert(sizeof(Storage) <= header);
        return bytes < 256 ? header : block_alignment;
    }

    std::atomic<std::uint32_t> version_{0};
    std::size_t size_; // four times the bytes, and flags
};

/// A strided view of a Storage, without the type of its elements: the owner knows it.
struct AnyArray {
    Ref<Storage> storage;
    std::byte* data = nullptr;
    std::size_t numel = 0;
    Shape shape;
    Strides strides;        // in elements
    bool contiguous = true; // row-major without gaps
    /// The array ends in a whole batch, of which only it uses the rest: kernels of registers of so
    /// many bytes read and write it. The files of a program may have several instruction sets.
    std::uint8_t padded_to = 0;

    AnyArray() = default;
    [[gnu::noinline]] AnyArray(AnyArray const&) = default;
    AnyArray(AnyArray&&) = default;
    [[gnu::noinline]] AnyArray& operator=(AnyArray const&) = default;
    [[gnu::noinline]] AnyArray& operator=(AnyArray&&) = default;
    /// A row-major layout without memory.
    explicit AnyArray(Shape const& s) : shape(s) { numel = lay_out(shape, strides); }
    struct Number {};
    /// One element of no dimensions, without memory.
    explicit AnyArray(Number) noexcept : numel(1) {}
    struct Layout {
        AnyArray const& of;
    };
    /// The layout of another array, without memory.
    explicit AnyArray(Layout l)
        : numel(l.of.numel), shape(l.of.shape), strides(l.of.strides), contiguous(l.of.contiguous) {
    }
    /// Allocates uninitialised memory for elements of `element` bytes.
    AnyArray(Shape const& s, std::size_t element) : AnyArray(s) {
        allocate(numel * element, element >= 8);
    }

    /// What padding is at first: positive numbers of any precision, for which no operation is slow.
    alignas(64) static constexpr float padding[16] = {
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    /// Allocates memory in whole batches. It initialises the padding only.
    [[gnu::always_inline]] void allocate(std::size_t bytes, bool is_complex) {
        auto const all = Storage::padded(bytes, is_complex);
        auto made = Storage::make(all);
        auto* const first = made->data();
        set_storage(std::move(made), first, bytes, all);
    }
    /// Sets the storage of an array without memory, and its first element.
    [[gnu::always_inline]] void set_storage(
        Ref<Storage> s, std::byte* first, std::size_t bytes, std::size_t all) noexcept {
        constexpr std::size_t batch = Storage::batch;
        ::new (&storage) Ref<Storage>(std::move(s));
        data = first;
        padded_to = batch;
        if (all == bytes) return;
        std::memcpy(first + all - batch, padding, batch);
        if (all - bytes > batch) std::memcpy(first + all - 2 * batch, padding, batch);
    }

    bool defined() const noexcept { return static_cast<bool>(storage); }

    /// Changes the shape of a row-major array; the number of elements stays.
    void reshape(Shape s) {
        shape = std::move(s);
        strides = row_major(shape);
    }
    /// Makes this array another view of the same storage, which starts `bytes` after this one.
    void set_view(Shape s, Strides st, std::ptrdiff_t bytes = 0);

    /// This array is a view of elements of `whole`, of their type: it has the padding where it has
    /// all.
    void keep_padding(AnyArray const& whole) noexcept {
        if (contiguous && data == whole.data && numel == whole.numel) padded_to = whole.padded_to;
    }

    /// copy_elements() of arrays with gaps. All of these descend from set_view(), which sets it, so
    /// that only programs with views contain it.
    static inline constinit std::atomic<void (*)(
        AnyArray const& to, AnyArray const& from, std::size_t element)>
        copy_strided{nullptr};
};

/// An array of T: what operations compute on.
template <Scalar T> struct Array : AnyArray {
    using value_type = T;

    Array() = default;
    /// Allocates uninitialised memory.
    explicit Array(Shape const& s) : AnyArray(s, sizeof(T)) {}
    Array(Shape const& s, T value) : Array(s) { std::uninitialized_fill_n(begin(), numel, value); }

    T* begin() const noexcept { return reinterpret_cast<T*>(data); }
    T* end() const noexcept { return begin() + numel; }

    /// Another view of the same storage; `offset` counts elements from the start of this one.
    Array view(Shape s, Strides st, std::ptrdiff_t offset = 0) const {
        Array out;
        out.storage = storage;
        out.data = data;
        out.set_view(std::move(s), std::move(st), offset * static_cast<std::ptrdiff_t>(sizeof(T)));
        out.keep_padding(*this);
        return out;
    }
};

/// Where the elements of an array are. Somebody else owns them, and the shape and the strides.
struct ArraySpan {
    std::byte* data;
    std::size_t numel;
    Shape const* shape;
    Strides const* strides; // in elements; null: row-major without gaps
    std::uint8_t padded_to; // see AnyArray

    ArraySpan() = default;
    ArraySpan(AnyArray const& a) noexcept
        : data(a.data), numel(a.numel), shape(&a.shape),
          strides(a.contiguous ? nullptr : &a.strides), padded_to(a.padded_to) {}
    /// A row-major array.
    ArraySpan(std::byte* first, std::size_t n, Shape const& s, std::uint8_t padding) noexcept
        : data(first), numel(n), shape(&s), strides(nullptr), padded_to(padding) {}
};

template <class T> Array<T> const& as(AnyArray const& a) noexcept {
    return static_cast<Array<T> const&>(a);
}
template <class T> Array<T>& as(AnyArray& a) noexcept { return static_cast<Array<T>&>(a); }

/// A function that visit_rows() calls for each row: with the number of its elements and its start
/// in each operand, in elements.
struct RowVisitor {
    void (*call)(void* context, std::size_t count, std::ptrdiff_t const* offsets);
    void* context;
};
/// Visits the rows along the last axis of an index space in row-major order, for at most 4
/// operands.
void visit_rows(
    Shape const& shape, Strides const* const* strides, std::size_t operands, RowVisitor visit);

/// visit_rows() of a function f(count, offsets).
template <std::size_t K, class F>
void for_each_run(Shape const& shape, Strides const* const (&strides)[K], F f) {
    static_assert(K <= 4);
    visit_rows(shape, strides, K,
        {[](void* context, std::size_t count, std::ptrdiff_t const* offsets) {
             (*static_cast<F*>(context))(count, offsets);
         },
            &f});
}

template <class To, class From> To converted(From v) {
    if constexpr (is_complex<To> && is_complex<From>)
        return To(static_cast<precision_of<To>>(v.real()), static_cast<precision_of<To>>(v.imag()));
    else if constexpr (is_complex<From> && !is_complex<To>) return static_cast<To>(v.real());
    else if constexpr (is_complex<To>) return To(static_cast<precision_of<To>>(v));
    else return static_cast<To>(v);
}

/// Calls f(element of a, element of b) for each index of two arrays of one shape.
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

/// Copies the elements of a view, of `element` bytes, to another one of the same shape and type.
inline void copy_elements(AnyArray const& to, AnyArray const& from, std::size_t element) {
    if (!to.contiguous || !from.contiguous)
        return AnyArray::copy_strided.load(std::memory_order_relaxed)(to, from, element);
    if (to.numel) std::memmove(to.data, from.data, to.numel * element);
}
/// Sets the elements of an array to 0.
XGRAD_LAZY void set_to_zero(AnyArray const& a, std::size_t element);
/// copy_elements() with a conversion of the type.
template <class To, class From> void copy_elements(Array<To> const& to, Array<From> const& from) {
    if constexpr (std::same_as<To, From>) copy_elements(to, from, sizeof(To));
    else for_each_pair(to, from, [](To& t, From const& f) { t = converted<To>(f); });
}

/// The array itself if it is C-contiguous, else a contiguous copy.
template <class T> Array<T> contiguous(Array<T> const& a) {
    if (a.contiguous) return a;
    Array<T> out(a.shape);
    copy_elements(out, a);
    return out;
}

/// A view of shape `to` with stride 0 along broadcast axes.
template <class T> Array<T> broadcast_view(Array<T> const& a, Shape const& to) {
    return a.view(to, broadcast_strides(a.shape, a.strides, to));
}

/// The view of `count` indices of one axis from `start` on.
template <class T>
Array<T> part_along(Array<T> const& a, std::size_t axis, std::size_t start, std::size_t count) {
    Shape shape = a.shape;
    shape[axis] = count;
    return a.view(
        std::move(shape), a.strides, static_cast<std::ptrdiff_t>(start) * a.strides[axis]);
}

/// True if some permutation of the axes makes the array C-contiguous: the elements have no gaps.
bool is_dense(AnyArray const& a);

/// Allocates uninitialised memory for elements of `element` bytes, with the layout of `a` if that
/// is dense, else row-major.
AnyArray fresh_like(AnyArray const& a, std::size_t element);

/// True if an axis has stride 0: several indices share one element.
bool overlaps_itself(AnyArray const& a);

} // namespace xgrad::detail

// Memory of arrays of other libraries, in and out without a copy: matrices, arrays, maps and blocks
// of Eigen, and mdspan, the standard's or Kokkos'. They are known by their members: this header
// includes none of those libraries.
//
// Shapes: a vector of Eigen (one that is a vector at compile time) has one axis, other matrices
// have two; an mdspan has its rank. Storage orders and strides stay.
// Gradients: none: what borrow() and adopt() return are leaves that require no gradient before
// requires_grad_(). memory_as() of a tensor shows its values alone.
// Errors: ShapeError for another number of axes, extents or strides than the view can have, and for
// a negative stride. Const memory, an element type that no tensor has, borrow() of a temporary that
// owns its elements, adopt() of what does not own them, expressions without memory, layouts without
// strides and accessors that are no pointers do not compile.
#pragma once

#include <xgrad/xgrad.hpp>

#include <xgrad/core/begin_headers.inc>

namespace xgrad {

namespace detail {

template <class A>
concept EigenDense = requires(A const& a) {
    typename A::PlainObject;
    A::RowsAtCompileTime;
    A::IsVectorAtCompileTime;
    a.rows();
    a.cols();
};
template <class A>
concept MdspanLike = requires(A const& a) {
    typename A::extents_type;
    typename A::layout_type;
    typename A::accessor_type;
    A::rank();
    a.data_handle();
};

/// What an array of Eigen is, or an expression.
template <EigenDense A> struct ForeignArray<A> {
    static constexpr bool known = true;
    static constexpr bool owns = std::same_as<A, typename A::PlainObject>;
    static constexpr bool is_vector = A::IsVectorAtCompileTime;
    static constexpr std::size_t rank = is_vector ? 1 : 2;

    template <class B> static consteval bool check_memory() {
        constexpr bool has_memory = requires(B& b) {
            b.data();
            b.innerStride();
            b.outerStride();
        };
        static_assert(has_memory, "borrow, adopt: an expression of Eigen has no elements in memory "
                                  "before it is computed: adopt(expression.eval())");
        return has_memory;
    }
    static auto* data(auto& a) { return a.data(); }
    static Shape shape(A const& a) {
        if constexpr (is_vector) return {static_cast<std::size_t>(a.size())};
        else return {static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(a.cols())};
    }
    static Strides strides(A const& a) {
        std::ptrdiff_t const inner = a.innerStride(), outer = a.outerStride();
        if constexpr (is_vector) return {inner};
        else if constexpr (A::IsRowMajor) return {outer, inner};
        else return {inner, outer};
    }
};

/// What an mdspan is.
template <MdspanLike A> struct ForeignArray<A> {
    static constexpr bool known = true, owns = false;
    static constexpr std::size_t rank = A::rank();

    template <class B> static consteval bool check_memory() {
        constexpr bool has_pointer =
            std::same_as<typename A::data_handle_type, typename A::element_type*> &&
            std::same_as<typename A::reference, typename A::element_type&>;
        static_assert(has_pointer, "borrow: the accessor of this mdspan computes its elements; a "
                                   "tensor needs a pointer to them");
        constexpr bool has_strides =
            rank == 0 || requires(typename A::mapping_type const& m) { m.stride(rank - 1); };
        static_assert(has_strides, "borrow: the layout of this mdspan has no strides");
        return has_pointer && has_strides;
    }
    static auto* data(A const& a) { return a.data_handle(); }
    static Shape shape(A const& a) {
        Shape shape(rank, 0);
        for (std::size_t d = 0; d < rank; ++d) shape[d] = static_cast<std::size_t>(extent(a, d));
        return shape;
    }
    static Strides strides(A const& a) {
        if (!a.is_strided()) fail<ShapeError>("mdspan: this layout has no strides");
        Strides strides(rank, 0);
        if constexpr (rank > 0)
            for (std::size_t d = 0; d < rank; ++d)
                strides[d] = static_cast<std::ptrdiff_t>(a.mapping().stride(d));
        return strides;
    }

private:
    static auto extent(A const& a, std::size_t d) { return a.extents().extent(d); }
};

template <class A> auto tensor_of_foreign(std::string_view operation, A& array) {
    using Of = ForeignArray<std::remove_const_t<A>>;
    if constexpr (Of::template check_memory<A>()) {
        using T = std::remove_pointer_t<decltype(Of::data(array))>;
        constexpr bool is_const = std::is_const_v<T>, has_type = Scalar<std::remove_const_t<T>>;
        static_assert(!is_const,
            "borrow: the memory is const, and a change in place of the tensor would write to it: "
            "adopt(Matrix(matrix)) copies a matrix, Tensor<double> x(pointer, shape) elements");
        static_assert(has_type, "borrow, adopt: no tensor has elements of this type");
        if constexpr (!is_const && has_type)
            return external_tensor<T>(
                {operation, Of::shape(array), Of::strides(array)}, Of::data(array));
    }
}

/// What memory_as() makes of a tensor: a Map of Eigen, or an mdspan.
template <class View> struct ViewOf {
    static constexpr bool known = false;
};

/// Map<Plain, Options, Stride> of Eigen.
template <template <class, int, class> class Map, class Plain, int options, class Stride>
    requires EigenDense<Map<Plain, options, Stride>>
struct ViewOf<Map<Plain, options, Stride>> {
    using View = Map<Plain, options, Stride>;
    using Index = decltype(std::declval<View const&>().rows());
    using element = std::conditional_t<std::is_const_v<Plain>, typename Plain::Scalar const,
        typename Plain::Scalar>;
    static constexpr bool known = true, is_vector = View::IsVectorAtCompileTime;

    /// -1 for an extent that is known at run time only.
    static std::ptrdiff_t static_extent(std::size_t d) {
        if constexpr (is_vector) return View::SizeAtCompileTime;
        else return d == 0 ? View::RowsAtCompileTime : View::ColsAtCompileTime;
    }
    static View make(element* data, Shape const& shape, Strides const& strides) {
        auto const rows = static_cast<Index>(shape[0]);
        if constexpr (is_vector) return View(data, rows, stride(strides[0] * rows, strides[0]));
        else
            return View(data, rows, static_cast<Index>(shape[1]),
                stride(strides[!View::IsRowMajor], strides[View::IsRowMajor]));
    }

private:
    /// Those of the two steps that the type of the view leaves open.
    static Stride stride(std::ptrdiff_t outer, std::ptrdiff_t inner) {
        static constexpr bool has_outer = Stride::OuterStrideAtCompileTime < 0,
                              has_inner = Stride::InnerStrideAtCompileTime < 0;
        if constexpr (has_outer && has_inner) return Stride(outer, inner);
        else if constexpr (!has_outer && !has_inner) return Stride();
        else if constexpr (std::constructible_from<Stride, Index>)
            return Stride(has_outer ? outer : inner);
        else
            return Stride(has_outer ? outer : Stride::OuterStrideAtCompileTime,
                has_inner ? inner : Stride::InnerStrideAtCompileTime);
    }
};

template <MdspanLike View> struct ViewOf<View> {
    using element = typename View::element_type;
    using Extents = typename View::extents_type;
    using Mapping = typename View::mapping_type;
    static constexpr bool known = true;

    static std::ptrdiff_t static_extent(std::size_t d) {
        auto const n = Extents::static_extent(d);
        return n == ~std::size_t{0} ? -1 : static_cast<std::ptrdiff_t>(n);
    }
    static View make(element* data, Shape const& shape, Strides const& strides) {
        using Sizes = std::array<typename Extents::index_type, View::rank()>;
        Sizes sizes{}, steps{};
        for (std::size_t d = 0; d < View::rank(); ++d) {
            sizes[d] = static_cast<typename Extents::index_type>(shape[d]);
            steps[d] = static_cast<typename Extents::index_type>(strides[d]);
        }
        Extents const extents(sizes);
        if constexpr (std::constructible_from<Mapping, Extents, Sizes>)
            return View(data, Mapping(extents, steps));
        else return View(data, Mapping(extents));
    }
};

/// Throws ShapeError where a view of these extents (-1: any) cannot be of this tensor.
[[gnu::cold]] inline void check_view_shape(
    Shape const& shape, std::size_t rank, std::ptrdiff_t (*extent)(std::size_t)) {
    if (shape.size() != rank)
        fail<ShapeError>(
            "memory_as: a view of ", rank, " axes cannot be one of a tensor of shape ", shape);
    for (std::size_t d = 0; d < rank; ++d)
        if (extent(d) >= 0 && static_cast<std::size_t>(extent(d)) != shape[d])
            fail<ShapeError>("memory_as: axis ", d, " of the view has extent ", extent(d),
                ", and the tensor has shape ", shape);
}
/// Throws ShapeError where a view has other strides than the tensor.
[[gnu::cold]] inline void check_view_strides(AnyArray const& a, Strides const& of_view) {
    for (std::size_t d = 0; a.numel && d < a.shape.size(); ++d)
        if (a.shape[d] > 1 && of_view[d] != a.strides[d])
            fail<ShapeError>("memory_as: this tensor of shape ", a.shape, " has strides ",
                a.strides, ", and the view ", of_view,
                ": name a view in the tensor's storage order, or one that takes its strides "
                "(Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>, std::layout_stride), or "
                "make the tensor row-major by contiguous()");
}

template <class View, class T> View view_of(Array<T> const& a) {
    using Of = ViewOf<View>;
    check_view_shape(a.shape, ForeignArray<View>::rank, &Of::static_extent);
    View view = Of::make(a.begin(), a.shape, a.strides);
    check_view_strides(a, ForeignArray<View>::strides(view));
    return view;
}
template <class View, class T> consteval bool is_view_for() {
    static_assert(ViewOf<View>::known, "memory_as: the view is an Eigen::Map or an mdspan");
    if constexpr (ViewOf<View>::known) {
        constexpr bool has_type =
            std::same_as<std::remove_const_t<typename ViewOf<View>::element>, T>;
        static_assert(has_type, "memory_as: the view has elements of another type than the tensor");
        return has_type && ForeignArray<View>::template check_memory<View>();
    } else return false;
}
template <class View>
inline constexpr bool writes = !std::is_const_v<typename ViewOf<View>::element>;

} // namespace detail

/// A tensor of the elements of a matrix of Eigen, or of an mdspan, which stays with the program: it
/// must live as long as the tensor and everything that is recorded with it, and must not be
/// resized. An mdspan, a map and a block may be temporaries: what they refer to must live.
template <detail::Foreign A> auto borrow(A& array) {
    return detail::tensor_of_foreign("borrow", array);
}
template <detail::Foreign A>
    requires(!std::is_reference_v<A>)
auto borrow(A&& view) {
    constexpr bool owns = detail::ForeignArray<std::remove_const_t<A>>::owns;
    static_assert(!owns, "borrow: the matrix is a temporary, which is gone before the tensor: "
                         "adopt(...) keeps it");
    if constexpr (!owns) return detail::tensor_of_foreign("borrow", view);
}

/// A tensor that keeps a matrix of Eigen and has its elements as memory.
template <detail::Foreign A> auto adopt(A&& matrix) {
    constexpr bool is_lvalue = std::is_lvalue_reference_v<A>;
    static_assert(!is_lvalue, "adopt: the tensor keeps the matrix, so it is moved: "
                              "adopt(std::move(matrix)); borrow(matrix) leaves it where it is");
    if constexpr (!is_lvalue) {
        using Of = detail::ForeignArray<std::remove_const_t<A>>;
        if constexpr (Of::template check_memory<A>()) {
            static_assert(Of::owns, "adopt: a map, a block or an mdspan does not own its elements: "
                                    "borrow() makes a tensor of them");
            if constexpr (Of::owns) {
                auto kept = std::make_unique<std::remove_const_t<A>>(std::forward<A>(matrix));
                auto tensor = detail::tensor_of_foreign("adopt", *kept);
                return detail::keep_with(std::move(tensor), std::move(kept));
            }
        }
    }
}

/// A view of a tensor's memory, of a type of another library: an Eigen::Map or an mdspan. One of
/// const elements reads; one of others may write, and counts as a change in place. The tensor must
/// outlive it. Throws ShapeError where the view cannot have the axes, extents or strides of the
/// tensor.
template <class View, Scalar T> View memory_as(Tensor<T> const& x) {
    if constexpr (detail::is_view_for<View, T>()) {
        static_assert(!detail::writes<View>,
            "memory_as: a view that may write is one of a tensor that is not const; one of const "
            "elements reads, as Eigen::Map<Eigen::MatrixXd const> does");
        if constexpr (!detail::writes<View>) return detail::view_of<View>(x.array_of());
    }
}
template <class View, Scalar T> View memory_as(Tensor<T>& x) {
    if constexpr (detail::is_view_for<View, T>()) {
        auto view = detail::view_of<View>(x.array_of());
        if constexpr (detail::writes<View>) x.impl().array.storage->bump();
        return view;
    }
}
/// Rejects a temporary.
template <class View, Scalar T> void memory_as(Tensor<T>&&) {
    static_assert(sizeof(T) == 0,
        "memory_as: the tensor is a temporary, and its memory may be gone "
        "before the view: give it a name");
}

} // namespace xgrad

#include <xgrad/core/end_headers.inc>

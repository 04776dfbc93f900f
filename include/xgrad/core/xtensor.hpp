// The only header that includes xtensor. It hides the different header layouts of xtensor's
// versions and works around a bug that corrupts memory. The work-around reaches the whole file
// where xgrad is included before xtensor. In the other order, functions of xgrad do not use what is
// wrong then (xt::temporary_type_t of run-time rank), and a warning says that the program's own
// may.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#if __has_include(<xtensor/core/xtensor_config.hpp>) // 0.26 and newer
#    include <xtensor/containers/xadapt.hpp>
#    include <xtensor/containers/xarray.hpp>
#    include <xtensor/core/xnoalias.hpp>
#    include <xtensor/core/xtensor_config.hpp>
#    include <xtensor/views/xslice.hpp>
#    include <xtensor/views/xstrided_view.hpp>
#elif __has_include(<xtensor/xtensor_config.hpp>) // 0.24 and 0.25
#    include <xtensor/xtensor_config.hpp>
// With GCC in C++20 these versions mistake a run-time rank for a fixed rank of 4 and write through
// an uninitialised shape. With clang 19 the same two templates are ambiguous. The specialisations
// must precede every use. If xtensor was included before, they come too late. (They are not needed
// with -fno-new-ttp-matching, which our CMake target sets and which undefines
// __cpp_template_template_args.)
#    ifndef XTENSOR_EXPRESSION_TRAITS_HPP
#        include <xtensor/xtensor_forward.hpp>
namespace xt {
template <class X, class C> struct rebind_container;
#        if defined(__clang__) && __clang_major__ >= 19
template <>
struct rebind_container<long, svector<unsigned long, 4, std::allocator<unsigned long>, true>> {
    using type = svector<long, 4, std::allocator<long>, true>;
};
template <>
struct rebind_container<unsigned long,
    svector<unsigned long, 4, std::allocator<unsigned long>, true>> {
    using type = svector<unsigned long, 4, std::allocator<unsigned long>, true>;
};
template <>
struct rebind_container<bool, svector<unsigned long, 4, std::allocator<unsigned long>, true>> {
    using type = svector<bool, 4, std::allocator<bool>, true>;
};
template <> struct rebind_container<unsigned long, svector<long, 4, std::allocator<long>, true>> {
    using type = svector<unsigned long, 4, std::allocator<unsigned long>, true>;
};
template <> struct rebind_container<long, svector<long, 4, std::allocator<long>, true>> {
    using type = svector<long, 4, std::allocator<long>, true>;
};
#        endif
namespace detail {
template <class S> struct xtype_for_shape;
template <> struct xtype_for_shape<svector<std::size_t, 4, std::allocator<std::size_t>, true>> {
    template <class T, layout_type L> using type = xarray<T, L>;
};
template <>
struct xtype_for_shape<svector<std::ptrdiff_t, 4, std::allocator<std::ptrdiff_t>, true>> {
    template <class T, layout_type L> using type = xarray<T, L>;
};
} // namespace detail
} // namespace xt
#    elif defined(__cpp_template_template_args) && !defined(__clang__) &&                          \
        !defined(XGRAD_ALLOW_XTENSOR_FIRST)
#        pragma message(                                                                           \
                "xgrad: xtensor was included first. With this compiler its temporaries of "        \
                "run-time rank get a fixed one, which corrupts memory, as in "                     \
                "xt::eval(xt::sum(a)). Include xgrad before it, or use -fno-new-ttp-matching. "    \
                "XGRAD_ALLOW_XTENSOR_FIRST silences this")
#    endif
#    include <xtensor/xadapt.hpp>
#    include <xtensor/xarray.hpp>
#    include <xtensor/xnoalias.hpp>
#    include <xtensor/xslice.hpp>
#    include <xtensor/xstrided_view.hpp>
#else
#    error "xgrad needs xtensor 0.24 or newer on the include path"
#endif

namespace xgrad::detail {

template <class E>
concept XtensorExpression = xt::is_xexpression<std::remove_cvref_t<E>>::value;

/// An array or tensor of xtensor that has row-major memory of its own: if a Tensor borrows it,
/// their elements have the same order.
template <class E> inline constexpr bool owns_memory = false;
template <class C, class S, class Tag>
inline constexpr bool owns_memory<xt::xarray_container<C, xt::layout_type::row_major, S, Tag>> =
    true;
template <class C, std::size_t N, class Tag>
inline constexpr bool owns_memory<xt::xtensor_container<C, N, xt::layout_type::row_major, Tag>> =
    true;

/// A writable strided view. Where its memory is contiguous, arrays of its shape are assigned to it
/// as to an xarray: xtensor assigns to a view of dynamic layout element by element, which takes
/// 15 times as long for a matrix of 1000 x 1000 numbers.
template <class View> class WritableArray : public View {
public:
    using element = typename View::value_type;

    /// `first` is the first element of contiguous memory, or null.
    WritableArray(View view, element* first) : View(std::move(view)), first_(first) {}
    WritableArray(WritableArray const&) = default;

    template <XtensorExpression E> WritableArray& operator=(E const& e) {
        if (!is_whole(e)) assign_copy(e);
        else if constexpr (owns_memory<E>) assign(e);
        else whole() = e; // with a temporary: e may read this memory in another order
        return *this;
    }
    WritableArray& operator=(WritableArray const& o) { return *this = static_cast<View const&>(o); }
    template <class V>
        requires(!XtensorExpression<V>)
    WritableArray& operator=(V const& value) {
        View::operator=(value);
        return *this;
    }
    // What xt::noalias() calls.
    template <class E> WritableArray& assign(xt::xexpression<E> const& e) {
        if (is_whole(e.derived_cast())) {
            auto all = whole();
            xt::noalias(all) = e;
        } else View::assign(e);
        return *this;
    }
    template <class E> WritableArray& plus_assign(E const& e) { return *this += e.derived_cast(); }
    template <class E> WritableArray& minus_assign(E const& e) { return *this -= e.derived_cast(); }
    template <class E> WritableArray& multiplies_assign(E const& e) {
        return *this *= e.derived_cast();
    }
    template <class E> WritableArray& divides_assign(E const& e) {
        return *this /= e.derived_cast();
    }

#define XGRAD_COMPOUND(op)                                                                         \
    template <class E> WritableArray& operator op##=(E const& e) {                                 \
        if (is_whole(e)) whole() op## = e;                                                         \
        else if constexpr (XtensorExpression<E>)                                                   \
            assign_copy(static_cast<View const&>(*this) op e);                                     \
        else View::operator op##=(e);                                                              \
        return *this;                                                                              \
    }
    XGRAD_COMPOUND(+)
    XGRAD_COMPOUND(-)
    XGRAD_COMPOUND(*)
    XGRAD_COMPOUND(/)
#undef XGRAD_COMPOUND

private:
    /// Instead of View::operator=, whose temporary has the type that the compiler may get wrong.
    template <class E> void assign_copy(E const& e) {
        xt::xarray<element> const copy(e);
        View::assign(xt::broadcast(copy, this->shape()));
    }
    template <class E> bool is_whole(E const& e) const {
        if constexpr (XtensorExpression<E>)
            return first_ && e.dimension() == this->dimension() &&
                   std::equal(e.shape().begin(), e.shape().end(), this->shape().begin());
        else return first_ != nullptr;
    }
    auto whole() const {
        return xt::adapt<xt::layout_type::row_major>(first_ + 0, this->size(), xt::no_ownership(),
            xt::dynamic_shape<std::size_t>(this->shape().begin(), this->shape().end()));
    }

    element* first_;
};

} // namespace xgrad::detail

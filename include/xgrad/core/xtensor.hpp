// The only header that includes xtensor. It hides the different header layouts of xtensor's
// versions and works around a bug that corrupts memory. Programs must include xgrad before xtensor;
// if the order matters for the compiler in use, the check at the end stops the build.
#pragma once

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
// must precede every use. If xtensor was included before, they come too late: the check at the end
// tests whether that matters. (It does not with -fno-new-ttp-matching, which our CMake target
// sets.)
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

static_assert(std::is_same_v<xt::temporary_type_t<decltype(std::declval<xt::xarray<double>>() +
                                                           std::declval<xt::xarray<double>>())>,
                  xt::xarray<double>>,
    "xtensor was included before xgrad, and with this compiler it binds temporaries of run-time "
    "rank to a fixed rank, which corrupts memory: "
    "include <xgrad/xgrad.hpp> before any xtensor header, or compile with -fno-new-ttp-matching");

} // namespace xgrad::detail

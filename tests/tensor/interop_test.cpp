// Memory of arrays of other libraries: mdspan (the standard's, Kokkos' and a small one of the
// tests).
#include <doctest/doctest.h>

#include <version>

#include <support/mdspan.hpp>
#include <xgrad/interop.hpp>

#if __has_include(<mdspan>) && defined(__cpp_lib_mdspan)
#    include <mdspan>
#endif
#if __has_include(<mdspan/mdspan.hpp>)
#    include <mdspan/mdspan.hpp>
#endif

namespace xg = xgrad;
using D = xg::Tensor<double>;

namespace {

/// The names of one implementation.
struct StandIn {
    template <class I, std::size_t... e> using extents = support::extents<I, e...>;
    using layout_right = support::layout_right;
    using layout_left = support::layout_left;
    using layout_stride = support::layout_stride;
    template <class T, class E, class L> using mdspan = support::mdspan<T, E, L>;
};
#if __has_include(<mdspan>) && defined(__cpp_lib_mdspan)
struct Standard {
    template <class I, std::size_t... e> using extents = std::extents<I, e...>;
    using layout_right = std::layout_right;
    using layout_left = std::layout_left;
    using layout_stride = std::layout_stride;
    template <class T, class E, class L> using mdspan = std::mdspan<T, E, L>;
};
#endif
#if __has_include(<mdspan/mdspan.hpp>)
struct Reference {
    template <class I, std::size_t... e> using extents = Kokkos::extents<I, e...>;
    using layout_right = Kokkos::layout_right;
    using layout_left = Kokkos::layout_left;
    using layout_stride = Kokkos::layout_stride;
    template <class T, class E, class L> using mdspan = Kokkos::mdspan<T, E, L>;
};
#endif

constexpr std::size_t any = support::dynamic_extent;

template <class M> void check_mdspan() {
    using Matrix = typename M::template extents<int, any, any>;
    using Fixed = typename M::template extents<std::size_t, any, 3>;
    std::vector<double> numbers{1., 2., 3., 4., 5., 6.};
    auto const span = [&]<class Layout>(Layout) {
        return typename M::template mdspan<double, Matrix, Layout>(numbers.data(),
            typename Layout::template mapping<Matrix>(Matrix(std::array<int, 2>{2, 3})));
    };
    {
        auto const rows = span(typename M::layout_right());
        D x = xg::borrow(rows);
        CHECK(x.shape() == xg::Shape{2, 3});
        CHECK(x.data() == numbers.data());
        CHECK(x(1, 0).item() == 4);
        x(1, 0) = 40.;
        CHECK(numbers[3] == 40);
        numbers[3] = 4;
        CHECK(x(1, 0).item() == 4);
    }
    {
        D const x = xg::borrow(span(typename M::layout_left())).requires_grad_();
        CHECK(x.strides() == xg::Strides{1, 2});
        CHECK(x(1, 0).item() == 2);
        sum(x * x).backward();
        CHECK(x.grad()(0, 2).item() == 10);
    }
    {
        using Stride = typename M::layout_stride;
        typename M::template mdspan<double, Matrix, Stride> const every_second(
            numbers.data(), typename Stride::template mapping<Matrix>(
                                Matrix(std::array<int, 2>{2, 2}), std::array<int, 2>{3, 2}));
        D const x = xg::borrow(every_second);
        CHECK(x(0, 1).item() == 3);
        CHECK(x(1, 1).item() == 6);
    }

    D x({{1., 2., 3.}, {4., 5., 6.}});
    using Rows = typename M::template mdspan<double const, Matrix, typename M::layout_right>;
    using Columns = typename M::template mdspan<double, Matrix, typename M::layout_left>;
    using Strided = typename M::template mdspan<double, Fixed, typename M::layout_stride>;
    auto const version = x.version();
    auto const read = xg::memory_as<Rows>(x);
    CHECK(read.data_handle() == x.data());
    CHECK(read.extent(0) == 2);
    CHECK(read.extent(1) == 3);
    CHECK(x.version() == version);
    auto const written = xg::memory_as<Strided>(x);
    CHECK(x.version() == version + 1);
    CHECK(written.stride(0) == 3);
    written.data_handle()[1] = 20;
    CHECK(x(0, 1).item() == 20);
    D t = x.mT();
    CHECK(xg::memory_as<Columns>(t).data_handle() == x.data());
    CHECK_THROWS_WITH_AS(xg::memory_as<Rows>(t),
        "memory_as: this tensor of shape [3, 2] has strides [1, 3], and the view [2, 1]: name a "
        "view in the tensor's storage order, or one that takes its strides "
        "(Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>, std::layout_stride), or make the tensor "
        "row-major by contiguous()",
        xg::ShapeError);
    auto const before = t.version();
    CHECK_THROWS_WITH_AS(xg::memory_as<Strided>(t),
        "memory_as: axis 1 of the view has extent 3, and the tensor has shape [3, 2]",
        xg::ShapeError);
    CHECK(t.version() == before); // nothing is written where it throws
    D const row = t(0);
    CHECK_THROWS_WITH_AS(xg::memory_as<Rows>(row),
        "memory_as: a view of 2 axes cannot be one of a tensor of shape [2]", xg::ShapeError);
}

/// A layout whose second axis runs backwards.
struct layout_backwards {
    template <class Extents> struct mapping {
        Extents all;
        Extents const& extents() const { return all; }
        std::ptrdiff_t stride(std::size_t r) const { return r == 0 ? all.extent(1) : -1; }
        bool is_strided() const { return true; }
    };
};

} // namespace

TEST_CASE("borrow() and memory_as() of an mdspan: layouts, extents, strides, lifetime") {
    SUBCASE("of the tests") { check_mdspan<StandIn>(); }
#if __has_include(<mdspan>) && defined(__cpp_lib_mdspan)
    SUBCASE("of the standard library") { check_mdspan<Standard>(); }
#endif
#if __has_include(<mdspan/mdspan.hpp>)
    SUBCASE("of Kokkos") { check_mdspan<Reference>(); }
#endif
}

TEST_CASE("an mdspan with a negative stride is refused") {
    using Extents = support::extents<std::ptrdiff_t, any, any>;
    double numbers[6] = {};
    support::mdspan<double, Extents, layout_backwards> const span(
        numbers + 2, {Extents(std::array<std::ptrdiff_t, 2>{2, 3})});
    CHECK_THROWS_WITH_AS(xg::borrow(span),
        "borrow: strides [3, -1] are negative; read the elements forwards, and reverse the tensor "
        "with flip()",
        xg::ShapeError);
}

// Memory of arrays of other libraries: mdspan (the standard's, Kokkos' and a small one of the
// tests) and, where it is installed, Eigen.
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
#if __has_include(<Eigen/Core>)
#    include <Eigen/Core>
#elif __has_include(<eigen3/Eigen/Core>)
#    include <eigen3/Eigen/Core>
#endif

namespace xg = xgrad;
using D = xg::Tensor<double>;
using cd = std::complex<double>;

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

#ifdef EIGEN_CORE_H
TEST_CASE("borrow() takes matrices, arrays, maps and blocks of Eigen as they lie in memory") {
    Eigen::MatrixXd m(2, 3);
    m << 1., 2., 3., 4., 5., 6.;
    D x = xg::borrow(m);
    CHECK(x.shape() == xg::Shape{2, 3});
    CHECK(x.strides() == xg::Strides{1, 2});
    CHECK(x(0, 2).item() == 3);
    x += 1.;
    CHECK(m(1, 0) == 5);
    Eigen::Matrix<cd, 2, 2, Eigen::RowMajor> z;
    z << cd(1, 1), cd(2, 0), cd(3, 0), cd(4, 0);
    CHECK(xg::borrow(z).data()[1] == cd(2, 0));
    Eigen::VectorXf v = Eigen::VectorXf::LinSpaced(4, 0.f, 3.f);
    CHECK(xg::borrow(v).shape() == xg::Shape{4});
    CHECK(xg::borrow(m.row(1)).strides() == xg::Strides{2});
    CHECK(xg::borrow(m.row(1))(2).item() == 7);
    D block = xg::borrow(m.block(0, 1, 2, 2));
    CHECK(block.strides() == xg::Strides{1, 2});
    block.zero_();
    CHECK(m(1, 1) == 0);
    CHECK(m(1, 0) == 5);
    std::vector<double> numbers{1., 2., 3., 4., 5., 6.};
    using Steps = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    D const strided = xg::borrow(
        Eigen::Map<Eigen::Array22d, Eigen::Unaligned, Steps>(numbers.data(), Steps(3, 2)));
    CHECK(strided(1, 0).item() == 3);
    CHECK(strided(0, 1).item() == 4);
    Eigen::Ref<Eigen::MatrixXd> ref = m;
    CHECK(xg::borrow(ref).strided_data() == m.data());

    D const w = xg::borrow(m).requires_grad_();
    sum(w * w).backward();
    CHECK(w.grad()(1, 0).item() == 10);
    Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(2, 3);
    D u = xg::borrow(m).requires_grad_();
    u.set_grad(xg::borrow(gradient));
    sum(u * 3.).backward();
    CHECK(gradient == Eigen::MatrixXd::Constant(2, 3, 3.));
}

TEST_CASE("adopt() keeps a matrix of Eigen") {
    D x;
    {
        Eigen::MatrixXd m = Eigen::MatrixXd::Identity(20, 20);
        auto const* const memory = m.data();
        x = xg::adopt(std::move(m));
        CHECK(x.strided_data() == memory);
    }
    CHECK(sum(x).item() == 20);
    Eigen::Matrix3d const a = Eigen::Matrix3d::Constant(2.);
    CHECK(xg::adopt((a * a).eval())(0, 0).item() == 12);
    CHECK(sum(xg::adopt(Eigen::MatrixXd(a))).item() == 18);
    Eigen::MatrixXd const none(0, 3);
    CHECK(xg::adopt(Eigen::MatrixXd(none)).shape() == xg::Shape{0, 3});
}

TEST_CASE("memory_as() is a Map of Eigen") {
    D x({{1., 2., 3.}, {4., 5., 6.}});
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Steps = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    auto const version = x.version();
    auto const rows = xg::memory_as<Eigen::Map<Rows const>>(x);
    CHECK(rows(1, 0) == 4);
    CHECK(rows.data() == x.data());
    CHECK(x.version() == version);
    CHECK(xg::memory_as<Eigen::Map<Eigen::MatrixXd const, 0, Steps>>(x)(0, 2) == 3);
    xg::memory_as<Eigen::Map<Rows>>(x) *= 2.;
    CHECK(x(1, 2).item() == 12);
    CHECK(x.version() == version + 1);
    D t = x.mT();
    CHECK(xg::memory_as<Eigen::Map<Eigen::MatrixXd>>(t)(2, 1) == 12);
    CHECK(xg::memory_as<Eigen::Map<Eigen::Matrix<double, 3, 2>>>(t)(2, 1) == 12);
    CHECK_THROWS_WITH_AS(xg::memory_as<Eigen::Map<Eigen::MatrixXd const>>(x),
        doctest::Contains("has strides [3, 1], and the view [1, 2]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::memory_as<Eigen::Map<Eigen::Matrix3d const>>(x),
        "memory_as: axis 0 of the view has extent 3, and the tensor has shape [2, 3]",
        xg::ShapeError);

    D part = x(xg::slice(), xg::slice(0, 2));
    CHECK(xg::memory_as<Eigen::Map<Rows const, 0, Eigen::OuterStride<>>>(part)(1, 1) == 10);
    D column = x(xg::slice(), 1);
    CHECK(
        xg::memory_as<Eigen::Map<Eigen::VectorXd const, 0, Eigen::InnerStride<>>>(column)(1) == 10);
    CHECK(xg::memory_as<Eigen::Map<Eigen::VectorXd const, 0, Eigen::InnerStride<3>>>(column)(1) ==
          10);
    CHECK_THROWS_AS(xg::memory_as<Eigen::Map<Eigen::VectorXd const>>(column), xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::memory_as<Eigen::Map<Eigen::VectorXd const>>(x),
        "memory_as: a view of 1 axes cannot be one of a tensor of shape [2, 3]", xg::ShapeError);
}
#endif

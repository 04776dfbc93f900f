// Memory of Eigen's matrices.
#include <Eigen/Core>
#include <doctest/doctest.h>
#include <xgrad/interop.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using cd = std::complex<double>;

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

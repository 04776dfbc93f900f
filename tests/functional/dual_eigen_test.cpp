// Dual numbers as elements of Eigen's matrices.
#include <xgrad/dual.hpp>

#include <cmath>

#include <Eigen/LU>
#include <doctest/doctest.h>

using xgrad::Dual;

TEST_CASE("matrices of dual numbers in Eigen") {
    using D = Dual<double, 2>;
    D const a = D::variable(1.3, 0), b = D::variable(-0.7, 1);
    Eigen::Matrix<D, 3, 3> m;
    m << 2 + a, b, 0., b, 3., a * b, 0., a * b, 5.;
    D const det = m.determinant();
    CHECK(det.value == doctest::Approx(3.3 * (15 - 0.8281) - 5 * 0.49));
    CHECK(det.tangent[0] == doctest::Approx(15 - 0.8281 - 3.3 * 2 * 1.3 * 0.49));
    Eigen::Matrix<D, 3, 1> v;
    v << a, b, 1.;
    Eigen::Matrix<D, 3, 1> const x = m.partialPivLu().solve(2. * v), back = m * x;
    for (int i = 0; i < 3; ++i) {
        CHECK(back[i].value == doctest::Approx(2 * v[i].value));
        for (int k = 0; k < 2; ++k)
            CHECK(std::abs(back[i].tangent[k] - 2 * v[i].tangent[k]) < 1e-13);
    }
    CHECK(v.norm().tangent[0] == doctest::Approx(1.3 / std::sqrt(1.3 * 1.3 + 0.49 + 1)));
}

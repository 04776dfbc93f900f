// expect: adopt: a map, a block or an mdspan does not own its elements
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::adopt(Map<Matrix<double>>(matrix.data(), 2, 2));
#else
    x = xgrad::borrow(Map<Matrix<double>>(matrix.data(), 2, 2));
#endif
}

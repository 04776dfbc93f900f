// expect: an expression of Eigen has no elements in memory
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::borrow(Twice<Matrix<double>>());
#else
    x = xgrad::adopt(Twice<Matrix<double>>().eval());
#endif
}

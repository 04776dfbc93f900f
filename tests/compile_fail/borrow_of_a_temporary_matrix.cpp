// expect: borrow: the matrix is a temporary
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::borrow(Matrix<double>());
#else
    x = xgrad::adopt(Matrix<double>());
#endif
}

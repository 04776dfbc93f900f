// expect: borrow, adopt: no tensor has elements of this type
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    Matrix<int> integers;
    xgrad::borrow(integers);
#else
    x = xgrad::borrow(matrix);
#endif
}

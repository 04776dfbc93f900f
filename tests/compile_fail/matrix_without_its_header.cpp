// expect: adopt, borrow: #include <xgrad/interop.hpp>
#include <xgrad/xgrad.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::borrow(matrix);
#else
    x = xgrad::borrow(matrix.elements, {2, 2});
#endif
}

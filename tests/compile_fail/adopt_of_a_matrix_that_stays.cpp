// expect: adopt: the tensor keeps the matrix, so it is moved
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::adopt(matrix);
#else
    x = xgrad::adopt(std::move(matrix));
#endif
}

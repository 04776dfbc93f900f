// expect: memory_as: the tensor is a temporary
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::memory_as<Map<Matrix<double> const>>(x.mT());
#else
    static_cast<void>(xgrad::memory_as<Map<Matrix<double> const>>(x));
#endif
}

// expect: memory_as: the view has elements of another type
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    xgrad::memory_as<Map<Matrix<float> const>>(x);
#else
    static_cast<void>(xgrad::memory_as<Map<Matrix<double> const>>(x));
#endif
}

// expect: memory_as: a view that may write
#include <xgrad/interop.hpp>

#include "matrices.hpp"

int main() {
    Matrix<double> matrix;
    Matrix<double> const constant;
    xgrad::Tensor<double> x({{1., 2.}, {3., 4.}});
    static_cast<void>(constant);
#ifdef MISTAKE
    auto const& y = x;
    xgrad::memory_as<Map<Matrix<double>>>(y);
#else
    static_cast<void>(xgrad::memory_as<Map<Matrix<double>>>(x));
#endif
}

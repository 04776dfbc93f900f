// expect: the function must return a Tensor, an expression, or a std::tuple of such
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.});
#ifdef MISTAKE
    xgrad::jacobian([](xgrad::Tensor<double> const& a) { sum(a); }, x);
#else
    xgrad::jacobian([](xgrad::Tensor<double> const& a) { return sum(a); }, x);
#endif
}

// expect: vjp: v must have the structure and the scalar types of what the function returns
#include <xgrad/functional/vjp.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}), v({1., 1.});
    auto const square = [](xgrad::Tensor<double> const& a) { return a * a; };
#ifdef MISTAKE
    xgrad::vjp(square, x, xgrad::Tensor<float>({1.f, 1.f}));
#else
    xgrad::vjp(square, x, v);
#endif
}

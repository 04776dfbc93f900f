// expect: the function cannot be called with these inputs: it takes a Tensor<T> const& for each
#include <xgrad/functional/vjp.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}), w({3., 4.});
#ifdef MISTAKE
    xgrad::value_and_grad(
        [](xgrad::Tensor<double> const& a) { return sum(a * a); }, xgrad::inputs(x, w));
#else
    xgrad::value_and_grad([](xgrad::Tensor<double> const& a, auto const& b) { return sum(a * b); },
        xgrad::inputs(x, w));
#endif
}

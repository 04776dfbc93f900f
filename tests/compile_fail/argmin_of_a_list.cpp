// expect: no such option, or not f, x0, inputs\(a, b\), ImplicitOptions
#include <xgrad/implicit.hpp>

int main() {
    auto const f = [](auto const& y) { return sum(square(y)); };
#ifdef MISTAKE
    xgrad::argmin(f, {1., 2.});
#else
    xgrad::argmin(f, xgrad::Tensor<double>({1., 2.}));
#endif
}

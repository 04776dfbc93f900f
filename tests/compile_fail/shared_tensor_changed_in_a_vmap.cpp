// expect: vmap: `w \+= x` of a w that all examples share; write auto y = w \+ x
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    xgrad::Tensor<double> w({1., 2.});
    auto const f = [&](auto const& v) {
#ifdef MISTAKE
        w += v;
        return w;
#else
        auto const y = w + v;
        return y;
#endif
    };
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}

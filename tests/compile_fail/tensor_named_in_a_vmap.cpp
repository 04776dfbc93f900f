// expect: vmap: write .auto y = \.\.\..
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& v) {
#ifdef MISTAKE
        xgrad::Tensor<double> const y = sin(v);
#else
        auto const y = sin(v);
#endif
        return y * 2.;
    };
    xgrad::Tensor<double> const z = xgrad::vmap(f)(x);
}

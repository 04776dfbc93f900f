// expect: vmap: x\(mask\) has another shape for each example; write where\(mask, x, 0\)
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& v) {
#ifdef MISTAKE
        return sum(v(v > 0.));
#else
        return sum(where(v > 0., v, 0.));
#endif
    };
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}

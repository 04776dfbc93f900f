// expect: vmap: write .auto y = \.\.\.., stack\(tuple\(\.\.\.\)\)
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    xgrad::Tensor<double> const w({5., 6.});
    auto const f = [&](auto const& v) {
#ifdef MISTAKE
        return xgrad::stack({w, v});
#else
        return xgrad::stack(std::tuple(w, v));
#endif
    };
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}

// expect: vmap: item\(\) has another value for each example; let xg::looped\(f\) call the function
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    auto const f = [](auto const& v) { return v * sum(v).item(); };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
#else
    xgrad::Tensor<double> const y = xgrad::vmap(xgrad::looped(f))(x);
#endif
}

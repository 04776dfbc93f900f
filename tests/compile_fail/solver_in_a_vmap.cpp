// expect: vmap: solvers have no rule: use looped\(f\)
#include <xgrad/implicit.hpp>
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& a) {
        return xgrad::root([&](auto const& y) { return y * y - a; }, xgrad::Tensor<double>(1.));
    };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
#else
    xgrad::Tensor<double> const y = xgrad::vmap(xgrad::looped(f))(x);
#endif
}

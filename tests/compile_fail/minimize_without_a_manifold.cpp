// expect: deleted function.*no_such_option_or_wrong_arguments.*minimize
#include <xgrad/manifold.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 0.});
    auto const f = [](auto const& y) { return sum(y); };
#ifdef MISTAKE
    xgrad::minimize(f, x, {.gtol = 1e-4});
#else
    xgrad::minimize(f, x, xgrad::on(xgrad::Sphere()), {.gtol = 1e-4});
#endif
}

// expect: manifold: a std::tuple of tensors needs a manifold for each of them
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

int main() {
    auto const f = [](D const& x, D const& y) { return sum(x * y); };
    auto const start = std::tuple(D({0., 1.}), D({1., 0.}));
#ifdef MISTAKE
    xgrad::minimize(f, start, xgrad::on(xgrad::Sphere()));
#else
    xgrad::minimize(f, start, xgrad::on(xgrad::Sphere(), xgrad::Sphere()));
#endif
}

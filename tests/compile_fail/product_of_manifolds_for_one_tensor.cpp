// expect: manifold: on\(Sphere\{\}, Euclidean\{\}\) is for a std::tuple of as many tensors, and there is one
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

int main() {
    auto const f = [](D const& x) { return sum(x); };
#ifdef MISTAKE
    xgrad::minimize(f, D({0., 1.}), xgrad::on(xgrad::Sphere(), xgrad::Sphere()));
#else
    xgrad::minimize(f, D({0., 1.}), xgrad::on(xgrad::Sphere()));
#endif
}

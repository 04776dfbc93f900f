// expect: manifold: inner\(x, u, v\) and gradient\(x, g\) belong together
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

struct Scaled : xgrad::Euclidean {
    double inner(D const&, D const& u, D const& v) const { return 4 * sum(u * v).item(); }
#ifndef MISTAKE
    D gradient(D const&, D const& g) const { return g / 4.; }
#endif
};

int main() { xgrad::check_manifold(Scaled(), D({1., 2.})); }

// expect: manifold: retract\(x, v\) const must return the point that is reached from x along v
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

struct Plane {
    D project(D const&, D const& v) const { return v; }
#ifndef MISTAKE
    D retract(D const& x, D const& v) const { return x + v; }
#endif
    D random(D const& x) const { return xgrad::randn_like(x); }
};

int main() { xgrad::check_manifold(Plane(), D({1., 2.})); }

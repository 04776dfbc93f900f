// expect: manifold: project\(x, v\) const must return the component of v that is tangent at x
#include <xgrad/manifold.hpp>

using D = xgrad::Tensor<double>;

struct Plane : xgrad::Euclidean {
#ifdef MISTAKE
    xgrad::Tensor<float> project(D const&, D const&) const { return {}; }
#else
    D project(D const&, D const& v) const { return v; }
#endif
};

int main() {
    xgrad::minimize([](D const& x) { return sum(x * x); }, D({1., 2.}), xgrad::on(Plane()));
}

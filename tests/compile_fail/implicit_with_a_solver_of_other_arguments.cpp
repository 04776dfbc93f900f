// expect: implicit: the residual is followed by its solution x, or by a solver that can be called
#include <xgrad/implicit.hpp>

using D = xgrad::Tensor<double>;

int main() {
    auto const square = [](D const& x, D const& p) { return x * x - p; };
#ifdef MISTAKE
    auto const solver = [](D const& p, D const& q) { return sqrt(p * q); };
#else
    auto const solver = [](D const& p) { return sqrt(p); };
#endif
    xgrad::implicit(square)(solver, D({1., 4.}));
}

// expect: numbers for theta are Tensor<double>\(\{1\., 2\.\}\): \{1\., 2\.\} are options
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x0({1., 2.});
    auto const f = [](auto const& x, auto const& theta) { return x * x - theta; };
#ifdef MISTAKE
    xgrad::root(f, x0, {3., 4.});
#else
    xgrad::root(f, x0, xgrad::Tensor<double>({3., 4.}));
#endif
}

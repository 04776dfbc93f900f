// expect: argmin: the function must return a single tensor of real numbers
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({1., 2.});
#ifdef MISTAKE
    xgrad::argmin([](auto const& a) { return sum(a); }, z);
#else
    xgrad::argmin([](auto const& a) { return sum(abs2(a)); }, z);
#endif
}

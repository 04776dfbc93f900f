// expect: map: a function of complex numbers that returns a real one is not holomorphic: leave xg::holomorphic out
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({1., 2.});
    auto const f = [](auto v) { return abs2(v); };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map(xgrad::holomorphic, f, z);
#else
    xgrad::Tensor<double> const y = xgrad::map(f, z);
#endif
}

// expect: complex numbers have no order: take abs\(z\) or real\(z\)
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> const z({1., 2.});
    auto const f = [](auto v) {
#ifdef MISTAKE
        if (v < 1.) return -v;
#else
        if (abs(v) < 1.) return -v;
#endif
        return v;
    };
    xgrad::Tensor<std::complex<double>> const y = xgrad::map(xgrad::with_branches, f, z);
}

// expect: inconsistent types|in return type deduced as
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    auto const f = [](auto v) {
#else
    auto const f = [](auto v) -> decltype(v) {
#endif
        if (v < 0.) return 0.;
        return v;
    };
    xgrad::Tensor<double> const y = xgrad::map(xgrad::with_branches, f, x);
}

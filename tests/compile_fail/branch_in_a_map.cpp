// expect: this function branches on values, so it cannot run on batches: write xg::map\(xg::with_branches, f, \.\.\.\)
#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    auto const f = [](auto v) {
        if (v < 0.) return -v;
        return v;
    };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map(f, x);
#else
    xgrad::Tensor<double> const y = xgrad::map(xgrad::with_branches, f, x);
#endif
}

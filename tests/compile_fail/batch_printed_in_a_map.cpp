// expect: a batch of numbers is not printed: write xg::map\(xg::with_branches, f, \.\.\.\)
#include <iostream>

#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    auto const f = [](auto v) {
        std::cout << v << '\n';
        return v * v;
    };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map(f, x);
#else
    xgrad::Tensor<double> const y = xgrad::map(xgrad::with_branches, f, x);
#endif
}

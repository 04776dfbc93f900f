// expect: sum_over: the function must return a number
#include <xgrad/sum_over.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    xgrad::Tensor<std::int64_t> const index({{0, 1}});
#ifdef MISTAKE
    auto e = xgrad::sum_over<2>([](auto const& p) { return p; }, x, index);
#else
    auto e = xgrad::sum_over<2>([](auto const& p) { return p[0] * p[1]; }, x, index);
#endif
    return e.value().item() > 0;
}

// expect: sum_over: the function cannot be called with an array of the corners and the constants; it must be a template
#include <xgrad/sum_over.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    xgrad::Tensor<std::int64_t> const index({{0, 1}});
#ifdef MISTAKE
    auto e = xgrad::sum_over<2>([](std::array<double, 2> p) { return p[0] * p[1]; }, x, index);
#else
    auto e = xgrad::sum_over<2>([](auto const& p) { return p[0] * p[1]; }, x, index);
#endif
    return e.value().item() > 0;
}

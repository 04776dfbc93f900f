// expect: map, sum_over: a tensor stands among the numbers of the function: .* or a constant of sum_over\(\)
#include <xgrad/sum_over.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.}), scale({3.});
    xgrad::Tensor<std::int64_t> const index({{0, 1}});
#ifdef MISTAKE
    auto e = xgrad::sum_over<2>([&](auto const& p) { return scale * p[0] * p[1]; }, x, index);
#else
    auto const f = [](auto const& p, auto const& scale) { return scale * p[0] * p[1]; };
    auto e = xgrad::sum_over<2>(f, x, index, scale);
#endif
}

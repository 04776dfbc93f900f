// expect: sum_over: the index is a Tensor<std::int64_t>
#include <xgrad/sum_over.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    auto const f = [](auto const& p) { return p[0] * p[1]; };
#ifdef MISTAKE
    auto e = xgrad::sum_over<2>(f, x, xgrad::Tensor<double>({{0., 1.}}));
#else
    auto e = xgrad::sum_over<2>(f, x, xgrad::Tensor<std::int64_t>({{0, 1}}));
#endif
    return e.value().item() > 0;
}

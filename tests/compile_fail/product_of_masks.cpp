// expect: matmul: masks are no numbers; cast<std::int64_t>\(mask\) is one
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    xgrad::Tensor<bool> const mask = x > 0.;
#ifdef MISTAKE
    auto const y = matmul(mask, mask);
#else
    auto const y = matmul(cast<std::int64_t>(mask), mask);
#endif
}

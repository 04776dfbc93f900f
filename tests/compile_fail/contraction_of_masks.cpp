// expect: tensordot: masks are no numbers; cast<std::int64_t>\(mask\) is one
#include <xgrad/linalg/einsum.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    xgrad::Tensor<bool> const mask = x > 0.;
#ifdef MISTAKE
    auto const y = tensordot(mask, x, 1);
#else
    auto const y = tensordot(cast<std::int64_t>(mask), x, 1);
#endif
}

// expect: (?s)error: .*write cat\(\{a, b\}\)
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const a({1., 2.}), b({3.});
#ifdef MISTAKE
    auto const joined = xgrad::cat(a, b);
#else
    auto const joined = xgrad::cat({a, b});
#endif
    return joined.numel() != 3;
}

// expect: (?s)\A(?:(?!error:).)*error:[^\n]*no member named
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    return logsumexp(x.foo(), {0}).dim() != 0;
#else
    return logsumexp(x.detach(), {0}).dim() != 0;
#endif
}

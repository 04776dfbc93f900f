// expect: deleted function.*no_such_option_or_wrong_arguments.*sparsity
#include <xgrad/sparse.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y * y; };
#ifdef MISTAKE
    xgrad::sparsity(f, x, {.chek = true});
#else
    xgrad::sparsity(f, x, {.check = true});
#endif
}

// expect: deleted function.*no_such_option_or_wrong_arguments.*implicit
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y - 2.; };
#ifdef MISTAKE
    xgrad::implicit(f, {.rowz = true})(x);
#else
    xgrad::implicit(f, {.rows = true})(x);
#endif
}

// expect: deleted function.*no_such_option_or_wrong_arguments.*fixed_point
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return cos(y); };
#ifdef MISTAKE
    xgrad::fixed_point(f, x, {.max_iter = 9});
#else
    xgrad::fixed_point(f, x, {.max_iterations = 9});
#endif
}

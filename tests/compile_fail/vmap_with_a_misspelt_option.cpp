// expect: deleted function.*no_such_option_or_wrong_arguments.*vmap
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return sum(y); };
#ifdef MISTAKE
    xgrad::vmap<0>(f, {.out_axis = 1})(x);
#else
    xgrad::vmap<0>(f, {.out_axes = 0})(x);
#endif
}

// expect: deleted function.*no_such_option_or_wrong_arguments.*grad
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return sum(y); };
#ifdef MISTAKE
    xgrad::grad<0>(f, {.strickt = true})(x);
#else
    xgrad::grad<0>(f, {.strict = true})(x);
#endif
}

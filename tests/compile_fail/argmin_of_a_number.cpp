// expect: deleted function.*no_such_option_or_wrong_arguments.*argmin
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    xgrad::argmin(3, x);
#else
    xgrad::argmin([](auto const& y) { return sum(square(y - 3.)); }, x);
#endif
}

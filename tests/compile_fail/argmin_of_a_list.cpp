// expect: deleted function.*no_such_option_or_wrong_arguments.*argmin
#include <xgrad/implicit.hpp>

int main() {
    auto const f = [](auto const& y) { return sum(square(y)); };
#ifdef MISTAKE
    xgrad::argmin(f, {1., 2.});
#else
    xgrad::argmin(f, xgrad::Tensor<double>({1., 2.}));
#endif
}

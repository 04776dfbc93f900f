// expect: deleted function.*no_such_option_or_wrong_arguments.*least_squares
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const a(2.), b(3.);
    auto const f = [](auto const& p, auto const& q) { return p * q - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, a, b);
#else
    xgrad::least_squares(f, xgrad::inputs(a, b));
#endif
}

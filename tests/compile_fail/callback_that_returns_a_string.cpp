// expect: callback: it returns nothing, or a bool, of which false ends the iteration
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y * y - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, x, {.callback = [](auto const&) { return "on"; }});
#else
    xgrad::least_squares(f, x, {.callback = [](auto const&) { return true; }});
#endif
}

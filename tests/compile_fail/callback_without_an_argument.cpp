// expect: callback: it takes one argument, \[\]\(auto const& step\) \{ \.\.\. \}
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y * y - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, x, {.callback = [] { return true; }});
#else
    xgrad::least_squares(f, x, {.callback = [](auto const&) { return true; }});
#endif
}

// expect: loss: the function returns a number, as \[\]\(auto s\) \{ return log\(1\. \+ s\); \} does
#include <string>

#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return y * y - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, x, {.loss = [](auto) { return std::string("cauchy"); }});
#else
    xgrad::least_squares(f, x, {.loss = [](auto s) { return log(1. + s); }});
#endif
}

// expect: callback: it returns nothing, or a bool, of which false ends the iteration
#include <xgrad/manifold.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return sum(y); };
#ifdef MISTAKE
    xgrad::minimize(
        f, x / 3., xgrad::on(xgrad::Euclidean()), {.callback = [&](auto const&) { return x; }});
#else
    xgrad::minimize(f, x / 3., xgrad::on(xgrad::Euclidean()),
        {.callback = [&](auto const&) { static_cast<void>(x); }});
#endif
}

// expect: least_squares: the parameters of a residual by rows are a Tensor, or a std::tuple with one for each index
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& a, auto const& b) { return a - b; };
    auto const i = xgrad::arange<std::int64_t>(2);
#ifdef MISTAKE
    xgrad::least_squares(xgrad::by_rows(f, i, i), x);
#else
    xgrad::least_squares(xgrad::by_rows(f, i, i), std::tuple(x, x));
#endif
}

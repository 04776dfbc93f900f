// expect: by_rows: after the function comes an index for each parameter, a Tensor<std::int64_t>
#include <xgrad/least_squares.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& a) { return a - 1.; };
#ifdef MISTAKE
    xgrad::least_squares(xgrad::by_rows(f, x), x);
#else
    xgrad::least_squares(xgrad::by_rows(f, xgrad::arange<std::int64_t>(2)), x);
#endif
}

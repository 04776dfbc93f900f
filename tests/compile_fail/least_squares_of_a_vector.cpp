// expect: the inputs of a function are a Tensor or a std::tuple of tensors
#include <xgrad/least_squares.hpp>

int main() {
    std::vector<double> const x{1., 2.};
    auto const f = [](auto const& y) { return y * y - 2.; };
#ifdef MISTAKE
    xgrad::least_squares(f, x);
#else
    xgrad::least_squares(f, xgrad::Tensor<double>(x));
#endif
}

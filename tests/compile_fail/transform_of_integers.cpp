// expect: the inputs must be tensors of real or complex numbers
#include <xgrad/functional/vjp.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::int64_t> i({1, 2});
    xgrad::Tensor<double> x({1., 2.});
#ifdef MISTAKE
    xgrad::value_and_grad([&](auto const& n) { return sum(x * n); }, i);
#else
    xgrad::value_and_grad([&](auto const& a) { return sum(a * i); }, x);
#endif
}

// expect: hvp, vhp: the function should return a single Tensor of real numbers
#include <xgrad/functional/hvp.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.});
#ifdef MISTAKE
    xgrad::hvp([](xgrad::Tensor<double> const& a) { return std::tuple(sum(a), sum(a)); }, x, x);
#else
    xgrad::hvp([](xgrad::Tensor<double> const& a) { return sum(a); }, x, x);
#endif
}

// expect: the function must return the structure and the scalar types of x
#include <xgrad/implicit.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    xgrad::root([](auto const& a) { return std::tuple(a, a); }, x);
#else
    xgrad::root([](auto const& a) { return a * a - 2.; }, x);
#endif
}

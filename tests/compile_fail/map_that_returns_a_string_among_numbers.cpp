// expect: map: the function must return a number, or a tuple or an array of numbers
#include <string>

#include <xgrad/map.hpp>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
#ifdef MISTAKE
    xgrad::map([](auto v) { return std::tuple(v, std::string("a number")); }, x);
#else
    xgrad::map([](auto v) { return std::tuple(v, 2. * v); }, x);
#endif
}

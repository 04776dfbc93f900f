// expect: map: behind the function stand its operands: tensors or expressions, and numbers
#include <xgrad/map.hpp>

#include <vector>

int main() {
    xgrad::Tensor<double> const x({1., -2.});
    auto const f = [](auto v) { return v * v; };
#ifdef MISTAKE
    xgrad::Tensor<double> const y = xgrad::map(f, std::vector<double>{1., -2.});
#else
    xgrad::Tensor<double> const y = xgrad::map(f, x);
#endif
}

// expect: borrow: the numbers are const
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
    std::vector<double> const numbers{1., 2.};
#ifdef MISTAKE
    xgrad::borrow(numbers);
#else
    xgrad::Tensor<double> const x(numbers);
    return x(1).item() >= 2. ? 0 : 1;
#endif
}

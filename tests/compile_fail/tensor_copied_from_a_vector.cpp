// expect: Tensor: the numbers of a range are copied where that is written, Tensor<double> x\(vector\)
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
    std::vector<double> const values{1, 2};
#ifdef MISTAKE
    xgrad::Tensor<double> x = values;
#else
    xgrad::Tensor<double> x(values);
#endif
    return static_cast<int>(x.numel());
}

// expect: Tensor: ranges in a range may have different lengths; write their numbers to one vector
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    std::vector<std::vector<double>> const values{{1, 2}, {3, 4}};
    xgrad::Tensor<double> const x(values);
#else
    std::vector<double> const values{1, 2, 3, 4};
    auto const x = reshape(xgrad::Tensor<double>(values), {2, 2});
#endif
    return static_cast<int>(x.numel());
}

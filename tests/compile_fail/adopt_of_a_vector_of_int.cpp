// expect: adopt, borrow: no tensor has elements of this type
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
    std::vector<int> numbers{1, 2};
#ifdef MISTAKE
    xgrad::adopt(std::move(numbers));
#else
    xgrad::Tensor<double> const x(numbers);
    return x(1).item() >= 2. ? 0 : 1;
#endif
}

// expect: borrow: the array is a temporary, which is gone before the tensor
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::borrow(std::vector<double>{1, 2});
#else
    xgrad::adopt(std::vector<double>{1, 2});
#endif
}

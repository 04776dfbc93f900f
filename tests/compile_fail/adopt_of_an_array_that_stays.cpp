// expect: adopt: the tensor keeps the array, so it is moved: adopt\(std::move\(array\)\)
#include <xgrad/xgrad.hpp>

int main() {
    xt::xarray<double> values{1, 2};
#ifdef MISTAKE
    xgrad::adopt(values);
#else
    xgrad::adopt(std::move(values));
#endif
}

// expect: element_type_is_one_of<(T|int), _?[bB]ool, (std::)?(int64_t|long), float, double, std::complex<float>, std::complex<double>
#include <xgrad/xgrad.hpp>

int main() {
#ifdef MISTAKE
    xgrad::Tensor<int> n;
#else
    xgrad::Tensor<std::int64_t> n;
#endif
    return sizeof n == 0;
}

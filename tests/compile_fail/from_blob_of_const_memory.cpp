// expect: from_blob: the memory is const, and a change in place of the tensor would write to it
#include <xgrad/xgrad.hpp>

int main() {
    double const values[] = {1, 2};
#ifdef MISTAKE
    xgrad::from_blob(values, {2});
#else
    xgrad::Tensor<double> const x(values, {2});
#endif
}

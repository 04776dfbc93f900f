// expect: Tensor: a std::vector has no shape; Tensor<double> x\(xt::adapt\(vector\)\) copies its values
#include <xgrad/xgrad.hpp>

#include <vector>

int main() {
    std::vector<double> const values{1., 2.};
#ifdef MISTAKE
    xgrad::Tensor<double> const x(values);
#else
    xgrad::Tensor<double> const x(xt::adapt(values));
#endif
}

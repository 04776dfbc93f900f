// expect: hessian: second derivatives of complex inputs do not fit into complex tensors
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<std::complex<double>> z({std::complex<double>(1., 2.)});
    auto const intensity = [](xgrad::Tensor<std::complex<double>> const& a) {
        return sum(abs2(a));
    };
#ifdef MISTAKE
    xgrad::hessian(intensity, z);
#else
    xgrad::hessian(
        [&](xgrad::Tensor<double> const& parts) { return intensity(view_as_complex(parts)); },
        view_as_real(z));
#endif
}

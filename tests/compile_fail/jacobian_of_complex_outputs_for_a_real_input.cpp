// expect: jacobian: derivatives of complex outputs for real inputs have no place in real tensors
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> phi({1., 2.});
    auto const wave = [](xgrad::Tensor<double> const& a) { return polar(1., a); };
#ifdef MISTAKE
    xgrad::jacobian(wave, phi);
#else
    xgrad::jacobian(
        [&](auto const& a) { return view_as_real(xgrad::Tensor<std::complex<double>>(wave(a))); },
        phi);
#endif
}

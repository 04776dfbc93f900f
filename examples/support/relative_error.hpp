// How far an estimate is from the truth where no measurement can see a global phase.
#pragma once

#include <complex>

#include <xgrad/xgrad.hpp>

namespace examples {

using Complex = xgrad::Tensor<std::complex<double>>;

/// |x - truth| / |truth|, after x was multiplied by the phase factor that fits best.
inline double relative_error(Complex const& x, Complex const& truth) {
    xgrad::NoGradGuard no_grad;
    auto const overlap = sum(conj(x) * truth).item();
    return norm(truth - overlap / std::abs(overlap) * x).item() / norm(truth).item();
}

} // namespace examples

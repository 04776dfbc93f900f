// Activations of complex-valued networks as modules; as functions they are in xgrad.
//
// Shapes: those of the input; ModReLU takes [N, C, ...] or [C] with C = num_features.
// Gradients: dL/dRe + i dL/dIm, as in PyTorch, of any order, in backward and forward mode; see
// ops/complex_activation.hpp. The bias is real, and so is its gradient.
// Errors: another number of channels for ModReLU is a ShapeError, an undefined input an Error.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/ops/complex_activation.hpp>
#include <xgrad/tensor/create.hpp>

namespace xgrad::nn {

/// modrelu() with a learnable real bias for each of num_features channels (axis 1 of the input, or
/// its only axis), initially 0.
template <Differentiable T = std::complex<double>> struct ModReLU : Module<ModReLU<T>> {
    Parameter<precision_of<T>> bias; // [num_features]

    explicit ModReLU(std::size_t num_features)
        : bias(*this, "bias", zeros<precision_of<T>>({num_features})) {}
    Tensor<T> forward(Tensor<T> const& z) const {
        std::size_t const axis = z.dim() > 1 ? 1 : 0, n = bias.shape()[0];
        if (z.dim() == 0 || z.shape()[axis] != n)
            xgrad::detail::fail<ShapeError>(
                "ModReLU: a bias for ", n, " channels does not fit an input of shape ", z.shape());
        Axes along(z.dim(), 1);
        along[axis] = static_cast<std::ptrdiff_t>(n);
        return modrelu(z, reshape(bias.handle_of(), along));
    }
    std::string extra_repr() const override { return std::to_string(bias.shape()[0]); }
};
/// relu of the real and of the imaginary part.
struct CReLU : Module<CReLU> {
    template <Operand X> auto forward(X const& z) const { return crelu(z); }
};
/// z in the first quadrant, else 0.
struct ZReLU : Module<ZReLU> {
    template <Operand X> auto forward(X const& z) const { return zrelu(z); }
};
/// (1 + cos(arg z))/2 z.
struct Cardioid : Module<Cardioid> {
    template <Operand X> auto forward(X const& z) const { return cardioid(z); }
};

} // namespace xgrad::nn

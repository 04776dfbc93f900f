// Activations, dropout and flattening as modules. They take tensors of any real scalar type; Tanh
// and Sigmoid complex ones too.
#pragma once

#include <xgrad/nn/functional.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::nn {

/// x where it is positive, else 0.
struct ReLU : Module<ReLU> {
    template <Operand X> auto forward(X const& x) const { return relu(x); }
};
/// x where it is positive, else x times the slope.
struct LeakyReLU : Module<LeakyReLU> {
    double negative_slope;
    explicit LeakyReLU(double slope = 0.01) : negative_slope(slope) {}
    template <Operand X> auto forward(X const& x) const { return leaky_relu(x, negative_slope); }
    std::string extra_repr() const override {
        return "negative_slope=" + xgrad::detail::number_text(negative_slope);
    }
};
/// x where it is positive, else alpha (e^x - 1).
struct ELU : Module<ELU> {
    double alpha;
    explicit ELU(double a = 1) : alpha(a) {}
    template <Operand X> auto forward(X const& x) const { return elu(x, alpha); }
    std::string extra_repr() const override { return "alpha=" + xgrad::detail::number_text(alpha); }
};
/// How GELU computes the normal distribution function.
enum class Approximate : unsigned char { none, tanh };
/// x times the normal distribution function at x.
struct GELU : Module<GELU> {
    Approximate approximate;
    explicit GELU(Approximate how = Approximate::none) : approximate(how) {}
    template <Operand X> auto forward(X const& x) const {
        using Result = decltype(materialize_expression(gelu(x)));
        return approximate == Approximate::none ? Result(gelu(x))
                                                : Result(functional::gelu_tanh(x));
    }
    std::string extra_repr() const override {
        return approximate == Approximate::none ? "" : "approximate=tanh";
    }
};
/// x times the logistic function of x.
struct SiLU : Module<SiLU> {
    template <Operand X> auto forward(X const& x) const { return functional::silu(x); }
};
/// log(1 + e^(beta x)) / beta.
struct Softplus : Module<Softplus> {
    double beta;
    explicit Softplus(double b = 1) : beta(b) {}
    template <Operand X> auto forward(X const& x) const { return functional::softplus(x, beta); }
    std::string extra_repr() const override { return "beta=" + xgrad::detail::number_text(beta); }
};
struct Tanh : Module<Tanh> {
    template <Operand X> auto forward(X const& x) const { return tanh(x); }
};
/// Logistic function 1 / (1 + e^-x).
struct Sigmoid : Module<Sigmoid> {
    template <Operand X> auto forward(X const& x) const { return sigmoid(x); }
};
/// e^x, divided by its sum over an axis.
struct Softmax : Module<Softmax> {
    std::ptrdiff_t axis;
    explicit Softmax(std::ptrdiff_t over) : axis(over) {}
    template <Operand X> auto forward(X const& x) const { return functional::softmax(x, axis); }
    std::string extra_repr() const override { return "axis=" + std::to_string(axis); }
};
/// The logarithm of Softmax.
struct LogSoftmax : Module<LogSoftmax> {
    std::ptrdiff_t axis;
    explicit LogSoftmax(std::ptrdiff_t over) : axis(over) {}
    template <Operand X> auto forward(X const& x) const { return functional::log_softmax(x, axis); }
    std::string extra_repr() const override { return "axis=" + std::to_string(axis); }
};

/// In training mode each element is 0 with probability p, else multiplied by 1/(1 - p), which keeps
/// its expectation.
struct Dropout : Module<Dropout> {
    double p;
    explicit Dropout(double probability = 0.5);
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::dropout(x, p, is_training());
    }
    std::string extra_repr() const override { return "p=" + xgrad::detail::number_text(p); }
};
/// Dropout of whole channels of an input [N, C, H, W].
struct Dropout2d : Module<Dropout2d> {
    double p;
    explicit Dropout2d(double probability = 0.5);
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::dropout2d(x, p, is_training());
    }
    std::string extra_repr() const override { return "p=" + xgrad::detail::number_text(p); }
};
/// Flattens a range of axes to one; by default all but the first.
struct Flatten : Module<Flatten> {
    std::ptrdiff_t first, last;
    explicit Flatten(std::ptrdiff_t from = 1, std::ptrdiff_t to = -1) : first(from), last(to) {}
    template <Scalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::flatten(x, first, last);
    }
    XGRAD_FUNCTION std::string extra_repr() const override;
};

} // namespace xgrad::nn

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/nn/activation_modules.ipp>
#endif

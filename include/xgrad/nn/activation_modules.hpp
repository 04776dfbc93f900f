// Activations, dropout and flattening as modules. They take tensors of any real scalar type, and of
// complex ones too, but for ReLU, LeakyReLU, ELU, GELU and Softplus.
//
// Shapes: those of the input; Flatten makes one axis of several. Dropout2d takes [N, C, H, W].
// Gradients: of any order, in backward and forward mode; those of the functions in ops/ and in
// functional.hpp. At 0 that of ReLU is 0, of LeakyReLU the slope, of ELU alpha. Elements that were
// dropped get 0.
// Errors: a probability outside of [0, 1] and an unknown name of an approximation are an Error,
// another number of axes for Dropout2d is a ShapeError, an axis out of range an IndexError, an
// undefined input an Error.
#pragma once

#include <xgrad/nn/functional.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::nn {

/// The input unchanged.
struct Identity : Module<Identity> {
    template <Scalar T> Tensor<T> forward(Tensor<T> const& x) const { return x; }
};
/// x where it is positive, else 0.
struct ReLU : Module<ReLU> {
    template <Operand X> auto forward(X const& x) const { return relu(x); }
};
/// Options of LeakyReLU.
struct LeakyReLUOptions {
    double negative_slope = 0.01; // factor of negative elements
};
/// x where it is positive, else x times the slope.
struct LeakyReLU : Module<LeakyReLU> {
    using Options = LeakyReLUOptions;
    double negative_slope; // factor of negative elements
    explicit LeakyReLU(double slope) : negative_slope(slope) {}
    explicit LeakyReLU(Options const& o = {}) : negative_slope(o.negative_slope) {}
    template <Operand X> auto forward(X const& x) const { return leaky_relu(x, negative_slope); }
    std::string extra_repr() const override {
        return "negative_slope=" + xgrad::detail::number_text(negative_slope);
    }
};
/// Options of ELU.
struct ELUOptions {
    double alpha = 1; // for x towards -infinity the output tends to -alpha
};
/// x where it is positive, else alpha (e^x - 1).
struct ELU : Module<ELU> {
    using Options = ELUOptions;
    double alpha; // see ELUOptions
    explicit ELU(double a) : alpha(a) {}
    explicit ELU(Options const& o = {}) : alpha(o.alpha) {}
    template <Operand X> auto forward(X const& x) const { return elu(x, alpha); }
    std::string extra_repr() const override { return "alpha=" + xgrad::detail::number_text(alpha); }
};
/// Options of GELU.
struct GELUOptions {
    Choice<Approximate> approximate = Approximate::none; // or tanh, see functional::gelu_tanh()
};
/// x times the normal distribution function at x.
struct GELU : Module<GELU> {
    using Options = GELUOptions;
    Approximate approximate; // see GELUOptions
    explicit GELU(Choice<Approximate> how) : approximate(how) {}
    explicit GELU(Options const& o = {}) : approximate(o.approximate) {}
    template <Operand X> auto forward(X const& x) const { return functional::gelu(x, approximate); }
    std::string extra_repr() const override {
        return approximate == Approximate::none ? "" : "approximate=tanh";
    }
};
/// x times the logistic function of x.
struct SiLU : Module<SiLU> {
    template <Operand X> auto forward(X const& x) const { return functional::silu(x); }
};
/// Options of Softplus.
struct SoftplusOptions {
    double beta = 1; // factor of x; a larger one is closer to ReLU
};
/// log(1 + e^(beta x)) / beta.
struct Softplus : Module<Softplus> {
    using Options = SoftplusOptions;
    double beta; // see SoftplusOptions
    explicit Softplus(double b) : beta(b) {}
    explicit Softplus(Options const& o = {}) : beta(o.beta) {}
    template <Operand X> auto forward(X const& x) const { return functional::softplus(x, beta); }
    std::string extra_repr() const override { return "beta=" + xgrad::detail::number_text(beta); }
};
/// Hyperbolic tangent.
struct Tanh : Module<Tanh> {
    template <Operand X> auto forward(X const& x) const { return tanh(x); }
};
/// Logistic function 1 / (1 + e^-x).
struct Sigmoid : Module<Sigmoid> {
    template <Operand X> auto forward(X const& x) const { return sigmoid(x); }
};
/// Options of Softmax and LogSoftmax.
struct SoftmaxOptions {
    /// The axis of the sum; negative ones count from the end. It has to be given.
    std::ptrdiff_t dim;
};
/// e^x, divided by its sum over an axis.
struct Softmax : Module<Softmax> {
    using Options = SoftmaxOptions;
    std::ptrdiff_t axis; // the axis of the sum
    explicit Softmax(std::ptrdiff_t over) : axis(over) {}
    explicit Softmax(Options const& o) : axis(o.dim) {}
    template <Operand X> auto forward(X const& x) const { return functional::softmax(x, axis); }
    std::string extra_repr() const override { return "axis=" + std::to_string(axis); }
};
/// The logarithm of Softmax.
struct LogSoftmax : Module<LogSoftmax> {
    using Options = SoftmaxOptions;
    std::ptrdiff_t axis; // the axis of the sum
    explicit LogSoftmax(std::ptrdiff_t over) : axis(over) {}
    explicit LogSoftmax(Options const& o) : axis(o.dim) {}
    template <Operand X> auto forward(X const& x) const { return functional::log_softmax(x, axis); }
    std::string extra_repr() const override { return "axis=" + std::to_string(axis); }
};

/// Options of Dropout and Dropout2d.
struct DropoutOptions {
    /// Probability that an element, or a channel, becomes 0. Outside of [0, 1] it is an Error.
    double p = 0.5;
};
/// In training mode each element is 0 with probability p, else multiplied by 1/(1 - p), which keeps
/// its expectation.
struct Dropout : Module<Dropout> {
    using Options = DropoutOptions;
    double p; // probability that an element becomes 0
    explicit Dropout(double probability) : p(detail::checked_probability("Dropout", probability)) {}
    explicit Dropout(Options const& o = {}) : Dropout(o.p) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::dropout(x, p, is_training());
    }
    std::string extra_repr() const override { return "p=" + xgrad::detail::number_text(p); }
};
/// Dropout of whole channels of an input [N, C, H, W].
struct Dropout2d : Module<Dropout2d> {
    using Options = DropoutOptions;
    double p; // probability that a channel becomes 0
    explicit Dropout2d(double probability)
        : p(detail::checked_probability("Dropout2d", probability)) {}
    explicit Dropout2d(Options const& o = {}) : Dropout2d(o.p) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::dropout2d(x, p, is_training());
    }
    std::string extra_repr() const override { return "p=" + xgrad::detail::number_text(p); }
};
/// Options of Flatten.
struct FlattenOptions {
    /// `start_dim` is the first axis that is flattened, `end_dim` the last one. Negative ones count
    /// from the end. An axis that x does not have is an IndexError.
    std::ptrdiff_t start_dim = 1, end_dim = -1;
};
/// Flattens a range of axes to one; by default all but the first.
struct Flatten : Module<Flatten> {
    using Options = FlattenOptions;
    std::ptrdiff_t first, last; // `first` is the first axis that is flattened, `last` the last one
    explicit Flatten(std::ptrdiff_t from, std::ptrdiff_t to = -1) : first(from), last(to) {}
    explicit Flatten(Options const& o = {}) : first(o.start_dim), last(o.end_dim) {}
    template <Scalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::flatten(x, first, last);
    }
    XGRAD_FUNCTION std::string extra_repr() const override;
};

} // namespace xgrad::nn

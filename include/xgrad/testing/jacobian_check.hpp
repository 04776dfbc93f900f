// The checks of gradcheck(): gradients against differences, gradients from zeros, from undefined
// gradients, and of two equal passes.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/testing/differences.hpp>

namespace xgrad {

/// Options of gradcheck() and gradgradcheck().
struct GradcheckOptions {
    double eps = 1e-6;     // the step of the differences
    double atol = 1e-5;    // the tolerance of a derivative is atol + rtol |difference quotient|
    double rtol = 1e-3;    // see atol
    double nondet_tol = 0; // the tolerance between two passes over the same graph
    bool raise_exception = true;      // otherwise false is returned
    bool check_undefined_grad = true; // gradients must exist also if some outputs have none
};

namespace detail {

[[gnu::cold]] std::string text_of(std::complex<double> z, bool is_complex);

/// The indices of element i in row-major order.
[[gnu::cold]] Axes index_of(Shape const& shape, std::size_t i);

/// A Node whose gradient is always undefined.
class UndefinedGradientNode final : public Node {
public:
    explicit UndefinedGradientNode(Edge edge) : edge_(std::move(edge)) { set_edges(&edge_, 1); }
    void apply(std::span<AnyTensor>, std::span<AnyTensor>) override {}
    std::string name() const override { return "UndefinedGradientBackward"; }

private:
    Edge edge_;
};

/// All checks of gradcheck() for a function and inputs.
class Gradcheck {
public:
    Gradcheck(TensorFunction const& f, Tensors const& inputs, GradcheckOptions const& options);

    /// An empty text if all gradients are right, else what is wrong.
    std::string complaint();

private:
    AnyTensor const& input(std::size_t i) const { return x_[checked_[i]]; }
    Tensors inputs() const;

    /// If no output requires a gradient, no output may depend on an input.
    std::string dependence_without_gradients() const;

    Tensors analytical(JacobianRow const& row) const;

    /// The rows of the Jacobian, by backward passes and by differences.
    std::string mismatches();

    /// The entry of one block of the Jacobian with the largest error, and the number of wrong
    /// entries.
    struct Worst {
        std::size_t count = 0, of = 0, output_element = 0, input_element = 0;
        double excess = -1;
        std::complex<double> analytical, numerical;

        void look(
            std::size_t row, Numbers const& a, Numbers const& n, GradcheckOptions const& options);
    };

    std::string report(Worst const& w, std::size_t output, bool imaginary, std::size_t i) const;

    std::string misfit(AnyTensor const& gradient, std::size_t i) const;

    void note_nondeterminism(Numbers const& a, Numbers const& b);

    /// Gradients must be zero if the gradients of the outputs are.
    std::string gradients_from_zeros() const;

    /// Gradients from undefined gradients: of all outputs, and of one of several.
    std::string gradients_from_undefined() const;

    static Tensors zero_seeds(Tensors const& y);
    static bool is_zero(AnyTensor const& t);

    TensorFunction const& f_;
    GradcheckOptions const& options_;
    Tensors x_, y_;
    std::vector<std::size_t> checked_; // those inputs that require a gradient
    std::string nondeterminism_;
};

} // namespace detail
} // namespace xgrad

#include <xgrad/core/end_headers.inc> // last

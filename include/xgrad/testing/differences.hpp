// Derivatives of a function by differences, and by backward passes: two tables of numbers to be
// compared. All numbers are complex<double> here, so that this is compiled once for all scalar
// types.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/functional/evaluation.hpp>
#include <xgrad/tensor/parts.hpp>

namespace xgrad::detail {

using TensorFunction = std::function<Tensors(Tensors const&)>;
using Numbers = std::vector<std::complex<double>>;

/// Element i, in row-major order, of a floating-point tensor.
[[gnu::cold]] std::complex<double> number_at(AnyTensor const& t, std::size_t i);
[[gnu::cold]] void set_element(AnyTensor const& t, std::size_t i, std::complex<double> value);
/// All elements, zeros for an undefined gradient of `count` elements.
[[gnu::cold]] Numbers numbers_of(AnyTensor const& t, std::size_t count);

/// Tensors with the same values, each a leaf that requires a gradient if the original does. With
/// `own_memory` they have memory of their own, which may be changed.
[[gnu::cold]] Tensors leaves_like(Tensors const& x, bool own_memory);

/// Those results of a function that require a gradient.
[[gnu::cold]] Tensors differentiable_outputs(Tensors y);

/// The gradient of the real (or imaginary) part of one element of an output with respect to an
/// input.
struct JacobianRow {
    std::size_t output, element;
    bool imaginary;
};

/// Central differences with the step eps: the derivatives of all outputs of a function along the
/// real and imaginary parts of the elements of one input.
class Differences {
public:
    [[gnu::cold]] Differences(TensorFunction const& f, Tensors const& at, std::size_t input,
        Tensors const& outputs, double eps);
    /// The gradient of the real (imaginary) part of one element of an output.
    Numbers gradient(JacobianRow const& row) const;

private:
    static std::vector<Numbers> evaluated(
        TensorFunction const& f, Tensors const& x, Tensors const& like);

    // [element of the input][direction][output]
    std::vector<std::vector<std::vector<Numbers>>> along_;
};

} // namespace xgrad::detail

XGRAD_HAS_BODIES_ELSEWHERE(testing_gradcheck_hpp) // which includes this header

#include <xgrad/core/end_headers.inc> // last

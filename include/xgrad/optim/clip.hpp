// Bounds for gradients, between backward() and step().
//
// Gradients: changed in place in .grad, unrecorded. clip_grad_norm_() multiplies all of them by one
// real factor, clip_grad_value_() bounds both parts of a complex element.
// Errors: a p that is not positive, a negative bound, and a norm that is not finite if
// error_if_nonfinite, are an Error. A gradient of which several elements are one memory location is
// a ShapeError.
#pragma once

#include <cmath>
#include <limits>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// Scales all gradients by one factor, so that their norm (as of one vector, the p-norm of the
/// moduli of all elements) is at most max_norm. Returns the norm before. Where it is not finite,
/// the gradients become NaN or zero, as in PyTorch, or, if an error is asked for, an Error is
/// thrown and no gradient changes.
double clip_grad_norm_(
    Parameters const& parameters, double max_norm, double p = 2, bool error_if_nonfinite = false);

/// Clamps each element of all gradients to [-bound, bound]; of a complex element both parts.
void clip_grad_value_(Parameters const& parameters, double bound);

} // namespace xgrad::optim

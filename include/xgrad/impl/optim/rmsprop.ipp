// Bodies of rmsprop.hpp.
#pragma once

#include <xgrad/optim/rmsprop.hpp>

namespace xgrad::optim::detail {

XGRAD_FUNCTION void RMSpropRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("epsilon value", o.eps);
    check_not_negative("momentum value", o.momentum);
    check_not_negative("weight_decay value", o.weight_decay);
    check_not_negative("alpha value", o.alpha);
}

} // namespace xgrad::optim::detail

// Bodies of adagrad.hpp.
#pragma once

#include <xgrad/optim/adagrad.hpp>

namespace xgrad::optim::detail {

XGRAD_FUNCTION void AdagradRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("lr_decay value", o.lr_decay);
    check_not_negative("weight_decay value", o.weight_decay);
    check_not_negative("initial_accumulator_value value", o.initial_accumulator_value);
    check_not_negative("epsilon value", o.eps);
}

} // namespace xgrad::optim::detail

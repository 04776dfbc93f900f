// Bodies of sgd.hpp.
#pragma once

#include <xgrad/optim/sgd.hpp>

namespace xgrad::optim::detail {

XGRAD_FUNCTION void SGDRule::check(Options const& o) {
    check_not_negative("learning rate", o.lr);
    check_not_negative("momentum", o.momentum);
    check_not_negative("weight_decay", o.weight_decay);
    if (o.nesterov && (o.momentum <= 0 || o.dampening != 0))
        fail("Nesterov momentum requires a momentum and zero dampening");
}

} // namespace xgrad::optim::detail

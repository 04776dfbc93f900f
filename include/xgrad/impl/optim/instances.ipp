// Instances of templates that a program with XGRAD_SEPARATE_COMPILATION compiles once. optim.hpp
// includes this file last.
#pragma once

#include <xgrad/optim/adagrad.hpp>
#include <xgrad/optim/adam.hpp>
#include <xgrad/optim/rmsprop.hpp>
#include <xgrad/optim/sgd.hpp>

namespace xgrad::optim {

template class Optimizing<detail::AdagradRule>;
template class Optimizing<detail::AdamRule<AdamOptions, false>>;
template class Optimizing<detail::AdamRule<AdamWOptions, true>>;
template class Optimizing<detail::RMSpropRule>;
template class Optimizing<detail::SGDRule>;

} // namespace xgrad::optim

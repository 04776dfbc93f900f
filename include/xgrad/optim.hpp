// Optimisers and schedules of their learning rates. Not part of xgrad.hpp, so that a program
// without them compiles faster.
#ifndef XGRAD_OPTIM_HPP
#define XGRAD_OPTIM_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/optim/adagrad.hpp>
#include <xgrad/optim/adam.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/lbfgs.hpp>
#include <xgrad/optim/rmsprop.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/optim/sgd.hpp>
#include <xgrad/optim/step_in_backward.hpp>
#include <xgrad/xgrad.hpp>
#ifdef XGRAD_SEPARATE_COMPILATION
#    include <xgrad/impl/optim/instances.inc>
#endif

XGRAD_HAS_BODIES_ELSEWHERE(optim_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/optim.ipp>
#endif

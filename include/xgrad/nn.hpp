// Modules, layers, activations and losses. Not part of xgrad.hpp, so that a program without them
// compiles faster.
#ifndef XGRAD_NN_HPP
#define XGRAD_NN_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/attention.hpp>
#include <xgrad/nn/complex_activation_modules.hpp>
#include <xgrad/nn/conv_modules.hpp>
#include <xgrad/nn/cross_entropy.hpp>
#include <xgrad/nn/embedding.hpp>
#include <xgrad/nn/initializers.hpp>
#include <xgrad/nn/layer_norm.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/nn/loss_modules.hpp>
#include <xgrad/nn/module_list.hpp>
#include <xgrad/nn/normalization.hpp>
#include <xgrad/nn/pooling_modules.hpp>
#include <xgrad/nn/recurrent.hpp>
#include <xgrad/nn/sequential.hpp>
#include <xgrad/nn/slot.hpp>
#include <xgrad/nn/transformer.hpp>
#include <xgrad/xgrad.hpp>
#ifdef XGRAD_SEPARATE_COMPILATION
#    include <xgrad/impl/nn/instances.inc>
#endif

#undef XGRAD_OF_EXPRESSION

XGRAD_HAS_BODIES_ELSEWHERE(nn_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/nn.ipp>
#endif

// The bodies of xgrad.hpp, which includes this file where it includes its bodies: core/config.hpp.
#pragma once

#include <xgrad/core/begin_bodies.inc> // first

#include <xgrad/impl/autograd/any_tensor.ipp>
#include <xgrad/impl/autograd/engine.ipp>
#include <xgrad/impl/autograd/local_graph.ipp>
#include <xgrad/impl/autograd/node.ipp>
#include <xgrad/impl/autograd/run_node.ipp>
#include <xgrad/impl/autograd/view.ipp>
#include <xgrad/impl/core/array.ipp>
#include <xgrad/impl/core/call_stack.ipp>
#include <xgrad/impl/core/parallel.ipp>
#include <xgrad/impl/core/shape.ipp>
#include <xgrad/impl/core/stream.ipp>
#include <xgrad/impl/dual.ipp>
#include <xgrad/impl/expr/flat_expression.ipp>
#include <xgrad/impl/functional/checkpoint.ipp>
#include <xgrad/impl/functional/evaluation.ipp>
#include <xgrad/impl/functional/jacobian.ipp>
#include <xgrad/impl/functional/vjp.ipp>
#include <xgrad/impl/fuse/kernel_call.ipp>
#include <xgrad/impl/fuse/nd_loop.ipp>
#include <xgrad/impl/fuse/nd_loop_plan.ipp>
#include <xgrad/impl/kernels/fft.ipp>
#include <xgrad/impl/kernels/gemm.ipp>
#include <xgrad/impl/ops/shaping.ipp>
#include <xgrad/impl/tensor/backward.ipp>
#include <xgrad/impl/tensor/create.ipp>
#include <xgrad/impl/tensor/function_node.ipp>
#include <xgrad/impl/tensor/fused_gradient_node.ipp>
#include <xgrad/impl/tensor/fused_node.ipp>
#include <xgrad/impl/tensor/inplace.ipp>
#include <xgrad/impl/tensor/parts.ipp>
#include <xgrad/impl/tensor/record.ipp>
#if defined(XGRAD_SEPARATE_COMPILATION) && !defined(XGRAD_INSTANCES_ELSEWHERE)
#    include <xgrad/impl/instances.ipp>
#endif

XGRAD_HAS_BODIES_HERE(xgrad_hpp)

#include <xgrad/core/end_headers.inc> // last

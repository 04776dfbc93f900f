// Manifolds, minimisation on them, and parameters that optimisers keep on them. Not part of
// xgrad.hpp. Without a LAPACK it has the manifolds of vectors only.
#ifndef XGRAD_MANIFOLD_HPP
#define XGRAD_MANIFOLD_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/manifold/check_manifold.hpp>
#include <xgrad/manifold/minimize.hpp>
#include <xgrad/manifold/on_parameter.hpp>
#include <xgrad/manifold/vector_manifolds.hpp>
#include <xgrad/xgrad.hpp>
#if XGRAD_USE_LAPACK
#    include <xgrad/manifold/matrix_manifolds.hpp>
#endif

#include <xgrad/core/end_headers.inc> // last

#endif

// Linear systems, decompositions and functions of matrices, and einsum. Not part of xgrad.hpp: it
// needs a LAPACK, and a program without it compiles faster.
#pragma once

#include <xgrad/core/hide_macros.inc> // first

#include <xgrad/linalg/cholesky.hpp>
#include <xgrad/linalg/eigh.hpp>
#include <xgrad/linalg/einsum.hpp>
#include <xgrad/linalg/lu.hpp>
#include <xgrad/linalg/matrix_exp.hpp>
#include <xgrad/linalg/qr.hpp>
#include <xgrad/linalg/svd.hpp>
#include <xgrad/linalg/triangular.hpp>
#include <xgrad/xgrad.hpp>

#include <xgrad/core/restore_macros.inc> // last

// Linear systems, decompositions and functions of matrices, and einsum. Not part of xgrad.hpp: it
// needs a LAPACK, and a program without it compiles faster.
#ifndef XGRAD_LINALG_HPP
#define XGRAD_LINALG_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/linalg/cholesky.hpp>
#include <xgrad/linalg/eigh.hpp>
#include <xgrad/linalg/einsum.hpp>
#include <xgrad/linalg/lu.hpp>
#include <xgrad/linalg/matrix_exp.hpp>
#include <xgrad/linalg/qr.hpp>
#include <xgrad/linalg/svd.hpp>
#include <xgrad/linalg/triangular.hpp>
#include <xgrad/xgrad.hpp>

namespace xgrad::linalg {
// Of NumPy's and PyTorch's linalg.
using xgrad::cross;
using xgrad::diagonal;
using xgrad::matmul;
using xgrad::norm;
using xgrad::outer;
using xgrad::trace;
} // namespace xgrad::linalg

namespace xgrad {
// Found by their arguments: inv(a).
using linalg::cholesky;
using linalg::cholesky_solve;
using linalg::det;
using linalg::eigh;
using linalg::eigvalsh;
using linalg::inv;
using linalg::matrix_exp;
using linalg::matrix_power;
using linalg::qr;
using linalg::slogdet;
using linalg::solve;
using linalg::solve_triangular;
using linalg::svd;
using linalg::svdvals;
} // namespace xgrad

XGRAD_HAS_BODIES_ELSEWHERE(linalg_hpp)

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/linalg.ipp>
#endif

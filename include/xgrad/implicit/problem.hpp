// Implicit equations F(x, theta) = 0 and the options of their solvers.
//
// Shapes: F has the shapes of x. With rows the first axis of each tensor of x numbers independent
// problems.
// Gradients: x(theta) has those of the implicit function theorem: dx = -(dF/dx)^-1 dF/dtheta.
// Errors: ConvergenceError where a solver stops before it has a solution, and where a derivative is
// wanted at a point that is none.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <xgrad/core/choice.hpp>
#include <xgrad/functional/evaluation.hpp>
#include <xgrad/functional/forward_pass.hpp>

namespace xgrad {

/// A solver did not reach its tolerance, or a point is no solution.
struct ConvergenceError : Error {
    using Error::Error;
};

/// How linear systems are solved. `automatic` takes a matrix for at most 64 real unknowns, and
/// beyond that `cg` in argmin() and `gmres` in the others.
enum class LinearMethod {
    automatic,
    dense, // a matrix, whose columns are products with unit vectors
    cg,    // conjugate gradients, for a symmetric (Hermitian) positive definite operator
    gmres, // for any operator
    lsmr   // for any operator; also makes products with the adjoint
};
constexpr std::string_view choice_names(LinearMethod) {
    return "linear: automatic dense cg gmres lsmr";
}

/// Options of root(), fixed_point(), argmin(), linear_solve() and implicit(). A 0 stands for a
/// default, which depends on the scalar type with unit roundoff eps.
struct ImplicitOptions {
    /// x is a solution where |F(x)| <= tol |J s|: J is dF/dx, and s changes each x_i by x_scale +
    /// |x_i|, with either sign. Default: eps^(2/3); in implicit(), which only checks, eps^(1/3).
    double tol = 0;
    double x_scale = 1;             // the size of changes of x that are not small
    std::size_t max_iterations = 0; // default: 100, in fixed_point() 1000
    std::size_t anderson = 5;       // steps that fixed_point() combines; 0 iterates x = f(x)
    Choice<LinearMethod> linear = LinearMethod::automatic; // of all systems, also of derivatives
    /// A linear system is solved where |A x - b| <= linear_tol (|b| + |A| |x|). Default: eps^(3/4).
    double linear_tol = 0;
    std::size_t max_linear_iterations = 0; // default: 10 times the number of unknowns
    std::size_t restart = 50;              // of gmres
    /// The first axis of each tensor of x numbers independent problems, which are solved side by
    /// side: each has its own steps and its own convergence.
    bool rows = false;
};

namespace detail {

/// An equation residual(x, theta) = 0 between lists of tensors.
struct ImplicitProblem {
    using Function = std::function<Tensors(Tensors const& x, Tensors const& theta)>;

    std::string_view name;  // of the public function, for messages
    Function function = {}; // of the user
    Function residual = {};
    ImplicitOptions options = {};
    bool is_checked = false;   // that x is a solution, where a derivative is computed
    double check_tol = 0;      // for that: as ImplicitOptions::tol, or the default of implicit()
    bool is_symmetric = false; // dF/dx is a Hessian
};

/// The equation of implicit(), `is_given`, or of another function: f(x) = 0, f(x) = x, grad f(x) =
/// 0, f(x) = b, where theta begins with b.
XGRAD_LAZY ImplicitProblem root_problem(std::string_view name, ImplicitProblem::Function f,
    ImplicitOptions const& options, bool is_given = false);
XGRAD_LAZY ImplicitProblem fixed_point_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options);
XGRAD_LAZY ImplicitProblem argmin_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options);
XGRAD_LAZY ImplicitProblem linear_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options);

/// Solutions, without a graph.
XGRAD_LAZY Tensors find_root(ImplicitProblem const& p, Tensors const& x, Tensors const& theta);
XGRAD_LAZY Tensors find_fixed_point(
    ImplicitProblem const& p, Tensors const& x, Tensors const& theta);
XGRAD_LAZY Tensors find_minimum(ImplicitProblem const& p, Tensors const& x, Tensors const& theta);
XGRAD_LAZY Tensors solve_system(ImplicitProblem const& p, Tensors const& b, Tensors const& theta);

/// The solution x as a function of theta and of all that the residual captures. `is_given`: x comes
/// from the user and is checked first.
XGRAD_LAZY Tensors as_function_of(
    ImplicitProblem p, Tensors x, Tensors const& theta, bool is_given = false);

} // namespace detail
} // namespace xgrad

// least_squares(): the parameters for which half the sum of the squared moduli of residuals is
// least.
//
// Shapes: the parameters keep theirs; the residuals have any, which must not change between calls.
// A covariance has a row and a column for each real number of the parameters, two for a complex
// one.
// Gradients: `grad` of the result is that of the cost, dL/dRe + i dL/dIm. The result itself is not
// recorded: where it depends on captured tensors, bounds or fixed parameters that are
// differentiated, its derivative is a GraphError.
// Errors: ShapeError for options of other shapes than the parameters, and for residuals whose
// shapes change; Error for residuals that, or whose derivatives, are not finite at the start, for
// holomorphic = true where they are not, for bounds that exclude the start, and for a singular
// system in the method gauss_newton and in covariance(). A residual that does not take the
// parameters does not compile.
#pragma once

#include <limits>
#include <string>

#include <xgrad/core/callable.hpp>
#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/least_squares/robust_loss.hpp>

namespace xgrad {

/// How least_squares() finds a step d.
/// - lm: Levenberg and Marquardt's method, as Moré wrote it for MINPACK: d minimises |J d + r|
/// where
///   |D d| is at most a radius. A step is accepted where the cost decreases by 1e-4 of what this
///   linear model predicts. Let rho be the quotient of both: where rho < 0.25 the radius becomes
///   shorter, by 0.1 to 0.5; where rho > 0.75 or |D d| was below it, it becomes 2 |D d|.
/// - lmaccel: lm with geodesic acceleration (Transtrum and Sethna, 2012; GSL's lmaccel): a step
///   follows the parabola along which the residuals change evenly, for one more call of the
///   residual, and is not taken where the parabola bends too much. For curved valleys.
/// - dogleg: Powell's: the step of Gauss and Newton, shortened towards the gradient to the radius.
/// - gauss_newton: the step of Gauss and Newton, halved until the cost decreases.
enum class LeastSquaresMethod { lm, lmaccel, dogleg, gauss_newton };
constexpr std::string_view choice_names(LeastSquaresMethod) {
    return "method: lm lmaccel dogleg gauss_newton";
}
/// How the linear least squares problem of a step is solved.
/// - automatic: qr; of residuals by rows cholesky, or cg where the factors would be large.
/// - qr: by Householder transformations of the Jacobian; with column pivoting where a column nearly
///   depends on others. Not by rows.
/// - cholesky: by the normal equations: faster, and half as many digits. By rows they are sparse.
/// - cg: by conjugate gradients with products J v and J^H w; no Jacobian is stored. By rows on the
///   Schur complement, preconditioned by its incomplete Cholesky factor.
enum class NormalSolver { automatic, qr, cholesky, cg };
constexpr std::string_view choice_names(NormalSolver) {
    return "linear_solver: automatic qr cholesky cg";
}

namespace detail {
template <class Scalars> inline constexpr bool has_integers = false;
template <class... T>
inline constexpr bool has_integers<std::tuple<T...>> = (std::same_as<T, std::int64_t> || ...);
} // namespace detail

/// A number for each parameter: one for all of them, or a structure like theirs, in which a tensor
/// may have the shape of its parameter or that of a number. A std::tuple may have numbers in the
/// place of tensors, and a list {1., 2.} is a vector.
class ForParameters {
public:
    ForParameters() = default;
    ForParameters(double number) : tensors_{Tensor<double>(number)}, is_number_(true) {}
    template <detail::StructureLike X> ForParameters(X const& x) : tensors_(detail::erased(x)) {}
    ForParameters(std::initializer_list<double> numbers)
        : tensors_{Tensor<double>(numbers)}, is_number_(numbers.size() == 1) {}
    template <class... X>
        requires((detail::StructureLike<X> || std::is_arithmetic_v<X>) && ...)
    ForParameters(std::tuple<X...> const& x)
        : tensors_(detail::erased(std::apply(
              [](auto const&... each) { return std::tuple(detail::tensor_input(each)...); }, x))) {}

    /// The tensors of the structure, or one tensor with the number; none where nothing is given.
    detail::Tensors const& tensors() const noexcept { return tensors_; }
    bool is_number() const noexcept { return is_number_; }

private:
    detail::Tensors tensors_;
    bool is_number_ = false;
};

/// What a callback of least_squares() gets after each step.
struct LeastSquaresStep {
    std::size_t nit;      // steps, this one included
    std::size_t nfev;     // calls of the residual so far
    double cost;          // of the parameters that the next step starts from
    double gradient_norm; // the largest element there
    double damping;       // 1 / radius; of gauss_newton the number by which a step is divided
    double step_norm;     // |D d|
    bool accepted;        // false where the cost did not decrease enough
};

/// Options of least_squares(), with SciPy's names.
struct LeastSquaresOptions {
    Choice<LeastSquaresMethod> method = LeastSquaresMethod::lm;   // see there
    Choice<NormalSolver> linear_solver = NormalSolver::automatic; // see there
    /// Each stops where what it is for is smaller. Steps are those that were accepted, and the full
    /// step (of Gauss and Newton) from their end must be as small: a step may be short for another
    /// reason.
    double ftol = 1e-8;       // by how much of the cost a step decreases it
    double xtol = 1e-8;       // |D d| of a step, relatively to |D x|
    double gtol = 1e-8;       // |cos| between the residuals and each column of J
    double gtol_absolute = 0; // the largest element of the gradient
    std::size_t max_nfev = 0; // calls of the residual; 0: 200 for each real parameter
    RobustLoss loss = {};     // each residual r costs f_scale^2 rho(|r|^2 / f_scale^2) / 2
    double f_scale = 1;       // the modulus from which on a residual counts as an outlier
    ForParameters lower = {}; // bounds; of complex numbers for both of their parts
    ForParameters upper = {}; // likewise
    ForParameters fixed = {}; // 1 or true for parameters that stay as they are
    /// How much each parameter may change: D is its inverse. Without it D has the norms of the
    /// Jacobian's columns, the largest so far (SciPy's "jac"); with linear_solver cg 1.
    ForParameters x_scale = {};
    /// All parameters and residuals are complex, and no conj, abs or real part of a parameter is
    /// taken: a step solves for n complex numbers in the place of 2 n real ones. Without a value it
    /// is measured once, at a point beside the start; true is checked at the start.
    std::optional<bool> holomorphic = {};
    StepCallback<LeastSquaresStep> callback = {}; // called after each step; false ends the fit
};

namespace detail {

/// A call of the residual for these parameters; what is recorded is kept.
struct ResidualCall {
    Tensors inputs, outputs;
    std::uint64_t before; // as in Evaluation
};
/// What least_squares() found, in tensors of any type.
struct LeastSquaresSolution {
    Tensors x, fun, grad;
    double cost = 0, optimality = 0;
    std::size_t nfev = 0, njev = 0, nit = 0;
    bool success = false;
    std::string message;
    std::function<Tensor<double>(std::optional<double>)> covariance;
};
class RowSolver;
/// `rows`: the solver of residuals by rows.
LeastSquaresSolution minimize_squares(std::function<ResidualCall(TensorSpan)> const& residual,
    TensorSpan x0, LeastSquaresOptions const& options, std::shared_ptr<RowSolver> rows = {});

} // namespace detail

/// What least_squares() returns, with SciPy's names.
template <class X, class R> struct LeastSquaresResult {
    X x;                      // the parameters
    R fun;                    // the residuals there
    X grad;                   // the gradient of the cost, also for fixed parameters
    double cost = 0;          // half the sum of squared moduli, or of losses
    double optimality = 0;    // the largest element of the gradient of free parameters
    std::size_t nfev = 0;     // calls of the residual
    std::size_t njev = 0;     // Jacobians
    std::size_t nit = 0;      // steps
    bool success = false;     // false where max_nfev, or no further decrease, ended it
    std::string message = {}; // why it stopped

    /// The covariance of the parameters, s^2 (J^T J)^-1, for residuals whose real numbers are
    /// independent with the variance s^2: the given one, or the sum of squares divided by the
    /// degrees of freedom. A complex parameter has two rows and columns, for its real and its
    /// imaginary part; those of fixed parameters, and of those that a bound holds, are 0. With a
    /// loss J has its weights.
    Tensor<double> covariance(std::optional<double> variance = {}) const {
        return covariance_(variance);
    }

    std::function<Tensor<double>(std::optional<double>)> covariance_{}; // what covariance() calls
};

/// Minimises half the sum of |r|^2 over all residuals r of residual(x), from x0 on. `x0` is a
/// Tensor, an expression, a number, or a structure of tensors, real and complex; the residual
/// returns any structure. A step solves the linear least squares problem of the Jacobian J, which
/// comes from forward mode with eight tangents in a pass, or from reverse mode where there are
/// fewer residuals than parameters. A residual r that is not holomorphic has J d + K conj(d) = -r
/// to solve, in real numbers.
template <class F, class X>
auto least_squares(F&& residual, X const& x0, LeastSquaresOptions const& options = {}) {
    if constexpr ((detail::TransformInput<X> && !detail::StructureLike<X>) ||
                  requires { requires !std::same_as<X, detail::structure<X>>; })
        return least_squares(std::forward<F>(residual), detail::tensor_input(x0), options);
    else {
        using Of = detail::Transform<F, X>;
        if constexpr (Of::fits) {
            using Result = detail::structure<typename Of::Result>;
            static_assert(detail::all_differentiable<Result>,
                "least_squares: the residual must return tensors of real or complex numbers");
            std::optional<Result> fun;
            auto const call = [&](detail::TensorSpan x) {
                return Of::run("least_squares", residual, detail::with_tensors(x0, x),
                    {.create_graph = false}, [&](auto const& e, auto const&, auto const& out) {
                        if (!fun) fun.emplace(detail::without_tensors(out));
                        return detail::ResidualCall{
                            detail::listed(e.inputs), detail::listed(e.outputs), e.before};
                    });
            };
            auto s = detail::minimize_squares(call, detail::erased(x0), options);
            return LeastSquaresResult<X, Result>{detail::with_tensors(x0, s.x),
                detail::with_tensors(*fun, s.fun), detail::with_tensors(x0, s.grad), s.cost,
                s.optimality, s.nfev, s.njev, s.nit, s.success, std::move(s.message),
                std::move(s.covariance)};
        } else return LeastSquaresResult<X, X>{x0, x0, x0}; // was reported
    }
}
/// From a list of numbers: least_squares(f, {1., 2.}).
template <class F>
auto least_squares(
    F&& residual, std::initializer_list<double> x0, LeastSquaresOptions const& options = {}) {
    return least_squares(std::forward<F>(residual), Tensor<double>(x0), options);
}
detail::no_such_option_or_wrong_arguments least_squares(...) = delete; // f, inputs(a), options

} // namespace xgrad

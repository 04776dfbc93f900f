// L-BFGS: quasi-Newton steps computed from the most recent gradients (Liu and Nocedal, 1989), with
// a line search for the strong Wolfe conditions.
//
// Shapes: all parameters together are one vector of real elements.
// Gradients: read from .grad, zeros for a parameter without one; the update records none. Complex
// parameters count as pairs of real numbers.
// Errors: step() without a closure, options out of range, an unknown line search, and a state of
// another optimiser are an Error; a parameter that is no leaf is a GraphError, one of integers a
// TypeError; a group other than 0 is an IndexError.
#pragma once

#include <deque>
#include <functional>

#include <xgrad/core/choice.hpp>
#include <xgrad/optim/line_search.hpp>
#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

/// How LBFGS finds the length of a step: `none` takes `lr`, `strong_wolfe` searches for a point
/// with the strong Wolfe conditions.
enum class LineSearch { none, strong_wolfe };
constexpr std::string_view choice_names(LineSearch) { return "line_search_fn: none strong_wolfe"; }

/// Options of LBFGS.
struct LBFGSOptions {
    double lr = 1; // Length of a step, or where its search begins. A negative one is an Error.
    /// One step() makes at most `max_iter` iterations and about `max_eval` calls of the closure; 0
    /// means 5/4 of max_iter.
    std::int64_t max_iter = 20, max_eval = 0;
    /// step() ends when no element of the gradient exceeds tolerance_grad, or when the loss, or
    /// each parameter, changes by less than tolerance_change.
    double tolerance_grad = 1e-7, tolerance_change = 1e-9;
    /// How many pairs (step, change of the gradient) are stored.
    std::int64_t history_size = 100;
    Choice<LineSearch> line_search_fn = LineSearch::none; // "none" or "strong_wolfe"
};

/// Minimises a function of all parameters: `optimizer.step(closure)`, where the closure clears the
/// gradients, computes the loss, calls backward() and returns the loss. Parameters may have several
/// real and complex types; together they are one vector of real elements, so that the inner product
/// is Re <a, b>. There is one parameter group. If the closure throws, the parameters have the
/// values that they had before the iteration.
class LBFGS final : public Optimizer {
public:
    using Options = LBFGSOptions;

    explicit LBFGS(Parameters parameters, Options const& options = {})
        : options_(options), parameters_(std::move(parameters)) {
        detail::check_parameters(parameters_, {});
        check(options);
    }

    /// Throws Error, and runs no hook: L-BFGS needs a closure.
    void step() { Optimizer::step(); }
    /// Iterates until one of the options ends it. Returns the first loss that the closure returned.
    template <class F>
        requires std::invocable<F&>
    auto step(F&& closure) {
        auto const call = [&] {
            EnableGradGuard const on;
            return closure();
        };
        auto const as_double = [](auto const& loss) {
            if constexpr (requires { loss.item(); }) return static_cast<double>(loss.item());
            else return static_cast<double>(loss);
        };
        Optimizer::before_step();
        auto first = call();
        iterate(as_double(first), [&] { return as_double(call()); });
        after_step();
        return first;
    }

    /// See Optimizer; options() may be changed between steps.
    std::size_t group_count() const noexcept override { return 1; }
    std::vector<AnyTensor> const& parameters(std::size_t group = 0) const override {
        if (group) detail::fail<IndexError>("LBFGS has one group of parameters");
        return parameters_;
    }
    Options& options() noexcept { return options_; }
    double& lr(std::size_t = 0) override { return options_.lr; }
    double* momentum(std::size_t) override { return nullptr; }
    /// The number of iterations, and of calls of closures.
    std::int64_t iterations() const noexcept { return state_.iterations; }
    std::int64_t evaluations() const noexcept { return state_.evaluations; }

private:
    /// A step without a closure throws before its hooks run, also that of an Optimizer&.
    void before_step() override {
        detail::fail("LBFGS: step() needs a closure that computes the loss and its gradients, for "
                     "it is called several times");
    }
    void do_step() override { before_step(); }
    XGRAD_FUNCTION StateDict do_state_dict() const override;
    XGRAD_FUNCTION void do_load_state_dict(StateDict const& state) override;

    using Vector = std::vector<double>;
    /// A step, the change of the gradient along it, and their inner product.
    struct Pair {
        Vector step, change;
        double curvature = 0;
    };
    struct State {
        std::int64_t iterations = 0, evaluations = 0;
        /// The initial estimate of the inverse Hessian, a multiple of the identity.
        double scale = 1;
        /// The last step and the gradient at its start; empty before the first step. The pair is
        /// complete once the gradient at its end is known.
        Vector step = {}, gradient = {};
        std::deque<Pair> history = {};
    };

    static void check(Options const& o);
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("max_iter", o.max_iter), f("max_eval", o.max_eval),
            f("tolerance_grad", o.tolerance_grad), f("tolerance_change", o.tolerance_change),
            f("history_size", o.history_size);
        LineSearch search = o.line_search_fn;
        f("line_search", search);
        o.line_search_fn = search;
    }
    static std::string at(std::size_t i, char const* what) {
        return "history." + std::to_string(i) + "." + what;
    }
    static AnyTensor vector_tensor(Vector const& v);
    Vector vector_in(StateDict const& state, std::string const& name) const;

    static double dot(Vector const& a, Vector const& b);
    static double largest(Vector const& v);
    /// y += a x.
    static void add(Vector& y, double a, Vector const& x);

    /// Concatenates all parameters, or their gradients (zeros for a parameter without one), to one
    /// vector.
    Vector gathered(bool gradients) const;
    /// Sets the parameters to x + t d.
    void move(Vector const& x, double t, Vector const& d) const;

    /// Stores the last step with the change of the gradient along it, unless the curvature is
    /// negative there.
    void remember(Vector const& gradient);
    /// The descent direction: minus the approximate inverse Hessian times the gradient, by the
    /// two-loop recursion over the stored pairs.
    Vector direction(Vector const& gradient) const;

    void iterate(double loss, std::function<double()> const& closure);

    Options options_;
    std::vector<AnyTensor> parameters_;
    State state_;
};

} // namespace xgrad::optim

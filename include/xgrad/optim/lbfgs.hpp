// L-BFGS: quasi-Newton steps computed from the most recent gradients (Liu and Nocedal, 1989), with
// a line search for the strong Wolfe conditions.
#pragma once

#include <deque>
#include <functional>

#include <xgrad/optim/line_search.hpp>
#include <xgrad/optim/optimizer.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::optim {

enum class LineSearch { none, strong_wolfe };

struct LBFGSOptions {
    double lr = 1;
    /// The largest numbers of iterations in one step() and of calls of the closure; 0 means 5/4 of
    /// max_iter.
    std::int64_t max_iter = 20, max_eval = 0;
    /// step() ends when no element of the gradient exceeds tolerance_grad, or when the loss, or
    /// each parameter, changes by less than tolerance_change.
    double tolerance_grad = 1e-7, tolerance_change = 1e-9;
    /// How many pairs (step, change of the gradient) are stored.
    std::int64_t history_size = 100;
    LineSearch line_search = LineSearch::none;
};

/// Minimises a function of all parameters: `optimizer.step(closure)`, where the closure clears the
/// gradients, computes the loss, calls backward() and returns the loss. Parameters may have several
/// real and complex types; together they are one vector of real elements, so that the inner product
/// is Re <a, b>. There is one parameter group. If the closure throws, the parameters have the
/// values that they had before the iteration.
class LBFGS final : public Optimizer {
public:
    using Options = LBFGSOptions;

    explicit LBFGS(std::vector<AnyTensor> parameters, Options const& options = {})
        : options_(options), parameters_(std::move(parameters)) {
        detail::check_parameters(parameters_, {});
        check(options);
    }

    /// Throws Error: L-BFGS needs a closure.
    void step() override {
        detail::fail("LBFGS: step() needs a closure that computes the loss and its gradients, for "
                     "it is called several times");
    }
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
        auto first = call();
        iterate(as_double(first), [&] { return as_double(call()); });
        return first;
    }

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

    StateDict state_dict() const override {
        StateDict all;
        auto options = options_;
        each_option(options, [&](char const* name, auto const& v) {
            all.set(std::string("options.") + name, detail::number_tensor(static_cast<double>(v)));
        });
        all.set("iterations", detail::number_tensor(static_cast<double>(state_.iterations)));
        all.set("evaluations", detail::number_tensor(static_cast<double>(state_.evaluations)));
        all.set("scale", detail::number_tensor(state_.scale));
        all.set("step", vector_tensor(state_.step));
        all.set("gradient", vector_tensor(state_.gradient));
        for (std::size_t i = 0; i < state_.history.size(); ++i) {
            all.set(at(i, "step"), vector_tensor(state_.history[i].step));
            all.set(at(i, "change"), vector_tensor(state_.history[i].change));
        }
        return all;
    }
    void load_state_dict(StateDict const& state) override {
        auto options = options_;
        State fresh;
        std::size_t used = 5;
        each_option(options, [&](char const* name, auto& v) {
            v = detail::value_in<std::remove_reference_t<decltype(v)>>(
                state, std::string("options.") + name),
            ++used;
        });
        check(options);
        fresh.iterations = detail::value_in<std::int64_t>(state, "iterations");
        fresh.evaluations = detail::value_in<std::int64_t>(state, "evaluations");
        fresh.scale = detail::number_in(state, "scale");
        fresh.step = vector_in(state, "step"), fresh.gradient = vector_in(state, "gradient");
        if (!fresh.step.empty() && fresh.gradient.empty())
            detail::fail("load_state_dict: there is a 'step', but no 'gradient' at its beginning");
        for (std::size_t i = 0; state.contains(at(i, "step")); ++i, used += 2) {
            Pair pair{vector_in(state, at(i, "step")), vector_in(state, at(i, "change"))};
            if (pair.step.empty() || pair.change.empty())
                detail::fail(
                    "load_state_dict: '", at(i, "step"), "' or '", at(i, "change"), "' is empty");
            pair.curvature = dot(pair.step, pair.change);
            fresh.history.push_back(std::move(pair));
        }
        if (used != state.size())
            detail::fail("load_state_dict: the state has entries that this optimizer does not "
                         "know; it belongs to another one");
        options_ = options;
        state_ = std::move(fresh);
    }

private:
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

    static void check(Options const& o) {
        detail::check_not_negative("learning rate", o.lr);
        if (o.max_iter < 1 || o.max_eval < 0 || o.history_size < 1)
            detail::fail(
                "LBFGS: max_iter and history_size must be positive, and max_eval not negative");
        if (o.line_search != LineSearch::none && o.line_search != LineSearch::strong_wolfe)
            detail::fail("LBFGS: there is no such line search");
    }
    template <class F> static void each_option(Options& o, F f) {
        f("lr", o.lr), f("max_iter", o.max_iter), f("max_eval", o.max_eval),
            f("tolerance_grad", o.tolerance_grad), f("tolerance_change", o.tolerance_change),
            f("history_size", o.history_size), f("line_search", o.line_search);
    }
    static std::string at(std::size_t i, char const* what) {
        return "history." + std::to_string(i) + "." + what;
    }
    static AnyTensor vector_tensor(Vector const& v) {
        auto const t = Tensor<double>::empty(Shape{v.size()});
        std::copy(v.begin(), v.end(), t.array_of().begin());
        return t;
    }
    Vector vector_in(StateDict const& state, std::string const& name) const {
        std::size_t n = 0;
        for (auto const& p : parameters_) n += xgrad::numel(detail::real_shape(p));
        auto const* const t = state.find(name);
        if (!t || !t->defined() || t->dtype() != DType::float64 || t->dim() != 1 ||
            (t->numel() != n && t->numel() != 0))
            detail::fail("load_state_dict: '", name, "' is no vector of ", n, " numbers");
        auto const a = xgrad::detail::contiguous(t->as<double>().array_of());
        return {a.begin(), a.end()};
    }

    static double dot(Vector const& a, Vector const& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    }
    static double largest(Vector const& v) {
        double most = 0;
        for (double const x : v) most = std::abs(x) > most || x != x ? std::abs(x) : most;
        return most;
    }
    /// y += a x.
    static void add(Vector& y, double a, Vector const& x) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
    }

    /// Concatenates all parameters, or their gradients (zeros for a parameter without one), to one
    /// vector.
    Vector gathered(bool gradients) const {
        Vector all;
        for (auto const& p : parameters_) {
            auto const source = gradients ? AnyTensor(p.impl().grad) : p;
            if (!source.defined()) all.resize(all.size() + xgrad::numel(detail::real_shape(p)));
            else
                xgrad::detail::with_type(source, [&]<Scalar T>(Tensor<T> const& t) {
                    if constexpr (Differentiable<T>)
                        for (auto const v :
                            xgrad::detail::contiguous(detail::as_real(t).array_of()))
                            all.push_back(static_cast<double>(v));
                });
        }
        return all;
    }
    /// Sets the parameters to x + t d.
    void move(Vector const& x, double t, Vector const& d) const {
        std::size_t i = 0;
        for (auto const& p : parameters_) {
            p.impl().array.storage->bump();
            xgrad::detail::with_type(p, [&]<Scalar T>(Tensor<T> const& parameter) {
                if constexpr (Differentiable<T>) {
                    auto const values = detail::as_real(parameter);
                    xgrad::detail::Array<precision_of<T>> fresh(values.shape());
                    for (auto& v : fresh)
                        v = static_cast<precision_of<T>>(t == 0 ? x[i] : x[i] + t * d[i]), ++i;
                    xgrad::detail::copy_elements(values.array_of(), fresh);
                }
            });
        }
    }

    /// Stores the last step with the change of the gradient along it, unless the curvature is
    /// negative there.
    void remember(Vector const& gradient) {
        if (state_.step.empty()) return;
        Pair pair{std::exchange(state_.step, {}), gradient};
        add(pair.change, -1, state_.gradient);
        pair.curvature = dot(pair.step, pair.change);
        if (!(pair.curvature > 1e-10)) return;
        while (state_.history.size() >= static_cast<std::size_t>(options_.history_size))
            state_.history.pop_front();
        state_.scale = pair.curvature / dot(pair.change, pair.change);
        state_.history.push_back(std::move(pair));
    }
    /// The descent direction: minus the approximate inverse Hessian times the gradient, by the
    /// two-loop recursion over the stored pairs.
    Vector direction(Vector const& gradient) const {
        Vector d(gradient.size()), parts(state_.history.size());
        add(d, -1, gradient);
        for (std::size_t i = state_.history.size(); i-- > 0;) {
            auto const& pair = state_.history[i];
            parts[i] = dot(pair.step, d) / pair.curvature;
            add(d, -parts[i], pair.change);
        }
        for (double& v : d) v *= state_.scale;
        for (std::size_t i = 0; i < state_.history.size(); ++i) {
            auto const& pair = state_.history[i];
            add(d, parts[i] - dot(pair.change, d) / pair.curvature, pair.step);
        }
        return d;
    }

    void iterate(double loss, std::function<double()> const& closure) {
        NoGradGuard const off;
        auto const o = options_;
        std::int64_t const max_evaluations = o.max_eval ? o.max_eval : o.max_iter * 5 / 4;
        std::int64_t evaluations = 1;
        ++state_.evaluations;
        Vector gradient = gathered(true);
        for (std::int64_t n = 1; largest(gradient) > o.tolerance_grad; ++n) {
            remember(gradient);
            Vector const d = direction(gradient), x = gathered(false);
            double length = o.lr;
            if (state_.iterations == 0) {
                double sum = 0;
                for (double const v : gradient) sum += std::abs(v);
                length *= std::min(1., 1 / sum);
            }
            double const slope = dot(gradient, d), before = loss;
            ++state_.iterations;
            state_.gradient = gradient;
            if (!(slope <= -o.tolerance_change)) return;
            auto const evaluate = [&](double t) {
                move(x, t, d);
                double const value = closure();
                ++evaluations, ++state_.evaluations;
                detail::LinePoint p{t, value, 0, gathered(true)};
                p.slope = dot(p.gradient, d);
                return p;
            };
            try {
                if (o.line_search == LineSearch::strong_wolfe) {
                    auto found = detail::strong_wolfe(evaluate, {0, loss, slope, gradient}, length,
                        o.tolerance_change / largest(d));
                    length = found.t, loss = found.value, gradient = std::move(found.gradient);
                    move(x, length, d);
                    // no further evaluation: the next step() may have other data
                } else if (n == o.max_iter) move(x, length, d);
                else {
                    auto reached = evaluate(length);
                    loss = reached.value, gradient = std::move(reached.gradient);
                }
            } catch (...) {
                move(x, 0, d);
                throw;
            }
            state_.step.assign(d.size(), 0.);
            add(state_.step, length, d);
            if (n == o.max_iter || evaluations >= max_evaluations ||
                largest(state_.step) <= o.tolerance_change ||
                std::abs(loss - before) < o.tolerance_change)
                return;
        }
    }

    Options options_;
    std::vector<AnyTensor> parameters_;
    State state_;
};

} // namespace xgrad::optim

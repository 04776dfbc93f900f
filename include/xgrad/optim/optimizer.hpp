// Optimizer: updates parameters from their gradients. Each algorithm is a rule (its options, the
// names of its state tensors, the update of one parameter). Optimizing<Rule> is the optimiser:
// parameter groups with options of their own, and the state. Hooks run around step(), state_dict()
// and load_state_dict() of any optimiser.
//
// Shapes: a gradient has the shape of its parameter, and so have state tensors; those of a complex
// parameter are real, with a last axis of 2.
// Gradients: read from .grad; a parameter without one is skipped, and so is a leaf that requires
// none, as in PyTorch. Where no parameter has one, step() warns once. An update is not recorded,
// and counts as a change in place.
// Errors: a parameter that is no leaf is a GraphError, one of integers a TypeError; one that is
// undefined or given twice, an empty list, options out of range, and a state of another optimiser
// are an Error; a group or parameter that is not there is an IndexError.
#pragma once

#include <algorithm>

#include <xgrad/optim/optimizer_hooks.hpp>
#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/state_dict.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::optim {

/// The parameters of an optimiser: a list in braces, a range of tensors, or one tensor.
struct Parameters : std::vector<AnyTensor> {
    Parameters(std::initializer_list<AnyTensor> list) : vector(list) {}
    Parameters(std::vector<AnyTensor> list) : vector(std::move(list)) {}
    Parameters(AnyTensor const& one) : vector{one} {}
    template <std::ranges::forward_range V>
        requires std::derived_from<std::ranges::range_value_t<V>, AnyTensor> &&
                 (!std::derived_from<V, AnyTensor>)
    Parameters(V const& range) : vector(std::ranges::begin(range), std::ranges::end(range)) {}
};

/// A parameter group: parameters with the same options.
template <class Options> struct ParameterGroup {
    std::vector<AnyTensor> parameters; // leaves, each in one group only
    Options options = {};              // of all these parameters
};

/// The state of one parameter: the number of its steps, and tensors, zero at first, by their index
/// in the rule's list of names. The tensors of a complex parameter are real, with a last axis of 2.
struct ParameterState {
    std::int64_t steps = 0;              // how often the parameter was updated
    std::vector<AnyTensor> tensors = {}; // undefined until they are used

    /// True if tensor i was used before.
    bool has(std::size_t i) const { return tensors[i].defined(); }
    template <RealScalar T> Tensor<T> tensor(std::size_t i, Tensor<T> const& like, T begin = 0) {
        if (!has(i)) tensors[i] = Tensor<T>(xgrad::detail::Array<T>(like.shape(), begin));
        return tensors[i].as<T>();
    }
};

/// The interface of all optimisers, which is also all that a schedule uses.
class Optimizer {
public:
    Optimizer() noexcept {}
    Optimizer(Optimizer const&) = delete;
    Optimizer& operator=(Optimizer const&) = delete;
    virtual ~Optimizer() = default;

    /// Updates each parameter that has a gradient. The update is not recorded and counts as a
    /// change in place. Where no parameter has a gradient, a warning says so, once.
    void step();
    /// Calls a closure that computes gradients and returns the loss, then updates. Returns that
    /// loss.
    template <class F>
        requires std::invocable<F&>
    auto step(F&& closure) {
        before_step();
        auto loss = [&] {
            EnableGradGuard const on;
            return closure();
        }();
        do_step();
        after_step();
        return loss;
    }
    /// Clears the gradients of all parameters.
    void zero_grad();

    /// The number of parameter groups, and the parameters of one; IndexError where it is not there.
    virtual std::size_t group_count() const noexcept = 0;
    virtual std::vector<AnyTensor> const& parameters(std::size_t group) const = 0;
    /// The learning rate of a group, for reading and writing.
    virtual double& lr(std::size_t group = 0) = 0;
    /// The initial learning rate of a group: the one that it had when its first schedule was
    /// constructed.
    double initial_lr(std::size_t group);
    /// The momentum of a group (for Adam beta1); null if the algorithm has none.
    virtual double* momentum(std::size_t group) = 0;

    /// Copies of the state of all parameters and the options of all groups. An optimiser for the
    /// same parameters that loads them continues exactly as this one would.
    StateDict state_dict() const;
    /// Throws Error, and changes nothing, if the state belongs to another algorithm or to other
    /// parameters.
    void load_state_dict(StateDict const& state);

    /// A hook before step(), and before the closure that it calls, or after step(): f(optimizer).
    template <class F> HookHandle register_step_pre_hook(F f) {
        return detail::add_hook(hooks_.made()->step_pre, std::move(f));
    }
    template <class F> HookHandle register_step_post_hook(F f) {
        return detail::add_hook(hooks_.made()->step_post, std::move(f));
    }
    /// A hook before state_dict(): f(optimizer).
    template <class F> HookHandle register_state_dict_pre_hook(F f, HookOptions options = {}) {
        return detail::add_hook(hooks_.made()->state_dict_pre, std::move(f), options);
    }
    /// A hook after state_dict(): f(optimizer, state), which may change the state, or return
    /// another one.
    template <class F> HookHandle register_state_dict_post_hook(F f, HookOptions options = {}) {
        return detail::add_state_hook(hooks_.made()->state_dict_post, std::move(f), options);
    }
    /// A hook before load_state_dict(): f(optimizer, state) with a copy of the state, of which the
    /// tensors are those of the caller. It may change the copy, or return another state to load.
    template <class F> HookHandle register_load_state_dict_pre_hook(F f, HookOptions options = {}) {
        return detail::add_state_hook(hooks_.made()->load_state_dict_pre, std::move(f), options);
    }
    /// A hook after load_state_dict(): f(optimizer). If it throws, the state is the one before.
    template <class F>
    HookHandle register_load_state_dict_post_hook(F f, HookOptions options = {}) {
        return detail::add_hook(hooks_.made()->load_state_dict_post, std::move(f), options);
    }

protected:
    /// What step(), state_dict() and load_state_dict() do between their hooks.
    virtual void do_step() = 0;
    virtual StateDict do_state_dict() const = 0;
    virtual void do_load_state_dict(StateDict const& state) = 0;

    /// Run the hooks of a step: global hooks first before it, last after it.
    virtual void before_step();
    void after_step();

private:
    void warn_without_gradients();

    std::vector<double> initial_lr_;
    bool has_warned_ = false;
    xgrad::detail::MadeOnce<detail::OptimizerHooks> hooks_;
};

/// A hook before or after step() of every optimiser: f(Optimizer&).
template <class F> HookHandle register_optimizer_step_pre_hook(F f) {
    return detail::add_hook(detail::OptimizerHooks::of_all_optimizers().step_pre, std::move(f));
}
template <class F> HookHandle register_optimizer_step_post_hook(F f) {
    return detail::add_hook(detail::OptimizerHooks::of_all_optimizers().step_post, std::move(f));
}

namespace detail {

using xgrad::detail::fail;

AnyTensor number_tensor(double v);
double number_in(StateDict const& state, std::string const& name);
/// The option as a V, which may be an integer type.
template <class V> V value_in(StateDict const& state, std::string const& name) {
    double const v = number_in(state, name);
    if constexpr (!std::is_floating_point_v<V>)
        if (!(std::abs(v) < 9e15)) fail("load_state_dict: '", name, "' is no count");
    return static_cast<V>(v);
}

/// Element i of a vector of an optimiser.
template <class V> auto& element_of(V& all, std::size_t i, char const* what) {
    if (i >= all.size())
        fail<IndexError>("optimizer: there is no ", what, " ", i, " of ", all.size());
    return all[i];
}

/// Parameters must be leaves, each in one group.
[[gnu::cold]] void check_parameters(
    std::vector<AnyTensor> const& fresh, std::vector<AnyTensor> all);

/// A real tensor as it is, a complex one as a real view with a last axis of 2.
template <Scalar T> auto as_real(Tensor<T> const& t) {
    if constexpr (xgrad::detail::is_complex<T>) return view_as_real(t);
    else return t;
}
Shape real_shape(AnyTensor const& t);

} // namespace detail

/// The optimiser of a rule, such as SGD: parameter groups with their options, and a state for each
/// parameter.
template <class Rule> class Optimizing final : public Optimizer {
public:
    using Options = typename Rule::Options;
    using Group = ParameterGroup<Options>; // the type of its parameter groups

    explicit Optimizing(Parameters parameters, Options const& options = {}) {
        add_param_group({std::move(parameters), options});
    }
    /// With a learning rate, and the other options as they are by default.
    template <std::floating_point LearningRate> Optimizing(Parameters parameters, LearningRate lr) {
        Options options;
        options.lr = lr;
        add_param_group({std::move(parameters), options});
    }
    explicit Optimizing(std::vector<Group> groups) {
        if (groups.empty()) detail::fail("optimizer got an empty parameter list");
        for (auto& g : groups) add_param_group(std::move(g));
    }

    /// Updates one parameter, without hooks. Its index counts through all groups.
    void step_parameter(std::size_t parameter);

    /// Adds parameters with options of their own. Throws where one is no leaf or is in a group
    /// already.
    void add_param_group(Group group);

    /// See Optimizer; options() may be changed between steps.
    std::size_t group_count() const noexcept override { return groups_.size(); }
    std::vector<AnyTensor> const& parameters(std::size_t group) const override {
        return detail::element_of(groups_, group, "group").parameters;
    }
    Options& options(std::size_t group = 0) {
        return detail::element_of(groups_, group, "group").options;
    }
    double& lr(std::size_t group = 0) override { return options(group).lr; }
    double* momentum(std::size_t group) override { return Rule::momentum(options(group)); }
    /// The state of one parameter. Its index counts through all groups.
    ParameterState const& state(std::size_t parameter) const {
        return detail::element_of(states_, parameter, "parameter");
    }

private:
    void do_step() override;
    StateDict do_state_dict() const override;
    void do_load_state_dict(StateDict const& state) override;
    static void update(AnyTensor const& p, ParameterState& state, Options const& options);
    static std::string at(char const* what, std::size_t i, std::string_view name) {
        return what + std::to_string(i) + "." + std::string(name);
    }
    static DType real_type(AnyTensor const& p) {
        return xgrad::detail::is_single(p.dtype()) ? DType::float32 : DType::float64;
    }

    std::vector<Group> groups_;
    std::vector<ParameterState> states_;
};

template <class Rule> void Optimizing<Rule>::do_step() {
    NoGradGuard const off;
    std::size_t i = 0;
    for (auto const& group : groups_)
        for (auto const& p : group.parameters) update(p, states_[i++], group.options);
}

template <class Rule> void Optimizing<Rule>::step_parameter(std::size_t parameter) {
    NoGradGuard const off;
    std::size_t first = 0;
    for (auto const& group : groups_) {
        if (parameter - first < group.parameters.size())
            return update(group.parameters[parameter - first], states_[parameter], group.options);
        first += group.parameters.size();
    }
    detail::fail<IndexError>("step_parameter: there is no parameter ", parameter, " of ", first);
}

template <class Rule> void Optimizing<Rule>::add_param_group(Group group) {
    std::vector<AnyTensor> all;
    for (auto const& g : groups_) all.insert(all.end(), g.parameters.begin(), g.parameters.end());
    detail::check_parameters(group.parameters, all);
    Rule::check(group.options);
    ParameterState fresh;
    fresh.tensors.resize(Rule::tensors.size());
    states_.reserve(all.size() + group.parameters.size());
    auto const n = group.parameters.size();
    groups_.push_back(std::move(group));
    states_.insert(states_.end(), n, fresh);
}

template <class Rule> StateDict Optimizing<Rule>::do_state_dict() const {
    StateDict all;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        all.set(
            at("state.", i, "steps"), detail::number_tensor(static_cast<double>(states_[i].steps)));
        for (std::size_t k = 0; k < Rule::tensors.size(); ++k)
            if (states_[i].has(k))
                all.set(at("state.", i, Rule::tensors[k]),
                    xgrad::detail::value_copy(states_[i].tensors[k]));
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        auto options = groups_[g].options;
        Rule::each_option(options, [&](char const* name, auto const& v) {
            all.set(at("groups.", g, name), detail::number_tensor(static_cast<double>(v)));
        });
    }
    return all;
}

template <class Rule> void Optimizing<Rule>::do_load_state_dict(StateDict const& state) {
    auto states = states_;
    auto groups = groups_;
    std::size_t used = 0, i = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        Rule::each_option(groups[g].options, [&](char const* name, auto& v) {
            v = detail::value_in<std::remove_reference_t<decltype(v)>>(
                state, at("groups.", g, name)),
            ++used;
        });
        Rule::check(groups[g].options);
        for (auto const& p : groups[g].parameters) {
            states[i].steps = detail::value_in<std::int64_t>(state, at("state.", i, "steps")),
            ++used;
            for (std::size_t k = 0; k < Rule::tensors.size(); ++k) {
                auto const name = at("state.", i, Rule::tensors[k]);
                auto const* const t = state.find(name);
                states[i].tensors[k] = t ? xgrad::detail::value_copy(*t) : AnyTensor();
                if (!t) continue;
                ++used;
                if (!(t->shape() == detail::real_shape(p)) || t->dtype() != real_type(p))
                    detail::fail("load_state_dict: '", name,
                        "' does not fit its parameter of shape ", p.shape());
            }
            ++i;
        }
    }
    if (used != state.size())
        detail::fail("load_state_dict: the state has entries that this optimizer does not "
                     "know; it belongs to another one");
    states_ = std::move(states);
    groups_ = std::move(groups);
}

template <class Rule>
void Optimizing<Rule>::update(AnyTensor const& p, ParameterState& state, Options const& options) {
    if (!p.impl().grad) return;
    xgrad::detail::with_type(p, [&]<Scalar T>(Tensor<T> const& parameter) {
        if constexpr (Differentiable<T>) {
            auto values = detail::as_real(parameter);
            auto const gradient = detail::as_real(AnyTensor(p.impl().grad).as<T>());
            ++state.steps;
            Rule::update(values, gradient, state, options);
        }
    });
}

namespace detail {
void check_not_negative(char const* what, double v);
void check_fraction(char const* what, double v);

/// The gradient that a rule uses: negated to maximise, plus weight_decay times the parameter.
template <RealScalar T, class Options>
Tensor<T> penalized(Tensor<T> const& gradient, Tensor<T> const& parameter, Options const& o) {
    if (o.weight_decay == 0) return o.maximize ? Tensor<T>(-gradient) : gradient;
    return o.maximize ? Tensor<T>(o.weight_decay * parameter - gradient)
                      : Tensor<T>(gradient + o.weight_decay * parameter);
}
} // namespace detail

} // namespace xgrad::optim

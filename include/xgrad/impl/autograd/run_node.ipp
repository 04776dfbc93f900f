// Bodies of anomaly.hpp and run_node.hpp.
#pragma once

#include <mutex>

#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/autograd/engine.hpp>
#include <xgrad/autograd/run_node.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY bool is_own(SourceLocation const& at) {
    std::string_view headers = __FILE__;
    if (std::string_view const here = "/autograd/anomaly.hpp"; headers.ends_with(here))
        headers.remove_suffix(here.size());
    return std::string_view(at.file_name()).starts_with(headers);
}

XGRAD_LAZY_BODY std::shared_ptr<Origin const> make_origin() {
    auto origin = std::make_shared<Origin>();
    if (auto const* const at = anomaly.location; at && !is_own(*at))
        origin->location = std::string(at->file_name()) + ":" + std::to_string(at->line()) +
                           ", in " + at->function_name();
    else origin->stack = call_stack();
    if (anomaly.running) {
        origin->parent_name = anomaly.running->name();
        if (auto const* const hooks = NodeHooks::of(*anomaly.running))
            origin->parent = hooks->origin;
    }
    return origin;
}

/// The text of an origin and of those that induced it. All call stacks are looked up at once.
XGRAD_LAZY std::string origin_text(Origin const& origin) {
    static std::mutex mutex; // of the texts in origins
    std::lock_guard const lock(mutex);
    std::vector<Origin const*> without_text;
    std::vector<std::vector<void*>> stacks;
    for (auto const* o = &origin; o; o = o->parent.get()) {
        if (o->text.empty()) o->text = o->location;
        if (!o->text.empty()) continue;
        without_text.push_back(o);
        stacks.push_back(o->stack);
    }
    if (!stacks.empty()) {
        auto texts = call_stack_texts(stacks);
        for (std::size_t i = 0; i < texts.size(); ++i) without_text[i]->text = std::move(texts[i]);
    }
    std::string text = " It was recorded at " + origin.text + ".";
    for (auto const* o = &origin; o && !o->parent_name.empty(); o = o->parent.get())
        text += " That was induced by the backward pass of " + o->parent_name +
                (o->parent ? ", which was recorded at " + o->parent->text : std::string()) + ".";
    return text;
}

/// An exception of which copies share the text.
template <class E> class ErrorAtOrigin : public E {
public:
    ErrorAtOrigin(std::string const& message, std::shared_ptr<Origin const> origin)
        : E(message), text_(std::make_shared<Text>()) {
        text_->origin = std::move(origin);
    }
    char const* what() const noexcept override {
        try {
            std::call_once(text_->composed,
                [this] { text_->whole = E::what() + origin_text(*text_->origin); });
            return text_->whole.c_str();
        } catch (...) { return E::what(); } // no memory for the text
    }

private:
    struct Text {
        std::shared_ptr<Origin const> origin;
        std::once_flag composed;
        std::string whole;
    };
    std::shared_ptr<Text> text_;
};

/// Throws E with the message and where the Node was recorded. The text is composed when what() is
/// first called: it may start addr2line.
template <class E>
[[noreturn, gnu::cold]] void fail_at_origin(std::string const& message, NodeHooks const* hooks) {
    if (!hooks || !hooks->origin) throw E(message);
    throw ErrorAtOrigin<E>(message, hooks->origin);
}

XGRAD_LAZY_BODY AnyTensor checked_hook_result(AnyTensor const& before, AnyTensor after) {
    if (!after.defined()) return before;
    if (!before.defined())
        fail<GraphError>("a hook can't replace a empty gradient with a non-empty value");
    if (after.dtype() != before.dtype())
        fail<TypeError>("a hook has changed the type of value (was ", name(before.dtype()), " got ",
            name(after.dtype()), ")");
    if (after.shape() != before.shape())
        fail<ShapeError>("a hook has changed the size of value (was ", before.shape(), " got ",
            after.shape(), ")");
    return after;
}

XGRAD_LAZY_BODY void check_hook_count(std::size_t got, std::size_t expected) {
    if (got != expected)
        fail<GraphError>("a hook has returned an incorrect number of values (got ", got,
            ", but expected ", expected, ")");
}

XGRAD_LAZY_BODY void take_hook_results(std::span<AnyTensor> gradients, Gradients after) {
    if (after.empty()) return;
    check_hook_count(after.size(), gradients.size());
    for (std::size_t i = 0; i < after.size(); ++i)
        gradients[i] = after[i].defined() ? checked_hook_result(gradients[i], std::move(after[i]))
                                          : AnyTensor();
}

/// Text for messages: " It is the backward pass of Mul(Sqrt(a), number)."
XGRAD_LAZY [[gnu::cold]] std::string expression_clause(Node const& node) {
    auto const formula = node.formula();
    return formula == node.name() ? std::string() : " It is the backward pass of " + formula + ".";
}

/// True where an element of a real or complex tensor is NaN.
XGRAD_LAZY bool has_nan(AnyTensor const& t) {
    if (!t.defined() || !is_differentiable(t.dtype())) return false;
    NoGradGuard const off;
    return with_reals(t.impl().type->copy(t), [](auto const* first, std::size_t n) {
        return std::any_of(first, first + n, [](auto x) { return x != x; });
    });
}

XGRAD_LAZY [[gnu::cold]] void check_nan(Node const& node, std::span<AnyTensor const> results) {
    for (std::size_t i = 0; i < results.size(); ++i)
        if (has_nan(results[i]))
            fail_at_origin<GraphError>(
                message_of({"Function '", node.name(), "' returned nan values in its ", i,
                    "th output.", expression_clause(node)}),
                NodeHooks::of(node));
}

XGRAD_LAZY [[gnu::cold]] void apply_in_anomaly_mode(
    Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    auto* const outer = std::exchange(anomaly.running, &node);
    try {
        node.apply(gradients, results);
        if (anomaly.check_nan) check_nan(node, results);
    } catch (...) {
        anomaly.running = outer;
        warn("Error detected in ", node.name(),
            ". Traceback of forward call that caused the error:", origin_text(node),
            expression_clause(node));
        throw;
    }
    anomaly.running = outer;
}

/// Runs a Node with its hooks, which may be null, and in anomaly mode where that is on.
XGRAD_LAZY void run_with_hooks(Node& node, NodeHooks const* hooks, std::span<AnyTensor> gradients,
    std::span<AnyTensor> results, bool keep_saved) {
    if (hooks)
        hooks->prehooks.for_each([&](auto const& hook) {
            take_hook_results(gradients, hook(Gradients(gradients.begin(), gradients.end())));
        });
    bool const accumulates = hooks && is_leaf(node) && gradients[0].defined() &&
                             static_cast<AccumulateGrad&>(node).accumulates_gradient();
    bool const has_posthooks = hooks && hooks->posthooks.any();
    Gradients grad_outputs;
    if (has_posthooks) grad_outputs.assign(gradients.begin(), gradients.end());
    {
        NodeLock const lock(node);
        if (anomaly.functions) apply_in_anomaly_mode(node, gradients, results);
        else node.apply(gradients, results);
        if (accumulates)
            hooks->post_accumulate.for_each([leaf = static_cast<AccumulateGrad&>(node).variable()](
                                                auto const& hook) { hook(leaf); });
    }
    if (has_posthooks)
        hooks->posthooks.for_each([&](auto const& hook) {
            take_hook_results(
                results, hook(Gradients(results.begin(), results.end()), grad_outputs));
        });
    if (!keep_saved) {
        NodeLock const lock(node);
        node.release_saved();
    }
}

/// The functions of NodeHooks. It is a template so that only programs that register hooks, or are
/// in anomaly mode, instantiate them.
template <class = void> struct ObservedNode final : NodeHooks {
    ~ObservedNode() override {
        for (auto* o = outputs.load(std::memory_order_relaxed); o;)
            delete std::exchange(o, o->next.load(std::memory_order_relaxed));
    }
    void run_tensor_hooks(Node& node, std::span<AnyTensor> gradients) override {
        for (auto* output = outputs.load(std::memory_order_acquire); output;
             output = output->next.load(std::memory_order_acquire)) {
            auto& gradient = gradients[output->output_nr];
            output->tensor_hooks.for_each([&](auto const& hook) {
                gradient = checked_hook_result(gradient, hook(gradient));
            });
            if (auto const retain = output->retain_grad(); retain && gradient.defined()) {
                NodeLock const lock(node);
                retain(gradient);
            }
        }
    }
    void run(Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results,
        bool keep_saved) override {
        run_with_hooks(node, this, gradients, results, keep_saved);
    }
    std::string origin_text() const override {
        return origin ? detail::origin_text(*origin) : std::string();
    }
    [[noreturn]] void fail_changed(std::string const& message) const override {
        fail_at_origin<VersionError>(message, this);
    }
    void move_retain_grad(std::uint32_t output_nr, Node& to, std::uint32_t to_nr) override {
        for (auto* o = outputs.load(std::memory_order_acquire); o;
             o = o->next.load(std::memory_order_acquire))
            if (o->output_nr == output_nr)
                at(to, to_nr).exchange_retain_grad(o->exchange_retain_grad(nullptr));
    }
};

XGRAD_LAZY_BODY auto NodeHooks::OutputHooks::retain_grad() const -> RetainGrad {
    std::lock_guard const lock(mutex_);
    return retain_grad_;
}

XGRAD_LAZY_BODY auto NodeHooks::OutputHooks::exchange_retain_grad(RetainGrad f) noexcept
    -> RetainGrad {
    std::lock_guard const lock(mutex_);
    retain_grad_.swap(f);
    return f;
}

XGRAD_LAZY_BODY NodeHooks& NodeHooks::made(Node& node) {
    auto* hooks = of(node);
    allow_nested_passes();
    if (!hooks) {
        auto fresh = std::make_unique<ObservedNode<>>();
        if (node.hooks_.compare_exchange_strong(hooks, fresh.get(), std::memory_order_acq_rel))
            hooks = fresh.release();
    }
    return *hooks;
}

XGRAD_LAZY_BODY auto NodeHooks::at(Node& node, std::uint32_t output_nr) -> OutputHooks& {
    std::unique_ptr<OutputHooks> fresh;
    for (auto* link = &made(node).outputs;;) {
        auto* found = link->load(std::memory_order_acquire);
        if (!found) {
            if (!fresh) fresh = std::make_unique<OutputHooks>(output_nr);
            if (link->compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
                return *fresh.release();
        }
        if (found->output_nr == output_nr) return *found;
        link = &found->next;
    }
}

XGRAD_FUNCTION void run_tensor_hooks(Node& node, std::span<AnyTensor> gradients) {
    if (auto* const hooks = NodeHooks::of(node)) hooks->run_tensor_hooks(node, gradients);
}

XGRAD_FUNCTION void run_observed_node(
    Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results, bool keep_saved) {
    if (auto* const hooks = NodeHooks::of(node)) hooks->run(node, gradients, results, keep_saved);
    else anomaly.functions->run(node, gradients, results, keep_saved);
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY AnomalyMode::AnomalyMode(bool check_nan) noexcept
    : functions_(detail::anomaly.functions, nullptr),
      check_nan_(detail::anomaly.check_nan, check_nan) {
    static constexpr detail::AnomalyFunctions functions = {
        [](Node& node) { detail::NodeHooks::made(node).origin = detail::make_origin(); },
        [](Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results,
            bool keep_saved) {
            detail::run_with_hooks(node, nullptr, gradients, results, keep_saved);
        }};
    detail::anomaly.functions = &functions;
}

} // namespace xgrad

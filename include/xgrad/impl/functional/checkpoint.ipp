// checkpoint(): a part of a graph that saves its inputs instead of what its Nodes would save, and
// is evaluated again when a backward pass needs that. It uses hooks on saved tensors: the Nodes are
// recorded as usual, but what they save is only counted. The first saved tensor that a pass asks
// for evaluates the function again, whose Nodes then save in the same order.
#pragma once

#include <optional>
#include <string>

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/functional/evaluation.hpp>
#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad::detail {

inline constexpr std::string_view must_be_the_same =
    ". The function must do the same each time it is called with the same inputs.";

/// The Nodes that a call has recorded and that its results depend on, without references to them:
/// enough to see whether another call has recorded the same. What the function captures may have
/// got another grad_fn between the calls, by a change in place: it is a Node that was recorded
/// after the first call.
class RecordedGraph {
public:
    /// `before` is the number of the last Node that this thread had recorded before the call.
    XGRAD_LAZY RecordedGraph(
        Tensors const& arguments, Tensors const& results, std::uint64_t before);

    /// Throws GraphError where the graph of another call is not the same. `before` is the number of
    /// the last Node that this thread had recorded before that call.
    XGRAD_LAZY void compare(
        Tensors const& arguments, Tensors const& results, std::uint64_t before) const;

private:
    static constexpr std::size_t none = ~std::size_t{0};

    struct Step {
        std::uint64_t sequence;
        std::size_t argument; // the one that this is the edge of, or none
        bool is_leaf;
        std::optional<std::string> text = {};       // of a Node that the call has recorded
        std::size_t first_edge = 0, edge_count = 0; // in edges_
    };
    struct Link {
        std::size_t step; // in steps_, or none
        std::uint32_t input_nr;
    };

    XGRAD_LAZY static std::size_t argument_of(
        Edge const& edge, CachedVector<Edge> const& arguments);
    XGRAD_LAZY static bool is_like(Step const& step, Node const& node);
    XGRAD_LAZY [[noreturn, gnu::cold]] static void fail_other(Step const* was, Node const* is);

    std::uint64_t last_;      // number of the last Node that the call has recorded
    std::vector<Step> steps_; // in breadth-first order
    std::vector<Link> results_, edges_;
};

XGRAD_LAZY_BODY std::size_t RecordedGraph::argument_of(
    Edge const& edge, CachedVector<Edge> const& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].function == edge.function && arguments[i].input_nr == edge.input_nr)
            return i;
    return none;
}

XGRAD_LAZY_BODY RecordedGraph::RecordedGraph(
    Tensors const& arguments, Tensors const& results, std::uint64_t before)
    : last_(next_sequence) {
    auto const inputs = edges_to(arguments);
    std::vector<Node const*> nodes;                         // of steps_
    std::vector<std::size_t> step_of(last_ - before, none); // by sequence number
    auto const link_to = [&](Edge const& edge) -> Link {
        if (!edge) return {none, 0};
        Node const& node = *edge.function;
        auto const nr = node.sequence_nr() - before - 1;
        auto const known = nr < step_of.size() ? step_of[nr] : none;
        if (known != none && nodes[known] == &node) return {known, edge.input_nr};
        Step step{node.sequence_nr(), argument_of(edge, inputs), is_leaf(node)};
        // a Node of another thread may have the number of one of this call
        if (nr < step_of.size() && known == none) {
            step_of[nr] = steps_.size();
            step.text = node.formula();
        }
        steps_.push_back(std::move(step));
        nodes.push_back(&node);
        return {steps_.size() - 1, edge.input_nr};
    };
    for (auto const& edge : edges_to(results)) results_.push_back(link_to(edge));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (!steps_[i].text) continue;
        auto const edges = nodes[i]->next_edges();
        steps_[i].first_edge = edges_.size();
        steps_[i].edge_count = edges.size();
        for (auto const& edge : edges) edges_.push_back(link_to(edge));
    }
}

XGRAD_LAZY_BODY bool RecordedGraph::is_like(Step const& step, Node const& node) {
    if (step.is_leaf) return detail::is_leaf(node); // the function makes this leaf
    if (!step.text) return step.sequence == node.sequence_nr();
    return *step.text == node.formula() && step.edge_count == node.next_edges().size();
}

XGRAD_LAZY_BODY void RecordedGraph::compare(
    Tensors const& arguments, Tensors const& results, std::uint64_t before) const {
    auto const inputs = edges_to(arguments);
    std::vector<Node const*> nodes(steps_.size(), nullptr);
    auto const is_same = [&](Link const& link, Step const& step, Edge const& edge) {
        auto const argument = argument_of(edge, inputs);
        if (argument != none || step.argument != none) return argument == step.argument;
        Node const* const node = edge.function.get();
        auto const nr = node->sequence_nr();
        bool const is_renewed = !step.text && !step.is_leaf && !detail::is_leaf(*node) &&
                                nr != step.sequence && (nr > last_ || nr > before);
        if (is_renewed) return true;
        if (edge.input_nr != link.input_nr) return false;
        if (auto const* const seen = nodes[link.step]) return seen == node;
        return is_like(step, *node);
    };
    auto const visit = [&](Link const& link, Edge const& edge) {
        Step const* const step = link.step == none ? nullptr : &steps_[link.step];
        if (!step && !edge) return;
        if (!step || !edge || !is_same(link, *step, edge)) fail_other(step, edge.function.get());
        nodes[link.step] = edge.function.get();
    };
    if (results.size() != results_.size())
        fail<GraphError>("checkpoint: The function returned ", results_.size(),
            " tensors the first time and returns ", results.size(), " now", must_be_the_same);
    auto const edges = edges_to(results);
    for (std::size_t i = 0; i < edges.size(); ++i) visit(results_[i], edges[i]);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        auto const& step = steps_[i];
        if (!nodes[i]) continue;
        for (std::size_t e = 0; e < step.edge_count; ++e)
            visit(edges_[step.first_edge + e], nodes[i]->next_edges()[e]);
    }
}

XGRAD_LAZY_BODY void RecordedGraph::fail_other(Step const* was, Node const* is) {
    fail<GraphError>("checkpoint: The function computes something else than the first time: ",
        is ? is->formula() : "a constant", " where it was ",
        !was           ? "a constant"
        : was->text    ? *was->text
        : was->is_leaf ? "a leaf"
                       : "another tensor",
        must_be_the_same);
}

/// One call of a function under checkpoint(): all that is needed to call it again, and a list of
/// what it saved the first time. It is a template so that only programs that call checkpoint()
/// instantiate it.
template <class = void>
class CheckpointedCall : public std::enable_shared_from_this<CheckpointedCall<>> {
public:
    using Function = std::function<Tensors(Tensors const&)>;

    /// Inputs are saved as any Node saves tensors: by the hooks on saved tensors that are active,
    /// also by those of an outer checkpoint().
    explicit CheckpointedCall(Tensors const& inputs);

    /// The first call.
    Tensors run(Function f);

private:
    /// What a Node under checkpoint() stores instead of a tensor: the index of the saved tensor. It
    /// holds the tensor itself only while the function is evaluated again.
    struct Slot {
        // null in the second evaluation: then the slot holds its tensor
        std::shared_ptr<CheckpointedCall const> call;
        std::size_t index = 0;
        // which Node saved it: all that a Node saves is packed before the next one is recorded
        std::uint64_t node = 0;
        DType dtype;
        Shape shape;
        // null for a tensor that belongs to an input, whose version is checked there
        Storage const* memory;
        std::uint32_t version;
        AnyTensor value;

        /// The tensor that was saved.
        AnyTensor checked(AnyTensor const& t) const;
    };
    /// What a pass has computed again and not used yet, and what the current Node uses, which may
    /// ask for it more than once.
    struct Recomputed {
        std::vector<std::shared_ptr<Slot>> slots;
        std::vector<std::shared_ptr<Slot>> in_use = {};

        std::shared_ptr<Slot> take(std::size_t index);
    };

    /// In its scope tensors are packed by `pack` instead of the hooks of the program.
    class PackingScope {
    public:
        explicit PackingScope(std::function<std::shared_ptr<Slot>(AnyTensor const&)> pack)
            : packing_(std::make_shared<Packing const>(
                  std::move(pack), [](void const* packed) { return unpack(packed); })),
              scope_(default_packing, &packing_) {}

    private:
        std::shared_ptr<Packing const> packing_;
        ScopedValue<std::shared_ptr<Packing const> const*> scope_;
    };

    std::shared_ptr<Slot> slot_of(AnyTensor const& t) const;

    static AnyTensor unpack(void const* packed);

    /// Saved tensor `index`, from what the running pass has computed again. A tensor is released
    /// when the next Node asks for its own saved tensors, so that a pass holds no more than it
    /// needs.
    AnyTensor recomputed(std::size_t index) const;

    std::shared_ptr<Recomputed> run_again() const;

    static void compare(Slot const& first, Slot const& now);

    Identity identity_;
    Tensors arguments_; // for the first evaluation
    bool differentiated_;
    std::mt19937_64 generator_;
    mutable std::vector<SavedTensor> inputs_;
    std::vector<bool> requires_grad_;
    std::vector<Storage const*> memory_;
    Ref<Node> node_; // for which the inputs were saved
    Function function_;
    std::vector<std::weak_ptr<Slot>> slots_;
    std::optional<RecordedGraph> graph_;
};

template <class X> AnyTensor CheckpointedCall<X>::Slot::checked(AnyTensor const& t) const {
    if (t.impl().array.storage->version() != version)
        fail<VersionError>("one of the variables needed for gradient computation has been "
                           "modified by an inplace operation: ",
            describe(t), " is at version ", t.impl().array.storage->version(),
            "; expected version ", version, " instead. It was saved under checkpoint().");
    return t;
}

template <class X>
CheckpointedCall<X>::CheckpointedCall(Tensors const& inputs)
    : arguments_(recorded_aliases("Checkpoint", inputs)), differentiated_(differentiated),
      generator_(generator()) {
    for (auto const& t : inputs) {
        inputs_.push_back(SavedTensor::operand(alias(t)));
        requires_grad_.push_back(t.requires_grad());
        memory_.push_back(t.impl().array.storage.get());
    }
    for (auto const& t : arguments_)
        if (t.impl().grad_fn) node_ = t.impl().grad_fn;
    if (!node_) node_ = Ref<Node>(new AliasNode("Checkpoint", {}));
}

template <class X> Tensors CheckpointedCall<X>::run(Function f) {
    function_ = std::move(f);
    PackingScope const scope([this](AnyTensor const& t) {
        auto slot = slot_of(t);
        slot->call = shared_from_this();
        slot->index = slots_.size();
        slots_.push_back(slot);
        return slot;
    });
    Tensors const arguments = std::move(arguments_);
    std::vector<std::uint32_t> versions;
    for (auto const& t : arguments) versions.push_back(t.impl().array.storage->version());
    auto const before = next_sequence;
    auto results = function_(arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].impl().array.storage->version() != versions[i])
            fail<GraphError>("checkpoint: the function changes its input ", i,
                " in place, so that it could not be called again");
    for (auto const& weak : slots_)
        if (auto const slot = weak.lock()) slot->value = {};
    graph_.emplace(arguments, results, before);
    return results;
}

template <class X>
auto CheckpointedCall<X>::Recomputed::take(std::size_t index) -> std::shared_ptr<Slot> {
    for (auto const& slot : in_use)
        if (slot->index == index) return slot;
    auto slot = std::move(slots[index]);
    if (!slot) return slot;
    if (!in_use.empty() && in_use[0]->node != slot->node) in_use.clear();
    in_use.push_back(slot);
    return slot;
}

template <class X>
auto CheckpointedCall<X>::slot_of(AnyTensor const& t) const -> std::shared_ptr<Slot> {
    auto const* const memory = t.impl().array.storage.get();
    bool const is_input = std::find(memory_.begin(), memory_.end(), memory) != memory_.end();
    return std::make_shared<Slot>(Slot{{}, 0, next_sequence, t.dtype(), t.shape(),
        is_input ? nullptr : memory, memory->version(), t});
}

template <class X> AnyTensor CheckpointedCall<X>::unpack(void const* packed) {
    auto const& slot = *static_cast<Slot const*>(packed);
    return slot.value.defined() ? slot.checked(slot.value) : slot.call->recomputed(slot.index);
}

template <class X> AnyTensor CheckpointedCall<X>::recomputed(std::size_t index) const {
    bool const in_pass = current_pass || forward_data;
    std::shared_ptr<Recomputed> all;
    if (in_pass) all = std::static_pointer_cast<Recomputed>(pass_data(identity_));
    auto slot = all ? all->take(index) : nullptr;
    if (!slot) {
        all = run_again();
        if (in_pass) pass_data(identity_) = all;
        slot = all->take(index);
    }
    return slot->checked(slot->value);
}

template <class X> auto CheckpointedCall<X>::run_again() const -> std::shared_ptr<Recomputed> {
    Tensors arguments;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        arguments.push_back(alias(inputs_[i].unpack(*node_)));
        arguments.back().impl().requires_grad = requires_grad_[i];
    }
    auto const all =
        std::make_shared<Recomputed>(Recomputed{std::vector<std::shared_ptr<Slot>>(slots_.size())});
    std::size_t count = 0;
    Tensors results;
    auto const before = next_sequence;
    {
        InferenceMode const normal(false);
        DifferentiatedScope const scope(differentiated_);
        ScopedValue const random(generator(), generator_);
        PackingScope const packing([&](AnyTensor const& t) {
            auto const slot = slot_of(t);
            if (auto const first = count < slots_.size() ? slots_[count].lock() : nullptr) {
                compare(*first, *slot);
                slot->index = count;
                all->slots[count] = slot;
            }
            ++count;
            return slot;
        });
        try {
            results = function_(arguments);
        } catch (GraphError const&) { throw; } catch (Error const& error) {
            fail<GraphError>("checkpoint: the function was called again, for the backward pass, "
                             "and failed there: what it captured by reference is gone or changed. "
                             "Capture it by value: [=]. ",
                error.what());
        }
    }
    if (count != slots_.size())
        fail<GraphError>("checkpoint: A different number of tensors was saved during the "
                         "original forward and recomputation: ",
            slots_.size(), " and ", count, must_be_the_same);
    graph_->compare(arguments, results, before);
    return all;
}

template <class X> void CheckpointedCall<X>::compare(Slot const& first, Slot const& now) {
    if (first.dtype != now.dtype || first.shape != now.shape)
        fail<GraphError>("checkpoint: Recomputed values have different metadata than during "
                         "the forward pass: saved tensor ",
            first.index, " was [", name(first.dtype), " ", first.shape, "] and is [",
            name(now.dtype), " ", now.shape, "]", must_be_the_same);
    if (first.memory && first.memory == now.memory && first.version != now.version)
        fail<VersionError>("one of the variables needed for gradient computation has been "
                           "modified by an inplace operation: [",
            name(now.dtype), " ", now.shape, "], which a function under checkpoint() ",
            "captures, is at version ", now.version, "; expected version ", first.version,
            " instead.");
}

XGRAD_LAZY_BODY Tensors checkpointed(
    std::function<Tensors(Tensors const&)> f, Tensors const& inputs) {
    return std::make_shared<CheckpointedCall<>>(inputs)->run(std::move(f));
}

} // namespace xgrad::detail

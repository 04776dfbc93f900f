// checkpoint(): a part of a graph that saves its inputs instead of what its Nodes would save, and
// is evaluated again when a backward pass needs that. It uses hooks on saved tensors: the Nodes are
// recorded as usual, but what they save is only counted. The first saved tensor that a pass asks
// for evaluates the function again, whose Nodes then save in the same order.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/impl/functional/recorded_graph.ipp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad::detail {

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

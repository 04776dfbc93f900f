// Bodies of checkpoint.hpp.
#pragma once

#include <xgrad/functional/checkpoint.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyTensor CheckpointSlot::checked(AnyTensor const& t) const {
    if (t.impl().array.storage->version() != version)
        fail<VersionError>("one of the variables needed for gradient computation has been "
                           "modified by an inplace operation: ",
            describe(t), " is at version ", t.impl().array.storage->version(),
            "; expected version ", version, " instead. It was saved under checkpoint().");
    return t;
}

XGRAD_FUNCTION CheckpointedCall::CheckpointedCall(Tensors const& inputs)
    : arguments_(recorded_aliases("Checkpoint", inputs)), differentiated_(differentiated),
      generator_(generator) {
    for (auto const& t : inputs) {
        inputs_.push_back(SavedTensor::operand(alias(t)));
        requires_grad_.push_back(t.requires_grad());
        memory_.push_back(t.impl().array.storage.get());
    }
    for (auto const& t : arguments_)
        if (t.impl().grad_fn) node_ = t.impl().grad_fn;
    if (!node_) node_ = Ref<Node>(new AliasNode("Checkpoint", {}));
}

XGRAD_FUNCTION Tensors CheckpointedCall::run(Function f) {
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
    auto results = function_(arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].impl().array.storage->version() != versions[i])
            fail<GraphError>("checkpoint: the function changes its input ", i,
                " in place, so that it could not be called again");
    for (auto const& weak : slots_)
        if (auto const slot = weak.lock()) slot->value = {};
    return results;
}

XGRAD_FUNCTION std::shared_ptr<CheckpointSlot> CheckpointedCall::Recomputed::take(
    std::size_t index) {
    for (auto const& slot : in_use)
        if (slot->index == index) return slot;
    auto slot = std::move(slots[index]);
    if (!slot) return slot;
    if (!in_use.empty() && in_use[0]->node != slot->node) in_use.clear();
    in_use.push_back(slot);
    return slot;
}

XGRAD_FUNCTION std::shared_ptr<CheckpointSlot> CheckpointedCall::slot_of(AnyTensor const& t) const {
    auto const* const memory = t.impl().array.storage.get();
    bool const is_input = std::ranges::find(memory_, memory) != memory_.end();
    return std::make_shared<CheckpointSlot>(CheckpointSlot{{}, 0, next_sequence, t.dtype(),
        t.shape(), is_input ? nullptr : memory, memory->version(), t});
}

XGRAD_FUNCTION AnyTensor CheckpointedCall::unpack(void const* packed) {
    auto const& slot = *static_cast<CheckpointSlot const*>(packed);
    return slot.value.defined() ? slot.checked(slot.value) : slot.call->recomputed(slot.index);
}

XGRAD_FUNCTION AnyTensor CheckpointedCall::recomputed(std::size_t index) const {
    std::shared_ptr<Recomputed> all;
    if (current_pass)
        if (auto const* const known =
                std::any_cast<std::shared_ptr<Recomputed>>(&current_pass->hook_data(identity_)))
            all = *known;
    auto slot = all ? all->take(index) : nullptr;
    if (!slot) {
        all = run_again();
        if (current_pass) current_pass->hook_data(identity_) = all;
        slot = all->take(index);
    }
    return slot->checked(slot->value);
}

XGRAD_FUNCTION auto CheckpointedCall::run_again() const -> std::shared_ptr<Recomputed> {
    Tensors arguments;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        arguments.push_back(alias(inputs_[i].unpack(*node_)));
        arguments.back().impl().requires_grad = requires_grad_[i];
    }
    auto const all = std::make_shared<Recomputed>(
        Recomputed{std::vector<std::shared_ptr<CheckpointSlot>>(slots_.size())});
    std::size_t count = 0;
    {
        InferenceMode const normal(false);
        DifferentiatedScope const scope(differentiated_);
        RandomScope const random(generator_);
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
        function_(arguments);
    }
    if (count != slots_.size())
        fail<GraphError>("checkpoint: A different number of tensors was saved during the "
                         "original forward and recomputation: ",
            slots_.size(), " and ", count,
            ". The function must do the same each time it is called with the same inputs.");
    return all;
}

XGRAD_FUNCTION void CheckpointedCall::compare(
    CheckpointSlot const& first, CheckpointSlot const& now) {
    if (first.dtype != now.dtype || first.shape != now.shape)
        fail<GraphError>("checkpoint: Recomputed values have different metadata than during "
                         "the forward pass: saved tensor ",
            first.index, " was [", name(first.dtype), " ", first.shape, "] and is [",
            name(now.dtype), " ", now.shape,
            "]. The function must do the same each time it is called with the same inputs.");
    if (first.memory && first.memory == now.memory && first.version != now.version)
        fail<VersionError>("one of the variables needed for gradient computation has been "
                           "modified by an inplace operation: [",
            name(now.dtype), " ", now.shape, "], which a function under checkpoint() ",
            "captures, is at version ", now.version, "; expected version ", first.version,
            " instead.");
}

} // namespace xgrad::detail

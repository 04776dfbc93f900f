// Bodies of saved_tensor.hpp.
#pragma once

#include <xgrad/autograd/saved_tensor.hpp>

namespace xgrad {

XGRAD_FUNCTION SavedTensor SavedTensor::operand(AnyTensor const& t) {
    if (t.is_inference())
        detail::fail<GraphError>(
            "Inference tensors cannot be saved for backward. To work around you can make a "
            "clone to get a normal tensor and use it in autograd.");
    bool const is_own_leaf = !t.is_view() && t.impl().requires_grad && !t.impl().grad_fn;
    return {is_own_leaf ? t : detail::snapshot(t), operand_nr, t.impl().is_constant};
}

XGRAD_FUNCTION SavedTensor SavedTensor::restored(
    detail::TypeInfo const& type, detail::AnyArray array, std::uint32_t version, Edge const& edge) {
    SavedTensor saved;
    saved.version_ = version;
    if (edge && detail::is_leaf(*edge.function)) {
        auto leaf = static_cast<detail::AccumulateGrad&>(*edge.function).variable();
        if (leaf.impl().array.data == array.data) {
            saved.value_ = std::move(leaf);
            return saved;
        }
    }
    saved.value_ = AnyTensor(detail::TensorImpl::make(type, std::move(array)));
    saved.value_.impl().grad_fn = edge.function;
    saved.value_.impl().output_nr = edge.input_nr;
    return saved;
}

XGRAD_FUNCTION bool SavedTensor::requires_grad() const {
    return packed_ ? static_cast<bool>(packed_->edge) : value_.defined() && value_.requires_grad();
}

XGRAD_FUNCTION AnyTensor SavedTensor::unpack(Node& owner) {
    check(owner);
    if (!packed_ && !is_result()) return value_;
    AnyTensor t = detail::alias(!packed_                  ? value_
                                : packed_->open.defined() ? packed_->open
                                                          : packed_->unpacked());
    t.impl().grad_fn = is_result() ? detail::Ref<Node>(&owner) : packed_->edge.function;
    t.impl().output_nr = is_result() ? output_nr_ : packed_->edge.input_nr;
    return t;
}

XGRAD_FUNCTION AnyTensor const& SavedTensor::unpacked_into(AnyTensor& buffer, Node& owner) {
    if (packed_ || is_result()) return buffer = unpack(owner);
    check(owner);
    return value_;
}

XGRAD_FUNCTION bool SavedTensor::open(Node const& owner) {
    check(owner);
    if (!packed_ || packed_->open.defined()) return false;
    packed_->open = packed_->unpacked();
    return true;
}

XGRAD_FUNCTION void SavedTensor::set_packing(
    std::shared_ptr<detail::Packing const> packing, Node const& owner) {
    if (packed_)
        detail::fail<GraphError>(
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
            "only one pair of hooks is allowed at a time.");
    if (!value_.defined())
        detail::fail<GraphError>(
            "Calling register_hooks on a saved tensor after it has been freed. Saved "
            "intermediate values of the graph are freed when you call "
            ".backward() or xgrad::grad(). Specify .retain_graph = true if you need to "
            "backward through the graph a second time or if you need "
            "to access saved variables after calling backward.");
    check(owner);
    pack(packing);
}

XGRAD_FUNCTION SavedTensor::SavedTensor(AnyTensor t, std::uint32_t output_nr, bool is_constant)
    : value_(std::move(t)), version_(value_.impl().array.storage->version()),
      output_nr_(output_nr) {
    if (detail::default_packing && !is_constant) [[unlikely]]
        pack(*detail::default_packing);
}

XGRAD_FUNCTION void SavedTensor::check(Node const& owner) const {
    if (packed_) return;
    if (!value_.defined()) fail_released();
    if (value_.impl().array.storage->version() != version_) fail_changed(owner);
}

XGRAD_FUNCTION void SavedTensor::fail_changed(Node const& owner) const {
    Node const* maker = is_result() ? &owner : value_.grad_fn();
    if (maker && detail::is_leaf(*maker)) maker = nullptr;
    auto const* const hooks = detail::NodeHooks::of(owner);
    auto const message =
        detail::message_of({"one of the variables needed for gradient computation has been "
                            "modified by an inplace operation: ",
            detail::describe(value_),
            maker ? detail::message_of({", which is output ",
                        is_result() ? output_nr_ : value_.output_nr(), " of ", maker->name(), ","})
                  : std::string(),
            " is at version ", value_.impl().array.storage->version(), "; expected version ",
            version_, " instead. It was saved by ", owner.name(), ".",
            hooks && hooks->origin
                ? ""
                : " Hint: record in the scope of an xgrad::AnomalyMode to be told where that is."});
    if (hooks) hooks->fail_changed(message);
    throw VersionError(message);
}

XGRAD_FUNCTION AnyTensor SavedTensorHandle::unpack() const {
    detail::NodeLock const lock(*owner_);
    return saved_->unpack(*owner_);
}

XGRAD_FUNCTION SavedTensorHandle Node::saved(std::string const& name) {
    std::string names;
    for (auto const& s : saved_tensors()) {
        if (s.name == name) return {*this, *s.tensor};
        names += (names.empty() ? "" : ", ") + s.name;
    }
    detail::fail<IndexError>(this->name(), " saves no tensor called '", name, "'; it saves ",
        names.empty() ? std::string("none") : names);
}

} // namespace xgrad

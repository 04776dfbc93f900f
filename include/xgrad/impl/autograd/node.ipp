// Bodies of node.hpp, accumulate_grad.hpp, hook.hpp, gradient_edge.hpp, saved_tensor.hpp and
// saved_tensor_hooks.hpp, and snapshot().
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/autograd/engine.hpp>
#include <xgrad/autograd/gradient_edge.hpp>
#include <xgrad/autograd/hook.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/autograd/saved_tensor_hooks.hpp>

namespace xgrad::detail {

XGRAD_NOINLINE XGRAD_FUNCTION void fail_two_libraries() {
    fail<GraphError>("xgrad is there twice: this tensor is of another program or library, whose "
                     "grad mode and passes this one does not see; link xgrad::compiled as a "
                     "shared library (docs/libraries.md)");
}

XGRAD_FUNCTION void accumulate(AnyTensor& grad, AnyTensor gradient) {
    if (auto& view = gradient.impl().view; view && !grad_mode && view->base->refs.load() == 1)
        view.reset();
    if (grad.defined()) {
        if (grad.is_inference() && !inference_mode)
            fail<GraphError>(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can "
                "make a clone to get a normal tensor before doing inplace "
                "update. The tensor is a .grad that backward() made in InferenceMode.");
        if (grad_mode || overlaps_itself(grad.impl().array))
            grad = grad.impl().type->add(grad, gradient);
        else grad.impl().type->add_in_place(grad, gradient);
    } else if (can_be_taken(gradient)) grad = std::move(gradient);
    else grad = gradient.impl().type->copy(gradient);
}

XGRAD_FUNCTION void add_to(AnyTensor& sum, AnyTensor const& more) {
    sum = sum.defined() ? sum.impl().type->add(sum, more) : more;
}

XGRAD_FUNCTION void AccumulateGrad::accumulate_gradient(AnyTensor& gradient) {
    if (!gradient.defined() || !accumulates_gradient()) return;
    if (!leaf_->grad && can_be_taken(gradient)) leaf_->grad = std::move(gradient).handle();
    else add(std::move(gradient));
}

XGRAD_FUNCTION AccumulateGrad* AccumulateGrad::made(TensorImpl& leaf) {
    AccumulateGrad* node = nullptr;
    auto* const fresh = new AccumulateGrad(leaf);
    if (leaf.accumulator.compare_exchange_strong(node, fresh, std::memory_order_acq_rel))
        return fresh;
    delete fresh;
    return node;
}

XGRAD_NOINLINE XGRAD_FUNCTION void AccumulateGrad::add(AnyTensor gradient) {
    AnyTensor grad(std::move(leaf_->grad));
    try {
        accumulate(grad, std::move(gradient));
    } catch (...) {
        leaf_->grad = std::move(grad).handle();
        throw;
    }
    leaf_->grad = std::move(grad).handle();
}

XGRAD_FUNCTION AnyTensor snapshot(AnyTensor const& t) {
    AnyTensor a = alias(t);
    auto edge = gradient_edge(t);
    a.impl().grad_fn = std::move(edge.function);
    a.impl().output_nr = edge.input_nr;
    return a;
}

XGRAD_LAZY_BODY bool AnyHookList::any() const {
    auto* const hooks = hooks_.get();
    if (!hooks) return false;
    std::lock_guard const lock(hooks->mutex);
    return !hooks->slots.empty();
}

XGRAD_LAZY_BODY HookSlots AnyHookList::slots() const {
    auto* const hooks = hooks_.get();
    if (!hooks) return {};
    std::lock_guard const lock(hooks->mutex);
    return hooks->slots;
}

XGRAD_LAZY_BODY HookHandle AnyHookList::add(std::shared_ptr<HookSlot> slot, bool first) {
    auto const& hooks = hooks_.made();
    HookHandle handle([weak = std::weak_ptr(hooks), weak_slot = std::weak_ptr(slot)] {
        auto const list = weak.lock();
        auto const removed = weak_slot.lock();
        if (!list || !removed) return;
        removed->removed = true;
        std::lock_guard const removing(list->mutex);
        std::erase(list->slots, removed);
    });
    std::lock_guard const lock(hooks->mutex);
    hooks->slots.insert(first ? hooks->slots.begin() : hooks->slots.end(), std::move(slot));
    return handle;
}

/// What a Packing makes: the packed object, and what its tensor was.
template <class = void> class PackedByHooks final : public PackedTensor {
public:
    PackedByHooks(std::shared_ptr<Packing const> packing, AnyTensor const& value)
        : packing_(std::move(packing)), data_(packing_->pack(value)), dtype_(value.dtype()),
          shape_(value.shape()) {}

    AnyTensor unpacked() const override {
        NoGradGuard const off;
        auto const t = packing_->unpack(data_.get());
        if (!t.defined() || t.dtype() != dtype_ || t.shape() != shape_)
            fail<TypeError>("Output of saved tensor unpack_hook expected to be a tensor of type ",
                name(dtype_), " and shape ", shape_, " but got ", describe(t));
        return t;
    }

private:
    std::shared_ptr<Packing const> packing_;
    std::shared_ptr<void const> data_;
    DType dtype_;
    Shape shape_;
};

XGRAD_LAZY_BODY Owner<PackedTensor> Packing::call_pack(
    std::shared_ptr<Packing const> self, AnyTensor const& value) {
    allow_nested_passes();
    NoGradGuard const off;
    auto const argument = alias(value);
    auto const version = argument.impl().array.storage->version();
    Owner<PackedTensor> packed(new PackedByHooks<>(std::move(self), argument));
    if (argument.impl().array.storage->version() != version)
        fail<GraphError>(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as "
            "input to pack hook can not be modified by in-place "
            "operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input "
            "to a pack hook.");
    packed->edge = gradient_edge(value);
    return packed;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION Node::Node(std::uint64_t sequence) : sequence_(sequence) {
    if (detail::anomaly.functions) [[unlikely]]
        detail::anomaly.functions->record_origin(*this);
}

XGRAD_FUNCTION void Node::pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) {
    detail::fail<GraphError>(name(), ": there is no forward mode for this Node");
}

namespace detail {

XGRAD_FUNCTION std::string backward_name(std::string_view operation) {
    return std::string(operation) += "Backward";
}

XGRAD_FUNCTION void NodeHooks::destroy(NodeHooks* hooks) noexcept { delete hooks; }

XGRAD_FUNCTION NodeLock::NodeLock(Node& node) noexcept {
    if (single_threaded()) return;
    void const* const me = lock_identity ? lock_identity : &own_lock_identity;
    void const* before = nullptr;
    while (!node.owner_.compare_exchange_weak(before, me, std::memory_order_acquire)) {
        if (before == me) return;
        if (before) node.owner_.wait(before, std::memory_order_relaxed);
        before = nullptr;
    }
    held_ = &node;
}

XGRAD_FUNCTION NodeLock::~NodeLock() {
    if (!held_) return;
    held_->owner_.store(nullptr, std::memory_order_release);
    held_->owner_.notify_one();
}

} // namespace detail

/// Destroying a Node releases the Nodes that only it refers to. They are queued here, so that
/// destruction is a loop and not a recursion.
XGRAD_FUNCTION void Node::destroy_later(Node* node) noexcept {
    struct Queue {
        Node* first = nullptr;
        bool running = false;
    };
    static constinit thread_local Queue queue;
    // nobody refers to the Node any more: edges_ becomes the link of the queue
    node->edge_count_ = 0;
    node->edges_ = reinterpret_cast<Edge*>(queue.first);
    queue.first = node;
    if (queue.running) return;
    queue.running = true;
    while (Node* const next = queue.first) {
        queue.first = reinterpret_cast<Node*>(next->edges_);
        next->dispose();
    }
    queue.running = false;
}

XGRAD_LAZY_BODY GradientEdge::GradientEdge(Node* node, std::uint32_t output_nr) {
    if (!node)
        detail::fail<GraphError>("a GradientEdge needs a Node: a leaf's is made from the leaf");
    if (output_nr >= node->num_outputs())
        detail::fail<IndexError>("GradientEdge: ", node->name(), " has no output ", output_nr,
            ", only ", node->num_outputs());
    if (detail::is_leaf(*node))
        *this = GradientEdge(static_cast<detail::AccumulateGrad&>(*node).variable());
    else edge_ = {detail::Ref<Node>(node), output_nr};
}

XGRAD_LAZY_BODY void HookHandle::remove() {
    if (auto const r = std::exchange(remove_, nullptr)) r();
}

XGRAD_FUNCTION SavedTensor SavedTensor::operand(AnyTensor const& t) {
    if (t.is_inference())
        detail::fail<GraphError>(
            "Inference tensors cannot be saved for backward. To work around you can make a "
            "clone to get a normal tensor and use it in autograd.");
    bool const is_own_leaf = !t.is_view() && t.impl().requires_grad && !t.impl().grad_fn;
    return {is_own_leaf ? t : detail::snapshot(t), operand_nr, t.impl().is_constant};
}

XGRAD_NOINLINE XGRAD_FUNCTION detail::AnyArray const& SavedTensor::array() const {
    return (rest_->packed ? rest_->packed->open : rest_->value).impl().array;
}

XGRAD_FUNCTION void SavedTensor::complete(
    detail::TypeInfo const& type, Shape const& shape, Edge const& edge) {
    if (!storage_) return;
    AnyTensor value;
    if (edge && detail::is_leaf(*edge.function))
        value = static_cast<detail::AccumulateGrad&>(*edge.function).variable();
    if (!value.defined() || value.impl().array.data != data_) {
        detail::AnyArray a(shape);
        a.storage = storage_;
        a.data = data_;
        a.padded_to = padded_to_;
        value = AnyTensor(detail::TensorImpl::make(type, std::move(a)));
        value.impl().grad_fn = edge.function;
        value.impl().output_nr = edge.input_nr;
    }
    rest_.reset(new Rest);
    rest_->value = std::move(value);
    storage_ = nullptr;
}

XGRAD_FUNCTION void SavedTensor::Rest::destroy(Rest* rest) noexcept { delete rest; }

XGRAD_FUNCTION bool SavedTensor::requires_grad() const {
    if (!rest_) return false;
    return is_packed() ? static_cast<bool>(rest_->packed->edge) : rest_->value.requires_grad();
}

XGRAD_FUNCTION AnyTensor SavedTensor::unpack(Node& owner) {
    check(owner);
    auto const* const packed = rest_->packed.get();
    if (!packed && !is_result()) return rest_->value;
    AnyTensor t = detail::alias(!packed                  ? rest_->value
                                : packed->open.defined() ? packed->open
                                                         : packed->unpacked());
    t.impl().grad_fn = is_result() ? detail::Ref<Node>(&owner) : packed->edge.function;
    t.impl().output_nr = is_result() ? output_nr_ : packed->edge.input_nr;
    return t;
}

XGRAD_FUNCTION AnyTensor const& SavedTensor::unpacked_into(AnyTensor& buffer, Node& owner) {
    if (is_packed() || is_result()) return buffer = unpack(owner);
    check(owner);
    return rest_->value;
}

XGRAD_FUNCTION bool SavedTensor::open(Node const& owner) {
    check(owner);
    if (!is_packed() || rest_->packed->open.defined()) return false;
    rest_->packed->open = rest_->packed->unpacked();
    return true;
}

XGRAD_FUNCTION void SavedTensor::set_packing(
    std::shared_ptr<detail::Packing const> packing, Node const& owner) {
    if (is_packed())
        detail::fail<GraphError>(
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
            "only one pair of hooks is allowed at a time.");
    if (!rest_)
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
    : rest_(new Rest), version_(t.impl().array.storage->version()),
      output_nr_(output_nr & operand_nr) {
    rest_->value = std::move(t);
    if (detail::default_packing && !is_constant) [[unlikely]]
        pack(*detail::default_packing);
}

XGRAD_FUNCTION void SavedTensor::check(Node const& owner) const {
    if (!rest_) fail_released();
    if (is_packed()) return;
    if (rest_->value.impl().array.storage->version() != version_) fail_changed(owner);
}

XGRAD_FUNCTION void SavedTensor::fail_changed(Node const& owner) const {
    auto const& value = rest_->value;
    Node const* maker = is_result() ? &owner : value.grad_fn();
    if (maker && detail::is_leaf(*maker)) maker = nullptr;
    auto const* const hooks = detail::NodeHooks::of(owner);
    auto const message =
        detail::message_of({"one of the variables needed for gradient computation has been "
                            "modified by an inplace operation: ",
            detail::describe(value),
            maker ? detail::message_of({", which is output ",
                        is_result() ? output_nr_ : value.output_nr(), " of ", maker->name(), ","})
                  : std::string(),
            " is at version ", value.impl().array.storage->version(), "; expected version ",
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

// SavedTensor: a value that a Node saves for backward, with its version at that time. Reading it
// throws VersionError where the memory was changed in place since.
// A saved operand keeps its grad_fn. A saved result has none: it would be the Node itself, a cycle;
// unpack() sets it again.
// Read next: hook.hpp, run_node.hpp.
#pragma once

#include <xgrad/graph/accumulate_grad.hpp>
#include <xgrad/graph/anomaly.hpp>
#include <xgrad/graph/saved_tensor_hooks.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

class SavedTensor {
public:
    SavedTensor() noexcept = default;

    /// Saves an operand of a Node. A leaf that requires a gradient is saved itself. Of any other
    /// tensor a snapshot is saved, so that a later in-place change of its grad_fn has no effect
    /// here and makes no cycle.
    static SavedTensor operand(AnyTensor const& t) {
        if (t.is_inference())
            detail::fail<GraphError>(
                "Inference tensors cannot be saved for backward. To work around you can make a "
                "clone to get a normal tensor and use it in autograd.");
        bool const is_own_leaf = !t.is_view() && t.impl().requires_grad && !t.impl().grad_fn;
        return {is_own_leaf ? t : detail::snapshot(t), operand_nr, t.impl().is_constant};
    }
    /// Saves output `output_nr` of a Node without its grad_fn, which is the Node itself.
    static SavedTensor result(AnyTensor const& t, std::uint32_t output_nr = 0) {
        return {detail::alias(t), output_nr, false};
    }

    /// Makes a SavedTensor of an array that a Node stored without one, with its version and its
    /// edge. The edge is empty, leads to a leaf (then the leaf itself is restored), or leads to the
    /// grad_fn.
    [[gnu::cold]] static SavedTensor restored(detail::TypeInfo const& type, detail::AnyArray array,
        std::uint32_t version, Edge const& edge) {
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
    [[gnu::cold]] static SavedTensor restored_result(SavedTensor saved) {
        saved.output_nr_ = 0;
        return saved;
    }

    bool holds() const noexcept { return value_.defined() || packed_; }
    bool is_packed() const noexcept { return static_cast<bool>(packed_); }
    void release() noexcept {
        value_ = {};
        packed_.reset();
    }
    bool requires_grad() const {
        return packed_ ? static_cast<bool>(packed_->edge)
                       : value_.defined() && value_.requires_grad();
    }

    /// The saved value with its grad_fn; `owner` is the Node that saved it.
    AnyTensor unpack(Node& owner) {
        check(owner);
        if (!packed_ && !is_result()) return value_;
        AnyTensor t = detail::alias(!packed_                  ? value_
                                    : packed_->open.defined() ? packed_->open
                                                              : unpacked());
        t.impl().grad_fn = is_result() ? detail::Ref<Node>(&owner) : packed_->edge.function;
        t.impl().output_nr = is_result() ? output_nr_ : packed_->edge.input_nr;
        return t;
    }

    /// unpack() without a copy of the handle where the saved tensor itself can be returned;
    /// `buffer` stores the tensor otherwise.
    AnyTensor const& unpacked_into(AnyTensor& buffer, Node& owner) {
        if (packed_ || is_result()) return buffer = unpack(owner);
        check(owner);
        return value_;
    }

    /// Prepares array(): checks the version of the saved value, or unpacks it. Returns true where
    /// close() must follow.
    bool open(Node const& owner) {
        check(owner);
        if (!packed_ || packed_->open.defined()) return false;
        packed_->open = unpacked();
        return true;
    }
    detail::AnyArray const& array() const {
        return (packed_ ? packed_->open : value_).impl().array;
    }
    void close() noexcept {
        if (packed_) packed_->open = {};
    }

    /// Replaces the value by pack(value). A saved tensor has at most one pair of hooks.
    void set_packing(std::shared_ptr<detail::Packing const> packing, Node const& owner) {
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
        pack(std::move(packing));
    }

    [[noreturn]] static void fail_released() {
        detail::fail<GraphError>("Trying to backward through the graph a second time (or directly "
                                 "access saved tensors after they have already been freed). "
                                 "Saved intermediate values of the graph are freed when you call "
                                 ".backward() or xgrad::grad(). Specify .retain_graph = true if "
                                 "you need to backward through the graph a second time or if you "
                                 "need to access saved tensors after calling backward.");
    }

private:
    struct Packed {
        std::shared_ptr<detail::Packing const> packing;
        std::shared_ptr<void const> data;
        Edge edge; // of an operand
        DType dtype;
        Shape shape;
        AnyTensor open = {};
    };

    static constexpr std::uint32_t operand_nr = ~std::uint32_t{0};

    SavedTensor(AnyTensor t, std::uint32_t output_nr, bool is_constant)
        : value_(std::move(t)), version_(value_.impl().array.storage->version()),
          output_nr_(output_nr) {
        if (detail::default_packing && !is_constant) [[unlikely]]
            pack(*detail::default_packing);
    }

    bool is_result() const noexcept { return output_nr_ != operand_nr; }

    [[gnu::cold]] void pack(std::shared_ptr<detail::Packing const> packing) {
        NoGradGuard const off;
        auto const argument = detail::alias(value_);
        auto packed = std::make_unique<Packed>(Packed{packing, packing->pack(argument),
            detail::gradient_edge(value_), value_.dtype(), value_.shape()});
        if (argument.impl().array.storage->version() != version_)
            detail::fail<GraphError>(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook can not be modified by in-place "
                "operations as this can lead to unexpected side-effects. Please open an issue if "
                "you need to perform in-place operations on the input "
                "to a pack hook.");
        packed_ = std::move(packed);
        value_ = {};
    }

    [[gnu::cold]] AnyTensor unpacked() const {
        NoGradGuard const off;
        auto const t = packed_->packing->unpack(packed_->data.get());
        if (!t.defined() || t.dtype() != packed_->dtype || t.shape() != packed_->shape)
            detail::fail<TypeError>(
                "Output of saved tensor unpack_hook expected to be a tensor of type ",
                name(packed_->dtype), " and shape ", packed_->shape, " but got ",
                detail::describe(t));
        return t;
    }

    void check(Node const& owner) const {
        if (packed_) return;
        if (!value_.defined()) fail_released();
        if (value_.impl().array.storage->version() != version_) fail_changed(owner);
    }

    [[noreturn]] void fail_changed(Node const& owner) const {
        Node const* maker = is_result() ? &owner : value_.grad_fn();
        if (maker && detail::is_leaf(*maker)) maker = nullptr;
        auto const origin = detail::origin_text(owner);
        detail::fail<VersionError>("one of the variables needed for gradient computation has been "
                                   "modified by an inplace operation: ",
            detail::describe(value_),
            maker ? ", which is output " +
                        std::to_string(is_result() ? output_nr_ : value_.output_nr()) + " of " +
                        maker->name() + ","
                  : std::string(),
            " is at version ", value_.impl().array.storage->version(), "; expected version ",
            version_, " instead. It was saved by ", owner.name(), ".",
            origin.empty()
                ? " Hint: record in the scope of an xgrad::AnomalyMode to be told where that is."
                : origin);
    }

    AnyTensor value_;
    std::unique_ptr<Packed> packed_;
    std::uint32_t version_ = 0;
    std::uint32_t output_nr_ = operand_nr;
};

class SavedTensorHandle {
public:
    SavedTensorHandle(Node& owner, SavedTensor& saved) : owner_(&owner), saved_(&saved) {}

    /// The saved value, with its grad_fn. Throws GraphError after it was freed, and VersionError
    /// where it was changed in place since it was saved.
    AnyTensor unpack() const {
        detail::NodeLock const lock(*owner_);
        return saved_->unpack(*owner_);
    }
    /// Packs the value now, and unpacks it when it is read; hooks as those of SavedTensorsHooks.
    template <class Pack, class Unpack> void register_hooks(Pack&& pack, Unpack&& unpack) const {
        detail::NodeLock const lock(*owner_);
        saved_->set_packing(
            detail::make_packing<detail::KeptCallable<Pack>, detail::KeptCallable<Unpack>>(
                std::forward<Pack>(pack), std::forward<Unpack>(unpack)),
            *owner_);
    }

private:
    detail::Ref<Node> owner_;
    SavedTensor* saved_;
};

inline SavedTensorHandle Node::saved(std::string const& name) {
    std::string names;
    for (auto const& s : saved_tensors()) {
        if (s.name == name) return {*this, *s.tensor};
        names += (names.empty() ? "" : ", ") + s.name;
    }
    detail::fail<IndexError>(this->name(), " saves no tensor called '", name, "'; it saves ",
        names.empty() ? std::string("none") : names);
}

} // namespace xgrad

// SavedTensor: a value that a Node saves for backward, with its version at that time. Reading it
// throws VersionError where the memory was changed in place since.
// A saved operand keeps its grad_fn. A saved result has none: it would be the Node itself, a cycle;
// unpack() sets it again.
//
// Shapes: a saved tensor keeps its shape; an unpack hook returns that shape.
// Gradients: a saved operand has its grad_fn, a saved result gets that of its Node.
// Errors: VersionError where the memory was changed in place since; GraphError where the value was
// freed, for an inference tensor, for a second pair of hooks, and for a pack hook that changes its
// argument in place; TypeError where unpack returns another shape or scalar type.
//
// Read next: hook.hpp, run_node.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/autograd/saved_tensor_hooks.hpp>

namespace xgrad {

/// A tensor that a Node saves for backward. Hooks may have packed it.
class SavedTensor {
public:
    SavedTensor() noexcept = default;
    /// Saves a contiguous array bare, without the rest of its tensor: see complete().
    explicit SavedTensor(detail::AnyArray const& a, std::uint32_t output_nr = operand_nr) noexcept
        : storage_(a.storage), data_(a.data), version_(storage_->version()),
          padded_to_(a.padded_to), output_nr_(output_nr & operand_nr) {}

    /// Saves an operand of a Node. A leaf that requires a gradient is saved itself. Of any other
    /// tensor a snapshot is saved, so that a later in-place change of its grad_fn has no effect
    /// here and makes no cycle.
    static SavedTensor operand(AnyTensor const& t);
    /// Saves output `output_nr` of a Node without its grad_fn, which is the Node itself.
    static SavedTensor result(AnyTensor const& t, std::uint32_t output_nr = 0) {
        return {detail::alias(t), output_nr, false};
    }

    /// Gives a bare array the rest of its tensor. The edge is empty, leads to a leaf (then the leaf
    /// itself is saved), or leads to the grad_fn.
    [[gnu::cold]] void complete(detail::TypeInfo const& type, Shape const& shape, Edge const& edge);

    /// True until release(): a value or a packed one is there.
    bool holds() const noexcept { return storage_ || rest_; }
    /// True where a pack hook took the value.
    bool is_packed() const noexcept { return rest_ && rest_->packed; }
    /// Frees the value, and what a pack hook returned.
    void release() noexcept {
        storage_ = nullptr;
        rest_.reset();
    }
    /// True where the tensor required a gradient when it was saved.
    bool requires_grad() const;

    /// The saved value with its grad_fn; `owner` is the Node that saved it.
    AnyTensor unpack(Node& owner);

    /// unpack() without a copy of the handle where the saved tensor itself can be returned;
    /// `buffer` stores the tensor otherwise.
    AnyTensor const& unpacked_into(AnyTensor& buffer, Node& owner);

    /// True for a bare array that nobody changed: open() has nothing to do.
    bool is_intact() const noexcept { return storage_ && storage_->version() == version_; }
    /// Prepares array() and span(): checks the version of the saved value, or unpacks it. Returns
    /// true where close() must follow.
    bool open(Node const& owner);
    detail::AnyArray const& array() const;
    /// array(); null for a bare array, which is contiguous.
    detail::AnyArray const* complete_array() const { return storage_ ? nullptr : &array(); }
    /// The elements of a bare array, or null.
    std::byte* bare() const noexcept { return storage_ ? data_ : nullptr; }
    /// array(), also of a bare array, whose shape and number of elements are given.
    detail::ArraySpan span(Shape const& shape, std::size_t numel) const {
        return storage_ ? detail::ArraySpan(data_, numel, shape, padded_to_) : array();
    }
    void close() noexcept {
        if (is_packed()) rest_->packed->open = {};
    }

    /// Replaces the value by pack(value). A saved tensor has at most one pair of hooks.
    void set_packing(std::shared_ptr<detail::Packing const> packing, Node const& owner);

    /// Throws the GraphError of a tensor that was released.
    [[noreturn]] static void fail_released() {
        detail::fail<GraphError>("Trying to backward through the graph a second time (or directly "
                                 "access saved tensors after they have already been freed). "
                                 "Saved intermediate values of the graph are freed when you call "
                                 ".backward() or xgrad::grad(). Specify .retain_graph = true if "
                                 "you need to backward through the graph a second time or if you "
                                 "need to access saved tensors after calling backward.");
    }

private:
    static constexpr std::uint32_t operand_nr = ~std::uint32_t{0} >> 8;

    SavedTensor(AnyTensor t, std::uint32_t output_nr, bool is_constant);

    bool is_result() const noexcept { return output_nr_ != operand_nr; }

    void pack(std::shared_ptr<detail::Packing const> const& packing) {
        rest_->packed = packing->packed(packing, rest_->value);
        rest_->value = {};
    }

    void check(Node const& owner) const;

    [[noreturn, gnu::cold]] void fail_changed(Node const& owner) const;

    /// A value that is not bare: the tensor, or what a pack hook made of it.
    struct Rest : detail::Cached {
        AnyTensor value;
        detail::Owner<detail::PackedTensor> packed;

        [[gnu::cold]] static void destroy(Rest* rest) noexcept;
    };
    detail::Ref<detail::Storage> storage_; // of a bare array
    std::byte* data_ = nullptr;            // likewise
    detail::Owner<Rest> rest_;
    std::uint32_t version_ = 0;
    std::uint32_t padded_to_ : 8 = 0; // of a bare array
    std::uint32_t output_nr_ : 24 = operand_nr;
};

/// Reads a saved tensor of a Node, or sets its pack and unpack hooks. It keeps the Node alive.
class SavedTensorHandle {
public:
    SavedTensorHandle(Node& owner, SavedTensor& saved) : owner_(&owner), saved_(&saved) {}

    /// The saved value, with its grad_fn. Throws GraphError after it was freed, and VersionError
    /// where it was changed in place since it was saved.
    AnyTensor unpack() const;
    /// Calls the pack hook now, and the unpack hook when the value is read; hooks as those of
    /// SavedTensorsHooks.
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

} // namespace xgrad

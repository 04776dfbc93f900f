// SavedTensor: a value that a Node keeps for backward, with the version that it had.
#pragma once

#include <xgrad/graph/any_tensor.hpp>

namespace xgrad {

class SavedTensor {
public:
    SavedTensor() noexcept = default;

    /// Keeps an operand of the Node.
    static SavedTensor operand(AnyTensor const& t) { return {t, false}; }
    /// Keeps a result of the Node: without its history, which would be the Node itself.
    static SavedTensor result(AnyTensor const& t) { return {detail::alias(t), true}; }

    bool holds() const noexcept { return value_.defined(); }
    void release() noexcept { value_ = {}; }
    bool requires_grad() const { return value_.defined() && value_.requires_grad(); }

    /// The saved value with its history; `owner` is the Node that saved it.
    AnyTensor unpack(Node& owner) const
    {
        check(owner);
        if (!is_result_) return value_;
        AnyTensor t = detail::alias(value_);
        t.impl().grad_fn = detail::Ref<Node>(&owner);
        return t;
    }

    /// The saved memory, checked to be what it was.
    detail::AnyArray const& array(Node const& owner) const
    {
        check(owner);
        return value_.impl().array;
    }

    /// The same where it was checked already.
    detail::AnyArray const& checked_array() const { return value_.impl().array; }

    [[noreturn]] static void fail_released()
    {
        detail::fail<GraphError>(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
            "Saved intermediate values of the graph are freed when you call .backward() or xgrad::grad(). Specify .retain_graph = true if "
            "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.");
    }

private:
    SavedTensor(AnyTensor t, bool is_result) : value_(std::move(t)), version_(value_.version()), is_result_(is_result) {}

    void check(Node const& owner) const
    {
        if (!value_.defined()) fail_released();
        if (value_.version() != version_) fail_changed(owner);
    }

    [[noreturn]] void fail_changed(Node const& owner) const
    {
        Node const* const maker = is_result_ ? &owner : value_.grad_fn();
        detail::fail<VersionError>(
            "one of the variables needed for gradient computation has been modified by an inplace operation: ", detail::describe(value_),
            maker ? ", which is output " + std::to_string(is_result_ ? 0 : value_.output_nr()) + " of " + maker->name() + "," : std::string(), " is at version ", value_.version(),
            "; expected version ", version_, " instead. It was saved by ", owner.name(), ".");
    }

    AnyTensor value_;
    std::uint32_t version_ = 0;
    bool is_result_ = false;
};

}  // namespace xgrad

// SecondOrder and ForwardMode: tables of functions for second derivatives and for forward mode.
// They are called through pointers, so that only programs that use one of the two contain its code.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include <xgrad/autograd/any_tensor.hpp>

namespace xgrad::detail {

struct SecondOrder {
    /// apply() of a fused Node, recorded.
    void (*record)(Node& fused, AnyTensor const& gradient, std::span<AnyTensor> results);
    /// Makes a Node the grad_fn of `value`: see linear_combination().
    void (*record_linear)(
        AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b);

    /// Set by link_second_order().
    static inline std::atomic<SecondOrder const*> linked{nullptr};

    static SecondOrder const& of(Node const& node);
};

struct ForwardMode {
    using Push = void (*)(
        Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results);
    // pushforward() of a fused Node, of its recorded backward pass, and of an operation on whole
    // arrays.
    Push push, push_gradient, push_arraywise;
    /// pushforward() of any Node: see push_by_transposing().
    void (*push_transposed)(Node& node, std::vector<AnyTensor> outputs,
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    /// Set by link_forward_mode().
    static inline std::atomic<ForwardMode const*> linked{nullptr};

    static ForwardMode const& of(Node const& node);
};

/// Returns `value`, which is factor * a, or factor * a + b. It is recorded where grad mode is on
/// and one of the two requires a gradient: gradients are added, copied and scaled so.
AnyTensor linear_combination(
    AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b = nullptr);

/// SecondOrder::record_linear.
XGRAD_LAZY void record_linear(
    AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b);

/// Forward mode for a Node with only a backward pass. The backward pass is linear in its gradients,
/// and its transpose takes tangents to tangents. `outputs` are zeros with the shapes of the Node's
/// outputs. The tangents may be a batch.
void push_by_transposing(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

/// Links the code of second derivatives, which fused_gradient_node.hpp defines. A program that
/// never calls it does not contain that code.
XGRAD_LAZY void link_second_order() noexcept;
/// The same for forward mode, which uses second derivatives.
XGRAD_LAZY void link_forward_mode() noexcept;

} // namespace xgrad::detail

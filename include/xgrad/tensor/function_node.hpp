// AnyFunctionNode: the Node of a custom Function, without its types: what forward marks and saves,
// how its results are connected to the graph, and checks of the gradients that backward returns.
// Read next: function.hpp.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad::detail {

class AnyFunctionNode : public Node {
public:
    using Tensors = std::vector<AnyTensor>;

    /// Edges of the inputs of a Function; an empty vector where no input requires a gradient.
    XGRAD_LAZY static CachedVector<Edge> edges_to(Tensors const& inputs);

    /// `first` has the index of the first input of each argument of forward, and the number of
    /// inputs.
    XGRAD_LAZY AnyFunctionNode(std::string_view function, Tensors inputs,
        std::vector<std::uint32_t> first, CachedVector<Edge> edges);

    std::string name() const override { return backward_name(function_); }
    void release_saved() noexcept override {
        for (auto& s : saved_) s.tensor.release();
    }
    XGRAD_FUNCTION std::vector<NamedSavedTensor> saved_tensors() override;

    std::string_view function() const noexcept { return function_; }
    /// Zeros with the shapes of the results; undefined where a result has no gradient.
    XGRAD_LAZY Tensors zero_outputs() const;
    /// True where the call is recorded.
    bool is_recorded() const noexcept { return !edges_.empty(); }

    XGRAD_LAZY bool needs_input_grad(std::size_t argument) const;
    XGRAD_LAZY bool needs_input_grad(std::size_t argument, std::size_t element) const;

    XGRAD_LAZY void mark_dirty(AnyTensor const& t);
    XGRAD_LAZY void mark_non_differentiable(AnyTensor const& t) {
        check_in_forward("mark_non_differentiable");
        non_differentiable_.push_back(t);
    }
    XGRAD_LAZY void save_for_backward(Tensors tensors) {
        check_in_forward("save_for_backward");
        to_save_ = std::move(tensors);
    }
    XGRAD_LAZY AnyTensor unpack_saved(std::size_t i);

    bool materialize_grads = true, materialize_non_diff_grads = true;

protected:
    /// Connects the results of forward to the graph and saves tensors. Some results are replaced by
    /// other tensors with the same values. Everything that can throw is done before the first
    /// grad_fn changes.
    XGRAD_LAZY void finish_forward(Tensors& results);

    /// Replaces undefined gradients by zeros.
    XGRAD_LAZY void fill_undefined(std::span<AnyTensor> gradients) const;

    std::size_t first_of(std::size_t argument) const { return first_[argument]; }
    Shape const& shape_of(std::size_t input) const { return shapes_[input]; }
    XGRAD_LAZY std::size_t count_of(std::size_t argument) const;

    /// Stores the gradient of a tensor of an argument, summed to its shape where it was broadcast.
    template <Scalar T>
    void give(Tensor<T> gradient, std::size_t argument, std::size_t element,
        std::span<AnyTensor> results) const {
        if (!gradient.defined() || argument + 1 >= first_.size()) return;
        if (count_of(argument) == 0) fail_gradient_for_nothing(argument);
        auto const k = first_[argument] + element;
        if (!edges_[k]) return;
        if (!(gradient.shape() == shapes_[k])) {
            check_expandable(gradient.shape(), argument, element);
            gradient = sum_to(gradient, shapes_[k]);
        }
        results[k] = !grad_mode && gradient.requires_grad() ? alias(gradient) : gradient;
    }
    /// Stores the tangent of result i, where i < end.
    XGRAD_LAZY void give_tangent(AnyTensor const& tangent, std::size_t i, std::size_t end,
        std::span<AnyTensor> results) const;
    XGRAD_LAZY void check_number_of_gradients(std::size_t got, std::size_t argument) const;

    using Rule = void (*)(
        AnyFunctionNode&, std::span<AnyTensor const> incoming, std::span<AnyTensor> outgoing);

    /// Gives an ErrorNode to gradients or tangents that a recorded `rule`, backward or jvp,
    /// computed without operations on tensors: they would count as constants. A rule is linear in
    /// what comes in: a result that is not 0 and does not depend on it was not recorded.
    XGRAD_LAZY void forbid_unrecorded(std::string_view name, bool is_once_differentiable,
        std::span<AnyTensor const> incoming, std::span<AnyTensor> results, Rule rule);

private:
    struct Saved {
        SavedTensor tensor;
        bool defined = false;
    };
    struct Output {
        TypeInfo const* type = nullptr; // null for an undefined tensor
        Shape shape = {};
        bool differentiable = false;
    };

    XGRAD_LAZY [[gnu::cold]] void find_unrecorded(std::string_view name,
        std::span<AnyTensor const> incoming, std::span<AnyTensor> results, Rule rule);

    XGRAD_LAZY static std::size_t find(Tensors const& all, AnyTensor const& t);
    XGRAD_LAZY static bool contains(Tensors const& all, AnyTensor const& t) {
        return find(all, t) < all.size();
    }

    XGRAD_LAZY bool needs_gradient(std::size_t k) const;

    XGRAD_LAZY void check_in_forward(std::string_view call) const;
    XGRAD_LAZY void check_marks(Tensors const& results) const;

    /// Converts a value to a result of this Node: a tensor of its own.
    XGRAD_LAZY AnyTensor as_result(AnyTensor const& t) const;
    /// Converts a value to a constant: an input that has no grad_fn, or an array that forward
    /// created.
    XGRAD_LAZY AnyTensor as_constant(AnyTensor const& t) const;

    XGRAD_LAZY void save(Tensors const& returned, Tensors const& results);

    [[noreturn, gnu::cold]] void fail_gradient_for_nothing(std::size_t argument) const {
        fail<GraphError>("function ", name(),
            " returned a gradient different than std::nullopt at position ", argument,
            ", but the corresponding forward input was not a tensor");
    }
    XGRAD_LAZY void check_expandable(
        Shape const& got, std::size_t argument, std::size_t element) const;

    std::string_view function_;
    Tensors inputs_, dirty_, non_differentiable_, to_save_; // while forward runs
    bool in_forward_ = true;
    std::vector<std::uint32_t> first_;
    CachedVector<Edge> edges_;
    std::vector<Shape> shapes_;
    std::vector<Saved> saved_;
    std::vector<Output> outputs_;
};

} // namespace xgrad::detail

// FusedGradientNode: the recorded backward pass of a FusedNode, as one Node. Its own backward pass
// is one pass over dual numbers. Where that pass is recorded too, for third derivatives, it is
// replayed operation by operation (traced.hpp).
// LocalJacobian: the derivatives of each element by its operands, for several directions, which the
// leading axis of a batch counts. One backward pass computes them, and each direction then costs a
// product for each operand (preaccumulation; benchmark: statistics, rows "jacobian").
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/arraywise_record.hpp>
#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/shared_tables.hpp>

namespace xgrad::detail {

class LocalJacobian {
public:
    /// With respect to `operands`; of those that are one tensor it has all or none. Reads the saved
    /// values. Or it writes the derivatives, of the real part, into an array of each operand.
    XGRAD_LAZY LocalJacobian(
        FusedNode const& node, OperandMask operands, AnyArray const* into = nullptr);

    /// The tangents of the result for tangents of the edges.
    XGRAD_LAZY AnyTensor push(std::span<AnyTensor const> tangents) const;
    /// Adds to the gradients of the edges those for gradients of the result.
    XGRAD_LAZY void pull(AnyTensor const& gradients, std::span<AnyTensor> results) const;

private:
    /// The gradients of the real, or of the imaginary parts of the result.
    XGRAD_LAZY void compute(bool imaginary);
    /// The product of the derivatives by operand k with a batch: of tangents of the operand, or of
    /// gradients of the result. It is written, or summed, to arrays of this shape.
    XGRAD_LAZY AnyTensor multiply(
        bool pushes, std::size_t k, AnyArray const& by, Shape const& shape) const;

    FusedNode const& node_;
    KernelTable const& kernels_;
    GradientTargets targets_;
    bool is_complex_;                    // the result
    CachedVector<AnyArray> derivatives_; // by each operand, of the real and the imaginary parts; of
                                         // a sum, times its factor
};

/// The number of directions in a batch of tangents of the edges of a Node, or 0 where they are
/// tangents of one direction.
XGRAD_LAZY std::size_t directions_of(FusedNode const& node, std::span<AnyTensor const> tangents);
/// An array with a leading axis as a loop over batches of `dims` further axes takes it.
XGRAD_LAZY AnyArray aligned_batch(AnyArray a, std::size_t dims);

/// Its outputs are the gradients of the Node `of`. Its inputs are the operands on which they
/// depend, and grad_output. It is a template so that only programs that record a backward pass
/// instantiate it.
template <class = void> class FusedGradientNode final : public Node {
public:
    FusedGradientNode(FusedNode& of, AnyTensor const& gradient)
        : keep_(&of), of_(of), saved_(operand_count() + 2), gradient_shape_(gradient.shape()) {
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (of.is_read(k)) saved_operands_ |= OperandMask{1} << of.first_of(k);
        edges_.reserve(of.next_edges().size() + 1);
        for (std::size_t k = 0; k < operand_count(); ++k) {
            bool const is_target = of.makes_gradient(k);
            if (!is_target || !(saved_operands_ >> of.first_of(k) & 1 || of.saves_result()))
                continue;
            edges_.push_back(of.next_edges()[of.edge_of(k)]);
            differentiable_ |= OperandMask{1} << k;
        }
        if (Edge edge = gradient_edge(gradient)) {
            edges_.push_back(std::move(edge));
            has_gradient_edge_ = true;
        }
        set_edges(edges_.data(), edges_.size());
        set_num_outputs(static_cast<std::uint32_t>(of.next_edges().size()));
        if (edges_.empty()) return;
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (saved_operands_ >> k & 1) saved_[k] = SavedTensor::operand(of.unpack_operand(k));
        if (of.saves_result()) saved_result() = SavedTensor::operand(of.unpack_result());
        if (differentiable_) saved_gradient() = SavedTensor::operand(gradient);
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!any_defined(gradients)) return;
        if (!recording() || !would_record(gradients)) apply_fused(gradients, results);
        else if (of_.table().traced) apply_recorded(gradients, results);
        else apply_undifferentiable(gradients, results);
    }

    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        ForwardMode::of(*this).push_gradient(*this, tangents, results);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::fused_gradient; }
    /// The Node whose backward pass this is.
    FusedNode const& of() const noexcept { return of_; }
    [[gnu::cold]] std::string name() const override { return backward_name(of_.name()); }
    [[gnu::cold]] std::string formula() const override { return "Gradient(" + of_.formula() + ")"; }
    void release_saved() noexcept override {
        for (auto& s : saved_) s.release();
    }
    [[gnu::cold]] std::vector<NamedSavedTensor> saved_tensors() override {
        std::vector<NamedSavedTensor> all;
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (saved_operands_ >> k & 1) all.push_back({tensor_name(k), &saved_[k]});
        if (of_.saves_result()) all.push_back({"result", &saved_result()});
        if (differentiable_) all.push_back({"gradient", &saved_gradient()});
        return all;
    }

    /// Tangents of the gradients: those due to tangents of the operands (the Hessian is symmetric,
    /// so this is a backward pass), plus the gradients of the tangent of grad_output.
    [[gnu::cold]] void push_tangents(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
        if (recording()) {
            std::vector<AnyTensor> zeros(results.size());
            for (std::size_t k = 0; k < operand_count(); ++k)
                if (of_.makes_gradient(k))
                    zeros[of_.edge_of(k)] =
                        of_.table().operand_types[k]->filled(of_.operand_shape(k), 0);
            return push_by_transposing(*this, std::move(zeros), tangents, results);
        }
        std::size_t directions = 0;
        if (has_gradient_edge_ && tangents.back().defined()) {
            auto gradient = tangents.back();
            NodeLock const lock(of_);
            if (gradient.dim() == gradient_shape_.size()) of_.apply_unrecorded(gradient, results);
            else {
                directions = gradient.shape()[0];
                of_.local_jacobian(of_.wanted()).pull(gradient, results);
            }
        }
        if (!any_defined(tangents.first(tangents.size() - has_gradient_edge_))) return;
        std::vector<AnyTensor> of_operands(of_.next_edges().size());
        std::vector<AnyTensor> found(operand_count());
        for (std::size_t k = 0, edge = 0; k < operand_count(); ++k)
            if (differentiable_ >> k & 1) of_operands[of_.edge_of(k)] = tangents[edge++];
        if (!directions) directions = directions_of(of_, of_operands);
        run_on_duals(of_operands, directions, found, nullptr);
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (differentiable_ >> k & 1) add_to(results[of_.edge_of(k)], std::move(found[k]));
    }

private:
    std::size_t operand_count() const noexcept { return of_.table().kernels.operand_count; }
    SavedTensor& saved_result() noexcept { return saved_[operand_count()]; }
    SavedTensor& saved_gradient() noexcept { return saved_[operand_count() + 1]; }
    bool is_saved(std::size_t i) const noexcept {
        return i < operand_count()    ? saved_operands_ >> i & 1
               : i == operand_count() ? of_.saves_result()
                                      : differentiable_ != 0;
    }

    bool would_record(std::span<AnyTensor const> gradients) const {
        bool would = differentiable_ != 0;
        for (auto const& g : gradients) would |= g.defined() && g.requires_grad();
        return would;
    }
    static bool any_defined(std::span<AnyTensor const> all) {
        return std::any_of(all.begin(), all.end(), [](auto const& t) { return t.defined(); });
    }

    UnpackGuard open_saved() {
        return {{saved_.data(), saved_.size()}, *this, [&](std::size_t i) { return is_saved(i); }};
    }

    /// One pass over dual numbers, for tangents of the edges of the first Node, or for a batch of
    /// so many: the tangents of the gradients of its operands, and, where asked, that of its
    /// result.
    void run_on_duals(std::span<AnyTensor const> tangents, std::size_t directions,
        std::span<AnyTensor> gradients, AnyTensor* tangent) {
        auto const guard = open_saved();
        auto const of_each = [&](Shape const& one) {
            return directions ? batch_shape(directions, one) : one;
        };
        Shape const space = of_each(of_.space());
        KernelCall call(
            of_.table().kernels, of_.expression_object(), Pass::tangent, space, numel(space));
        KernelLayout const layout = call.layout;
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (of_.is_read(k)) call.bind(k, saved_[of_.first_of(k)].array());
            else call.bind_zeros(k);
        if (of_.saves_result()) call.bind(layout.saved_result(), saved_result().array());
        CachedVector<AnyArray> aligned;
        of_.bind_tangents(call, tangents, aligned);
        GradientTargets const targets = of_.gradients().only(dependent_operands());
        call.differentiate(targets);
        AnyArray grad_output;
        if (targets.wanted) {
            auto const gradient = saved_gradient().unpack(*this);
            auto const* const sum = of_.sum();
            grad_output = sum ? sum->spread(gradient, of_.space()) : gradient.impl().array;
            call.bind(layout.grad_output(), grad_output);
        }
        for (std::size_t k = 0; k < operand_count(); ++k) {
            if (!targets.makes_gradient(k)) continue;
            gradients[k] = AnyTensor(
                TensorImpl::make(*of_.table().operand_types[k], of_each(of_.operand_shape(k))));
            auto& to = gradients[k].impl().array;
            if (directions) to = aligned_batch(std::move(to), of_.space().size());
            call.bind(layout.gradients() + k, to);
        }
        if (tangent) *tangent = of_.run_for_tangent(call);
        else call.run();
        for (std::size_t k = 0; directions && k < operand_count(); ++k)
            if (gradients[k].defined())
                gradients[k].impl().array.reshape(of_each(of_.operand_shape(k)));
    }

    /// Operands whose gradients (this Node's outputs) depend on its inputs.
    OperandMask dependent_operands() const {
        OperandMask all = 0;
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (of_.wanted() >> k & 1 && differentiable_ >> of_.target_of(k) & 1)
                all |= OperandMask{1} << k;
        return all;
    }

    void apply_fused(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
        std::vector<AnyTensor> found(operand_count());
        run_on_duals(tangents, 0, found, has_gradient_edge_ ? &results.back() : nullptr);
        std::size_t edge = 0;
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (differentiable_ >> k & 1) results[edge++] = std::move(found[k]);
    }

    /// Without XGRAD_HIGHER_ORDER: the values, as results whose derivatives are an error.
    [[gnu::cold]] void apply_undifferentiable(
        std::span<AnyTensor const> gradients, std::span<AnyTensor> results) {
        {
            NoGradGuard const off;
            apply_fused(gradients, results);
        }
        auto const of = of_.name();
        set_error(of.substr(0, of.rfind("Backward")) +
                      ": its derivatives of third order, and gradients of forward mode, need "
                      "<xgrad/higher_order.hpp>, included before any other header of xgrad",
            edges_, gradients, results);
    }

    /// Recorded: replays the first backward pass on inputs of a local graph, and differentiates
    /// that.
    [[gnu::cold]] void apply_recorded(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
        auto const& table = of_.table();
        auto const guard = open_saved();
        std::size_t const n = operand_count();
        LocalGraph graph;
        std::vector<AnyTensor> operands(n);
        for (std::size_t k = 0, edge = 0; k < n; ++k) {
            std::size_t const first = of_.first_of(k), target = of_.target_of(k);
            bool const is_wanted = of_.wanted() >> k & 1;
            if (is_wanted && target != k) {
                operands[k] = operands[target];
                continue;
            }
            if (saved_operands_ >> first & 1) operands[k] = saved_[first].unpack(*this);
            else operands[k] = shape_only(*table.operand_types[k], of_.operand_shape(k));
            if (is_wanted)
                operands[k] =
                    graph.input(operands[k], differentiable_ >> k & 1 ? edges_[edge++] : Edge());
        }
        AnyTensor gradient = differentiable_ ? saved_gradient().unpack(*this)
                                             : table.result_type.filled(gradient_shape_, 0);
        if (has_gradient_edge_) gradient = graph.input(gradient, edges_.back());
        AnyTensor result;
        if (of_.saves_result()) result = result_of(operands, saved_result().unpack(*this));
        std::vector<AnyTensor> gradients(of_.next_edges().size());
        TracedVertices(operands.data()).backpropagate(of_, result, gradient, gradients);
        auto const found = graph.gradients(gradients, tangents);
        // gradients of operands that the first pass does not read are undefined and have no edge
        std::size_t input = 0, edge = 0;
        for (std::size_t k = 0; k < n; ++k)
            if (of_.makes_gradient(k)) {
                if (differentiable_ >> k & 1) results[edge++] = found[input];
                ++input;
            }
        if (has_gradient_edge_) results[edge] = found[input];
    }

    /// The saved result, as a function of `operands`.
    [[gnu::cold]] AnyTensor result_of(
        std::span<AnyTensor const> operands, AnyTensor const& value) const {
        AnyTensor const* pointers[64];
        for (std::size_t k = 0; k < operands.size(); ++k) pointers[k] = &operands[k];
        AnyTensor result = alias(value);
        BoundOperands const in(of_.table(), of_.expression_object(), pointers, true);
        result.impl().grad_fn =
            FusedNode::make(of_.expression_object(), pointers, in, nullptr, result);
        return result;
    }

    Ref<Node> keep_;
    FusedNode& of_;
    CachedVector<SavedTensor> saved_; // of the operands, the result and grad_output
    CachedVector<Edge> edges_;
    Shape gradient_shape_;
    OperandMask saved_operands_ = 0;
    OperandMask differentiable_ = 0; // operands with an edge
    bool has_gradient_edge_ = false;
};

} // namespace xgrad::detail

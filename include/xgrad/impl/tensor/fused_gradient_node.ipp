// Bodies of fused_gradient_node.hpp, traced.hpp and operand_plan.hpp: forward
// mode, derivatives of gradients, and gradients of sums over axes.
#pragma once

#include <xgrad/expr/expression.hpp>
#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/tensor/fused_gradient_node.hpp>
#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/operand_plan.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Shape SumOver::reduced(Shape const& space, bool keep) const {
    if (kernel) return keep ? Shape(space.size(), 1) : Shape();
    return reduced_shape(space, axes, keep);
}

XGRAD_FUNCTION AnyArray SumOver::spread(AnyTensor const& gradient, Shape const& space) const {
    AnyArray g = scale == 1 ? gradient.impl().array
                            : gradient.impl().type->scaled(gradient, scale).impl().array;
    if (g.numel == 1) {
        g.shape = {};
        g.strides = {};
        return g;
    }
    Strides strides(space.size(), 0);
    bool const keepdims = g.shape.size() == space.size();
    for (std::size_t d = 0, at = 0, axis = 0; d < space.size(); ++d) {
        bool const summed = axis < axes.size() && static_cast<std::size_t>(axes[axis]) == d;
        axis += summed;
        if (!summed && space[d] != 1) strides[d] = g.strides[at];
        at += !summed || keepdims;
    }
    g.numel = numel(space); // no set_view(): only loops read it
    g.contiguous = is_row_major(space, strides);
    g.shape = space;
    g.strides = std::move(strides);
    return g;
}

XGRAD_LAZY_BODY void FusedNode::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (recording()) {
        auto const shape = sum_ ? sum_->reduced(space_, sum_->keeps_dims) : space_;
        return push_by_transposing(
            *this, {table().result_type.filled(shape, 0)}, tangents, results);
    }
    std::size_t const n = operand_count();
    if (directions_of(*this, tangents)) {
        OperandMask moving = 0;
        for (std::size_t k = 0; k < n; ++k)
            if (wanted() >> k & 1 && tangents[edge_of(k)].defined()) moving |= OperandMask{1} << k;
        results[0] = local_jacobian(moving).push(tangents);
        return;
    }
    auto const guard = open_saved();
    KernelCall call(table().kernels, expression_object(), Pass::tangent, space_, count_);
    GradientTargets const none = gradients().only(0);
    CachedVector<AnyArray> aligned;
    call.differentiate(none);
    bind_saved(call);
    bind_tangents(call, tangents, aligned);
    results[0] = run_for_tangent(call);
}

XGRAD_LAZY_BODY void FusedNode::bind_tangents(
    KernelCall& call, std::span<AnyTensor const> tangents, CachedVector<AnyArray>& aligned) const {
    aligned.resize(operand_count());
    for (std::size_t k = 0; k < operand_count(); ++k) {
        bool const moves = wanted() >> k & 1 && tangents[edge_of(k)].defined();
        if (moves) {
            auto const& t = tangents[edge_of(k)].impl().array;
            bool const is_batch = t.shape.size() > operand_shape(k).size();
            aligned[k] = is_batch ? aligned_batch(t, space_.size()) : t;
        }
        call.bind_tangent(k, moves ? &aligned[k] : nullptr);
    }
}

XGRAD_LAZY_BODY AnyTensor FusedNode::run_for_tangent(KernelCall& call) const {
    AnyTensor tangent(
        TensorImpl::make(table().result_type, sum_ ? sum_->reduced(space_, true) : space_));
    auto& array = tangent.impl().array;
    call.bind(call.layout.tangent(), array, sum_ ? sum_->scale : 1);
    call.run();
    if (sum_) array.reshape(sum_->reduced(space_, sum_->keeps_dims));
    return tangent;
}

XGRAD_LAZY_BODY LocalJacobian FusedNode::local_jacobian(
    OperandMask operands, AnyArray const* into) {
    auto const guard = open_saved();
    return LocalJacobian(*this, operands, into);
}

XGRAD_LAZY_BODY void FusedNode::apply_recorded(
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    auto const guard = open_saved();
    {
        NoGradGuard const off;
        auto grad_output = gradient; // a second reference: no result overwrites it
        apply_unrecorded(grad_output, results);
    }
    Ref<Node> const node(new FusedGradientNode<>(*this, gradient));
    if (node->next_edges().empty()) return;
    for (std::uint32_t i = 0; i < results.size(); ++i) {
        results[i].impl().grad_fn = node;
        results[i].impl().output_nr = i;
    }
}

XGRAD_LAZY_BODY void link_second_order() noexcept {
    static constexpr SecondOrder all{
        [](Node& node, AnyTensor const& gradient, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).apply_recorded(gradient, results);
        },
        [](AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b) {
            record_linear(value, factor, a, b);
        },
    };
    SecondOrder::linked.store(&all, std::memory_order_release);
}

XGRAD_LAZY_BODY void link_forward_mode() noexcept {
    static constexpr ForwardMode all{
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedGradientNode<>&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<ArraywiseRecord&>(node).push_tangents(tangents, results);
        },
        &push_transposed,
    };
    link_second_order();
    ForwardMode::linked.store(&all, std::memory_order_release);
}

XGRAD_LAZY_BODY AnyTensor const& TracedVertices::value(std::size_t at) {
    auto& v = all_[at];
    if (v.value.defined()) return v.value;
    std::vector<AnyTensor> x(v.table->operands);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(operand(at, i));
    return v.value = v.table->value(v.object, x.empty() ? operands_ + v.first_operand : x.data());
}

XGRAD_LAZY_BODY void TracedVertices::append(
    TracedTable const* table, void const* object, bool is_operand) {
    all_.push_back({table, object, operand_count_, {}, {}});
    operand_count_ += is_operand;
}

XGRAD_LAZY_BODY void TracedVertices::backpropagate(FusedNode const& node, AnyTensor const& result,
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    auto const& traced = *node.table().traced;
    traced.append(node.expression_object(), *this);
    auto const& root = *traced.result();
    auto const* const sum = node.sum();
    auto const g = sum ? root.spread(gradient, *sum, node.space()) : gradient;
    all_[0].gradient = root.value(nullptr, &g);
    if (result.defined()) all_[0].value = root.value(nullptr, &result);
    for (std::size_t at = 0; at < all_.size(); ++at) {
        auto const& v = all_[at];
        if (!v.gradient.defined()) continue;
        if (v.table->arrive)
            add_to(results[node.edge_of(v.first_operand)],
                v.table->arrive(v.gradient, node.operand_shape(v.first_operand)));
        for (std::size_t i = 0, child = at + 1; i < v.table->operands; ++i, child = end(child)) {
            std::size_t const first = all_[child].first_operand, behind = end(child);
            std::size_t const last =
                behind < all_.size() ? all_[behind].first_operand : operand_count_;
            if (node.wanted() & operands_from(first, last - first))
                all_[child].gradient = v.table->pull(*this, at, i, v.gradient);
        }
    }
}

/// d times t. It is 0 where t is, also if d is infinite: t may be the tangent of a constant.
template <class P> XGRAD_INLINE simd::Batch<P> guarded_product(simd::Batch<P> d, simd::Batch<P> t) {
    return where(t == 0, simd::Batch<P>(0), d * t);
}
template <class P> // as of two real numbers
XGRAD_INLINE simd::Batch<P> guarded_product(simd::ComplexBatch<P> d, simd::ComplexBatch<P> t) {
    return guarded_product(d.re, t.re) + guarded_product(d.im, t.im);
}
template <class P>
XGRAD_INLINE simd::ComplexBatch<P> guarded_product(simd::ComplexBatch<P> d, simd::Batch<P> g) {
    return {guarded_product(d.re, g), guarded_product(d.im, g)};
}

/// The tangent of a result from that of an operand, and from the derivatives of the result, or of
/// its real and its imaginary part.
struct PushedTangent : Elementwise<R(R, R), R(C, C), C(R, R, R), C(C, C, C)> {
    XGRAD_INLINE auto value(auto d, auto t) const { return guarded_product(d, t); }
    XGRAD_INLINE auto value(auto d_re, auto d_im, auto t) const {
        return simd::ComplexBatch(guarded_product(d_re, t), guarded_product(d_im, t));
    }
};
/// The gradient of an operand from that of a result, and from the same derivatives.
struct PulledGradient : Elementwise<R(R, R), C(C, R), R(R, R, C), C(C, C, C)> {
    XGRAD_INLINE auto value(auto d, auto g) const { return guarded_product(d, g); }
    XGRAD_INLINE auto value(auto d_re, auto d_im, auto g) const {
        return guarded_product(d_re, g.re) + guarded_product(d_im, g.im);
    }
};

/// A rule, which has no members, on operands of precision P: only its values.
template <class Rule, class P, class... T> KernelTable values_of() {
    KernelTable table{};
    table.operand_count = sizeof...(T);
    table.value = &run_block<Expression<Rule, Slot<T>...>, Pass::value>;
    table.lanes = simd::Batch<P>::width;
    return table;
}
template <class P>
KernelTable product_table(bool pushes, bool is_complex_operand, bool is_complex_result) {
    using Z = std::complex<P>;
    if (is_complex_operand && is_complex_result)
        return pushes ? values_of<PushedTangent, P, Z, Z, Z>()
                      : values_of<PulledGradient, P, Z, Z, Z>();
    if (is_complex_operand)
        return pushes ? values_of<PushedTangent, P, Z, Z>() : values_of<PulledGradient, P, Z, P>();
    if (is_complex_result)
        return pushes ? values_of<PushedTangent, P, P, P, P>()
                      : values_of<PulledGradient, P, P, P, Z>();
    return pushes ? values_of<PushedTangent, P, P, P>() : values_of<PulledGradient, P, P, P>();
}

XGRAD_LAZY_BODY AnyArray aligned_batch(AnyArray a, std::size_t dims) {
    while (a.shape.size() <= dims) {
        a.shape.insert(1, std::size_t{1});
        a.strides.insert(1, std::ptrdiff_t{0});
    }
    return a;
}

XGRAD_LAZY_BODY std::size_t directions_of(
    FusedNode const& node, std::span<AnyTensor const> tangents) {
    for (std::size_t k = 0; k < node.operand_count(); ++k) {
        if (!node.makes_gradient(k)) continue;
        auto const& t = tangents[node.edge_of(k)];
        if (t.defined())
            return t.dim() > node.operand_shape(k).size() ? t.shape()[0] : std::size_t{0};
    }
    return 0;
}

XGRAD_LAZY_BODY LocalJacobian::LocalJacobian(
    FusedNode const& node, OperandMask operands, AnyArray const* into)
    : node_(node), kernels_(node.table().kernels), targets_(node.gradients().only(operands)),
      is_complex_(xgrad::is_complex(node.table().result_type.dtype)),
      derivatives_(2 * kernels_.operand_count) {
    for (std::size_t k = 0; into && k < kernels_.operand_count; ++k) derivatives_[2 * k] = into[k];
    compute(false);
    if (is_complex_ && !into) compute(true);
}

XGRAD_LAZY_BODY void LocalJacobian::compute(bool imaginary) {
    auto const* const sum = node_.sum();
    AnyTensor const unit = node_.table().result_type.filled(Shape(), sum ? sum->scale : 1); // or i
    auto const& one = unit.impl().array;
    std::size_t const size = node_.table().result_type.size;
    if (imaginary) std::rotate(one.data, one.data + size / 2, one.data + size);
    KernelCall call(
        kernels_, node_.expression_object(), Pass::gradient, node_.space(), node_.count());
    call.differentiate(targets_);
    node_.bind_saved(call);
    call.bind(call.layout.grad_output(), one);
    for (std::size_t k = 0; k < kernels_.operand_count; ++k) {
        if (!targets_.makes_gradient(k)) continue;
        auto& d = derivatives_[2 * k + imaginary];
        if (!d.defined()) d = AnyArray(node_.space(), kernels_.operand[k]->element);
        call.bind(call.layout.gradients() + k, d);
    }
    call.run();
}

XGRAD_LAZY_BODY AnyTensor LocalJacobian::multiply(
    bool pushes, std::size_t k, AnyArray const& by, Shape const& shape) const {
    auto const &operand = *kernels_.operand[k], &result = *kernels_.result;
    auto const& type = *node_.table().operand_types[k];
    std::size_t const directions = by.shape[0], dims = node_.space().size(),
                      parts = is_complex_ ? 2 : 1;
    bool const is_complex_operand = xgrad::is_complex(type.dtype);
    KernelTable table = operand.tile_element == (is_complex_operand ? 16 : 8)
                            ? product_table<double>(pushes, is_complex_operand, is_complex_)
                            : product_table<float>(pushes, is_complex_operand, is_complex_);
    ElementType const* types[] = {&operand, &operand, &operand};
    if (!pushes) types[parts] = &result;
    table.operand = types;
    table.written = pushes ? &result : &operand;
    table.in_place = operand.in_place && result.in_place;
    AnyTensor product(TensorImpl::make(
        pushes ? node_.table().result_type : type, batch_shape(directions, shape)));
    auto& to = product.impl().array;
    to = aligned_batch(std::move(to), dims);
    Shape const space = batch_shape(directions, node_.space());
    AnyArray const aligned = aligned_batch(by, dims);
    KernelCall call(table, zero_buffer.elements, Pass::value, space, numel(space));
    for (std::size_t part = 0; part < parts; ++part) call.bind(part, derivatives_[2 * k + part]);
    call.bind(parts, aligned);
    call.bind(call.layout.result(), to);
    call.run();
    return product;
}

XGRAD_LAZY_BODY AnyTensor LocalJacobian::push(std::span<AnyTensor const> tangents) const {
    auto const* const sum = node_.sum();
    AnyTensor y;
    for (std::size_t k = 0; k < kernels_.operand_count; ++k) {
        if (!targets_.makes_gradient(k) || !tangents[node_.edge_of(k)].defined()) continue;
        auto const part = multiply(true, k, tangents[node_.edge_of(k)].impl().array,
            sum ? sum->reduced(node_.space(), true) : node_.space());
        if (y.defined()) node_.table().result_type.add_in_place(y, part);
        else y = part;
    }
    if (sum)
        y.impl().array.reshape(
            batch_shape(y.shape()[0], sum->reduced(node_.space(), sum->keeps_dims)));
    return y;
}

XGRAD_LAZY_BODY void LocalJacobian::pull(
    AnyTensor const& gradients, std::span<AnyTensor> results) const {
    auto const* const sum = node_.sum();
    AnyArray g = gradients.impl().array;
    if (sum) {
        if (!g.contiguous) g = gradients.impl().type->copy(gradients).impl().array;
        g.reshape(batch_shape(g.shape[0], sum->reduced(node_.space(), true)));
    }
    for (std::size_t k = 0; k < kernels_.operand_count; ++k) {
        if (!targets_.makes_gradient(k)) continue;
        auto const& shape = node_.operand_shape(k);
        auto const gradient = multiply(false, k, g, shape);
        gradient.impl().array.reshape(batch_shape(g.shape[0], shape));
        add_to(results[node_.edge_of(k)], gradient);
    }
}

} // namespace xgrad::detail

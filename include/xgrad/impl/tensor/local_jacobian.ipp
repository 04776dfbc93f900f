// Bodies of local_jacobian.hpp.
#pragma once

#include <xgrad/expr/expression.hpp>
#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/tensor/local_jacobian.hpp>

namespace xgrad::detail {

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

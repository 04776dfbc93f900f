// Bodies of local_jacobian.hpp.
#pragma once

#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>
#include <xgrad/tensor/local_jacobian.hpp>

namespace xgrad::detail {

/// d times t. It is 0 where t is, also if d is infinite: t may be the tangent of a constant.
template <class P> XGRAD_INLINE P derivative_times(P d, P t) { return t == 0 ? P(0) : d * t; }
template <class P>
XGRAD_INLINE simd::Batch<P> derivative_times(simd::Batch<P> d, simd::Batch<P> t) {
    return where(t == 0, simd::Batch<P>(0), d * t);
}
template <class P>
XGRAD_INLINE P derivative_times(std::complex<P> d, std::complex<P> t) { // as of two real numbers
    return derivative_times(d.real(), t.real()) + derivative_times(d.imag(), t.imag());
}

/// y += d t for n elements. D is complex where the operand is, which t is as well.
template <class D, class P>
void add_products(
    void* y, void const* d, void const* t, std::size_t n, std::size_t step /* of y */) {
    auto* const to = static_cast<P*>(y);
    auto const *const by = static_cast<D const*>(d), *const from = static_cast<D const*>(t);
    if constexpr (std::same_as<D, P>)
        if (step == 1)
            return map_run(
                to, n,
                [](auto sum, auto a, auto b)
                    XGRAD_LAMBDA_INLINE { return sum + derivative_times(a, b); },
                to, by, from);
    for (std::size_t i = 0; i < n; ++i) to[i * step] += derivative_times(by[i], from[i]);
}
/// to = d g for n elements: the gradient of an operand of type D from that of a real result, or of
/// one part of a complex one.
template <class D, class P>
void add_multiples(void* to, void const* d, void const* g, std::size_t n, std::size_t step) {
    auto* const x = static_cast<P*>(to);
    auto const *const by = static_cast<P const*>(d), *const factor = static_cast<P const*>(g);
    constexpr std::size_t parts = sizeof(D) / sizeof(P);
    if constexpr (parts == 1)
        if (step == 1)
            return map_run(
                x, n,
                [](auto sum, auto a, auto b)
                    XGRAD_LAMBDA_INLINE { return sum + derivative_times(a, b); },
                x, by, factor);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t part = 0; part < parts; ++part)
            x[parts * i + part] += derivative_times(by[parts * i + part], factor[i * step]);
}
using Products = void (*)(void* to, void const* d, void const* by, std::size_t n, std::size_t step);
XGRAD_LAZY Products products_of(bool is_complex, bool is_double) {
    if (is_complex)
        return is_double ? &add_products<std::complex<double>, double>
                         : &add_products<std::complex<float>, float>;
    return is_double ? &add_products<double, double> : &add_products<float, float>;
}
XGRAD_LAZY Products multiples_of(bool is_complex, bool is_double) {
    if (is_complex)
        return is_double ? &add_multiples<std::complex<double>, double>
                         : &add_multiples<std::complex<float>, float>;
    return is_double ? &add_multiples<double, double> : &add_multiples<float, float>;
}

XGRAD_LAZY_BODY Shape batch_shape(std::size_t directions, Shape const& shape) {
    Shape all = shape;
    all.insert(0, directions);
    return all;
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

XGRAD_LAZY_BODY LocalJacobian::LocalJacobian(FusedNode const& node, AnyArray const* const* values,
    AnyArray const* result, OperandMask operands, AnyArray const* into, double factor)
    : node_(node), kernels_(node.table().kernels), targets_(node.gradients().only(operands)),
      is_complex_(xgrad::is_complex(node.table().result_type.dtype)),
      is_double_(kernels_.result->tile_element == (is_complex_ ? 16 : 8)),
      derivatives_(2 * kernels_.operand_count) {
    for (std::size_t k = 0; into && k < kernels_.operand_count; ++k) derivatives_[2 * k] = into[k];
    compute(values, result, false, factor);
    if (is_complex_ && !into) compute(values, result, true, factor);
}

XGRAD_LAZY_BODY bool LocalJacobian::is_complex_operand(std::size_t k) const {
    return xgrad::is_complex(node_.table().operand_types[k]->dtype);
}

XGRAD_LAZY_BODY void LocalJacobian::compute(
    AnyArray const* const* values, AnyArray const* result, bool imaginary, double factor) {
    KernelLayout const layout{kernels_.operand_count};
    std::size_t const n = kernels_.operand_count;
    alignas(16) std::byte grad_output[16] = {};
    AnyArray unit{AnyArray::Number()}; // factor or i, for all elements
    unit.data = grad_output;
    auto const set = [&]<class P>(P one) { reinterpret_cast<P*>(grad_output)[imaginary] = one; };
    kernels_.result->element == (is_complex_ ? 16 : 8) ? set(factor)
                                                       : set(static_cast<float>(factor));
    NdLoop loop(node_.space(), layout.total());
    for (std::size_t k = 0; k < n; ++k)
        loop.add(k, node_.is_read(k) ? input_operand(*values[k], *kernels_.operand[k])
                                     : absent_input(*kernels_.operand[k]));
    loop.add(layout.grad_output(), input_operand(unit, *kernels_.result));
    if (result) loop.add(layout.saved_result(), input_operand(*result, *kernels_.result));
    for (std::size_t k = 0; k < n; ++k) {
        if (!targets_.makes_gradient(k)) continue;
        auto const& info = *kernels_.operand[k];
        auto& d = derivatives_[2 * k + imaginary];
        if (!d.defined()) d = AnyArray(node_.space(), info.element);
        loop.add(layout.gradients() + k, output_operand(d, info));
    }
    auto body = [&](void* const* at, std::size_t count, LoopFacts facts) {
        KernelBlock block{
            node_.expression_object(), at, count, Pass::gradient, facts.constant, &targets_};
        run_kernel(kernels_, kernels_.gradient, block);
    };
    loop.run(loop_body(body));
}

XGRAD_LAZY_BODY AnyTensor LocalJacobian::push(std::span<AnyTensor const> tangents) const {
    struct Term {
        std::size_t operand;
        Products products;
    };
    auto const& type = node_.table().result_type;
    std::size_t const directions = directions_of(node_, tangents), dims = node_.space().size();
    std::size_t const parts = is_complex_ ? 2 : 1;
    CachedVector<Term> terms;
    CachedVector<AnyArray> arrays;
    for (std::size_t k = 0; k < kernels_.operand_count; ++k)
        if (targets_.makes_gradient(k) && tangents[node_.edge_of(k)].defined()) {
            terms.push_back({k, products_of(is_complex_operand(k), is_double_)});
            arrays.push_back(aligned_batch(tangents[node_.edge_of(k)].impl().array, dims));
        }
    auto const* const sum = node_.sum();
    auto const& info = *kernels_.result;
    AnyArray y =
        sum ? zeroed(batch_shape(directions, sum->reduced(node_.space(), true)), info.wide_element)
            : AnyArray(batch_shape(directions, node_.space()), info.element);
    NdLoop loop(batch_shape(directions, node_.space()), terms.size() * (1 + parts) + 1);
    std::size_t next = 0;
    loop.add(next++, sum ? sum_operand(y, info) : output_operand(y, info));
    for (std::size_t i = 0; i < terms.size(); ++i) {
        std::size_t const k = terms[i].operand;
        for (std::size_t part = 0; part < parts; ++part)
            loop.add(next++, input_operand(derivatives_[2 * k + part], *kernels_.operand[k]));
        loop.add(next++, input_operand(arrays[i], *kernels_.operand[k]));
    }
    auto body = [&](void* const* at, std::size_t count, LoopFacts) {
        std::memset(at[0], 0, count * info.tile_element);
        auto const* in = at + 1;
        for (auto const& term : terms) {
            for (std::size_t part = 0; part < parts; ++part)
                term.products(static_cast<std::byte*>(at[0]) + part * info.tile_element / 2,
                    in[part], in[parts], count, parts);
            in += parts + 1;
        }
    };
    loop.run(loop_body(body));
    if (sum) {
        if (sum->scale != 1) info.scale(y, sum->scale);
        info.narrow(y);
        y.reshape(batch_shape(directions, sum->reduced(node_.space(), sum->keeps_dims)));
    }
    return AnyTensor(TensorImpl::make(type, std::move(y)));
}

XGRAD_LAZY_BODY void LocalJacobian::pull(
    AnyTensor const& gradients, std::span<AnyTensor> results) const {
    struct Term {
        std::size_t operand;
        Products products;
        AnyArray gradient;
    };
    std::size_t const directions = gradients.shape()[0], dims = node_.space().size();
    std::size_t const parts = is_complex_ ? 2 : 1;
    auto const* const sum = node_.sum();
    AnyArray g = gradients.impl().array;
    if (sum) {
        if (sum->scale != 1) g = gradients.impl().type->scaled(gradients, sum->scale).impl().array;
        if (!g.contiguous) g = gradients.impl().type->copy(gradients).impl().array;
        g.reshape(batch_shape(directions, sum->reduced(node_.space(), true)));
    }
    CachedVector<Term> terms;
    for (std::size_t k = 0; k < kernels_.operand_count; ++k) {
        if (!targets_.makes_gradient(k)) continue;
        auto const& info = *kernels_.operand[k];
        bool const sums = node_.is_broadcast(k);
        auto const shape = batch_shape(directions, node_.operand_shape(k));
        terms.push_back({k, multiples_of(is_complex_operand(k), is_double_),
            aligned_batch(
                sums ? zeroed(shape, info.wide_element) : AnyArray(shape, info.element), dims)});
    }
    NdLoop loop(batch_shape(directions, node_.space()), terms.size() * (1 + parts) + 1);
    std::size_t next = 0;
    loop.add(next++, input_operand(g, *kernels_.result));
    for (auto const& term : terms) {
        auto const& info = *kernels_.operand[term.operand];
        for (std::size_t part = 0; part < parts; ++part)
            loop.add(next++, input_operand(derivatives_[2 * term.operand + part],
                                 *kernels_.operand[term.operand]));
        loop.add(next++, node_.is_broadcast(term.operand) ? sum_operand(term.gradient, info)
                                                          : output_operand(term.gradient, info));
    }
    auto body = [&](void* const* at, std::size_t count, LoopFacts) {
        auto const* in = at + 1;
        for (auto const& term : terms) {
            std::memset(in[parts], 0, count * kernels_.operand[term.operand]->tile_element);
            for (std::size_t part = 0; part < parts; ++part)
                term.products(in[parts], in[part],
                    static_cast<std::byte const*>(at[0]) + part * kernels_.result->tile_element / 2,
                    count, parts);
            in += parts + 1;
        }
    };
    loop.run(loop_body(body));
    for (auto& term : terms) {
        std::size_t const k = term.operand;
        if (node_.is_broadcast(k)) kernels_.operand[k]->narrow(term.gradient);
        term.gradient.reshape(batch_shape(directions, node_.operand_shape(k)));
        add_to(results[node_.edge_of(k)],
            AnyTensor(TensorImpl::make(*node_.table().operand_types[k], std::move(term.gradient))));
    }
}

} // namespace xgrad::detail

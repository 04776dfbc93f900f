// Bodies of record.hpp and operand_plan.hpp.
#pragma once

#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/operand_plan.hpp>
#include <xgrad/tensor/record.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyTensor record_flat(
    RecordTable const& table, void const* expression, AnyTensor const* const* operands) {
    BoundOperands const in(table, expression, operands, true);
    bool const own_block = in.plan; // a later Node may save the array: see TensorImpl::make()
    AnyTensor result(
        in.same_shape && in.arrays[0]->contiguous
            ? TensorImpl::make(table.result_type, AnyArray::Layout{*in.arrays[0]}, own_block)
            : TensorImpl::make(table.result_type, in.space(), own_block));
    auto const& out = result.handle()->array;
    KernelCall call(table.kernels, expression, Pass::value, out.shape, out.numel);
    call.bind_operands(in.arrays, in.are_plain);
    call.bind(call.layout.result(), out);
    call.run();
    if (in.plan)
        result.handle()->grad_fn = FusedNode::make(expression, operands, in, nullptr, result);
    return result;
}

XGRAD_FUNCTION AnyTensor record_flat_sum(std::string_view operation, RecordTable const& table,
    Kernel kernel, void const* expression, AnyTensor const* const* operands, Axes const* over,
    bool keepdims, bool mean) {
    BoundOperands const in(table, expression, operands, false);
    auto const& space = in.space();
    double const count = static_cast<double>(in.count());
    SumOver sum{mean ? std::string_view("Mean") : std::string_view("Sum"), {}};
    if (kernel && in.plan && !over && !keepdims && FusedNode::sums_at_once(in)) {
        sum.kernel = kernel;
        if (mean) sum.scale = 1 / count;
        auto node = FusedNode::make(expression, operands, in, &sum, AnyTensor());
        double const total = static_cast<FusedNode&>(*node).sum_at_once(in);
        AnyTensor result = real_scalar(table.result_type, total);
        result.handle()->grad_fn = std::move(node);
        return result;
    }
    sum.axes = over ? normalize_axes(operation, *over, space) : all_axes(space.size());
    sum.keeps_dims = keepdims;
    AnyTensor result(TensorImpl::make(table.result_type, sum.reduced(space, true), in.plan));
    auto& sums = result.handle()->array;
    if (mean) sum.scale = static_cast<double>(sums.numel) / count;
    KernelCall call(table.kernels, expression, Pass::value, space, in.count());
    call.bind_operands(in.arrays);
    call.bind(call.layout.result(), sums, sum.scale);
    call.run();
    if (!keepdims) sums.reshape(sum.reduced(space, false));
    if (in.plan) result.impl().grad_fn = FusedNode::make(expression, operands, in, &sum, result);
    return result;
}

XGRAD_FUNCTION Shape vertex_shape(
    Vertex const*& v, AnyTensor const* const*& operand, std::string_view as) {
    Vertex const here = *v++;
    if (here.is_tensor) return (*operand++)->shape();
    Shape shape;
    for (std::size_t i = 0; i < here.operands; ++i) {
        auto const next = vertex_shape(v, operand);
        shape = i == 0 ? next : broadcast(as.empty() ? here.written : as, shape, next);
    }
    return shape;
}

XGRAD_FUNCTION void check_vertex(
    Vertex const*& v, std::size_t& operand, std::size_t wanted, std::string_view as) {
    Vertex const here = *v++;
    if (here.is_tensor) ++operand;
    for (std::size_t i = 0; i < here.operands; ++i) {
        if (v->is_tensor && operand == wanted)
            fail_undefined(as.empty() ? here.written : as, "argument", i);
        check_vertex(v, operand, wanted);
    }
}

XGRAD_NOINLINE XGRAD_FUNCTION void fail_undefined_operand(
    Vertex const* root, std::size_t k, std::string_view as) {
    std::size_t first = 0;
    check_vertex(root, first, k, as);
    fail_undefined("an operation", "its argument");
}

XGRAD_FUNCTION void BoundOperands::bind(RecordTable const& table, void const* expression,
    AnyTensor const* const* operands, bool result_exists, std::string_view as) {
    std::size_t const n = table.kernels.operand_count;
    bool const records = table.plans && recording();
    auto const* const latest = records ? table.plans->load(std::memory_order_acquire) : nullptr;
    auto const* const expected = latest ? latest->pattern.first.data() : first_;
    bool ordered = table.kernels.in_place, same_shapes = true, is_latest = latest;
    std::uint8_t padded_to = 255;
    OperandMask require = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (!operands[k]->defined()) [[unlikely]]
            fail_undefined_operand(table.kernels.vertices, k, as);
        auto const& impl = *operands[k]->handle();
        AnyArray const* const array = arrays[k] = &impl.array;
        std::size_t same = 0;
        while (arrays[same] != array) ++same;
        first_[k] = static_cast<std::uint8_t>(same);
        is_latest &= expected[k] == same;
        if (same != k) {
            require |= (require >> same & 1) << k;
            continue;
        }
        ordered &= array->contiguous;
        padded_to = std::min(padded_to, array->padded_to);
        if (k > 0) same_shapes &= array->shape == arrays[0]->shape;
        if (records &&
            (impl.view ? operands[k]->requires_grad() : impl.requires_grad || impl.grad_fn))
            require |= OperandMask{1} << k;
    }
    same_shape = same_shapes;
    are_plain = ordered && same_shapes &&
                (padded_to >= table.kernels.register_bytes ||
                    (arrays[0]->numel & (table.kernels.lanes - 1)) == 0);
    if (OperandMask const differentiable = require & table.kernels.differentiable) {
        is_latest = is_latest && latest->pattern.requires_grad == differentiable &&
                    latest->pattern.result_exists == result_exists;
        auto const& found =
            is_latest ? *latest // as in most evaluations of an expression
                      : OperandPlan::of(table, expression, first_, differentiable, result_exists);
        if (found.records()) plan = &found;
    }
    if (!same_shape) widen_all(table, operands, as);
}

XGRAD_NOINLINE XGRAD_FUNCTION void BoundOperands::widen_all(
    RecordTable const& table, AnyTensor const* const* operands, std::string_view as) {
    bool fits = true;
    broadcasted_ = arrays[0]->shape;
    for (std::size_t k = 1; k < table.kernels.operand_count; ++k)
        if (first_[k] == k) fits = fits && widen(broadcasted_, arrays[k]->shape);
    if (!fits) {
        auto const* root = table.kernels.vertices;
        vertex_shape(root, operands, as);
    }
}

XGRAD_NOINLINE XGRAD_FUNCTION OperandPlan const& OperandPlan::of(RecordTable const& table,
    void const* expression, std::uint8_t const* first, OperandMask requires_grad,
    bool result_exists) {
    std::size_t const n = table.kernels.operand_count;
    for (auto const* plan = table.plans->load(std::memory_order_acquire); plan; plan = plan->next)
        if (auto const& p = plan->pattern; p.requires_grad == requires_grad &&
                                           p.result_exists == result_exists &&
                                           std::memcmp(p.first.data(), first, n) == 0)
            return *plan;
    OperandPattern pattern{.requires_grad = requires_grad, .result_exists = result_exists};
    std::copy_n(first, n, pattern.first.begin());
    auto* const plan = new OperandPlan(table, expression, pattern);
    plan->next = table.plans->load(std::memory_order_relaxed);
    while (!table.plans->compare_exchange_weak(
        plan->next, plan, std::memory_order_release, std::memory_order_relaxed)) {}
    return *plan;
}

XGRAD_FUNCTION OperandPlan::OperandPlan(
    RecordTable const& t, void const* expression, OperandPattern const& p)
    : pattern(p), table(t), reads(t.reads(expression, p.result_exists)) {
    std::size_t const n = t.kernels.operand_count;
    gradients.wanted = p.requires_grad & reads.reached;
    for (std::size_t k = 0; k < n; ++k) {
        gradients.target[k] = GradientTargets::none;
        if (!(gradients.wanted >> k & 1)) continue;
        auto const first = p.first[k];
        read |= reads.of[k];
        std::size_t j = 0; // the first operand that gets a gradient of the same tensor
        while (!(p.first[j] == first && gradients.wanted >> j & 1)) ++j;
        gradients.target[k] = static_cast<std::uint8_t>(j);
        if (j == k) target[edge[k] = edges++] = static_cast<std::uint8_t>(k);
    }
    for (std::size_t k = 0; k < n; ++k) {
        if (!(read >> k & 1)) continue;
        auto const first = p.first[k];
        if (!(saved >> first & 1)) {
            saved |= OperandMask{1} << first;
            slot_operand[slot[first] = slots++] = first;
            bool gets_one = false;
            for (std::size_t j = 0; j < n; ++j)
                gets_one |= p.first[j] == first && gradients.wanted >> j & 1;
            saves_unconnected |= p.requires_grad >> first & !gets_one;
        }
        slot[k] = slot[first];
    }
    auto const aligned = [](std::size_t at) { return (at + 15) / 16 * 16; };
    edges_at = saved_tensors() * sizeof(SavedTensor);
    expression_at = aligned(edges_at + edges * sizeof(Edge));
    bytes = expression_at + t.expression_bytes;
    sum_at = aligned(bytes);
    bytes_with_sum = sum_at + sizeof(SumOver) + edges * sizeof(Ref<TensorImpl>);
}

} // namespace xgrad::detail

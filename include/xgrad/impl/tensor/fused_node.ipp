// Bodies of fused_node.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/evaluate_into.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/tensor/fused_node.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Ref<Node> FusedNode::make(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result) {
    auto const bytes = block_bytes(*in.plan, over);
    void* const block = allocate(bytes);
    try {
        return Ref<Node>::first(::new (block) FusedNode(expression, operands, in, over, result,
            !default_packing && !in.plan->saves_unconnected));
    } catch (...) {
        deallocate(block, bytes);
        throw;
    }
}

XGRAD_INLINE FusedNode::FusedNode(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result, bool& bare)
    : plan_(*in.plan), repeated_(in.repeated),
      contiguous_(in.contiguous && plan_.table.result.in_place), space_(in.space()) {
    auto const& plan = plan_;
    plan.table.copy_expression(part<std::byte>(plan.expression_at), expression);
    auto* const saved = this->saved();
    for (std::size_t i = 0; i < plan.slots; ++i) {
        auto const& t = *operands[plan.slot_operand[i]]->handle();
        bare = bare && t.array.contiguous && !t.inference;
        if (bare) ::new (saved + i) SavedTensor(t.array);
        else ::new (saved + i) SavedTensor;
    }
    if (saves_result() && bare) ::new (saved + plan.slots) SavedTensor(result.handle()->array, 0);
    else if (saves_result()) ::new (saved + plan.slots) SavedTensor;
    set_edges(edges(), plan.edges);
    set_accumulates(
        !over && contiguous_ && in.same_shape && plan.table.kernels.operand_count <= max_repeated);
    if (!over) return;
    sum_ = ::new (part<std::byte>(plan.sum_at)) SumOver(*over);
    std::uninitialized_value_construct_n(early(), plan.edges);
}

XGRAD_FUNCTION FusedNode::FusedNode(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result, bool&& bare)
    : FusedNode(expression, operands, in, over, result, bare) {
    auto const& plan = plan_;
    auto* const edges = this->edges();
    std::size_t made = 0;
    try {
        for (; made < plan.edges; ++made)
            ::new (edges + made) Edge(gradient_edge(*operands[plan.target[made]]));
    } catch (...) {
        std::uninitialized_value_construct_n(edges + made, plan.edges - made);
        throw;
    }
    if (!in.same_shape) save_shapes(in);
    if (bare) [[likely]]
        return;
    for (std::size_t i = 0; i < plan_.slots; ++i)
        saved()[i] = SavedTensor::operand(*operands[plan_.slot_operand[i]]);
    if (saves_result()) saved()[plan_.slots] = SavedTensor::result(result);
}

XGRAD_FUNCTION FusedNode::~FusedNode() {
    if (sum_) {
        std::destroy_n(early(), plan_.edges);
        std::destroy_at(sum_);
    }
    std::destroy_n(edges(), plan_.edges);
    std::destroy_n(saved(), plan_.saved_tensors());
    if (auto const destroy = table().destroy) destroy(part<std::byte>(plan_.expression_at));
}

XGRAD_FUNCTION void FusedNode::dispose() noexcept {
    auto const bytes = block_bytes(plan_, sum_);
    this->FusedNode::~FusedNode(); // qualified: the class is final, no virtual call
    deallocate(this, bytes);
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedNode::save_shapes(BoundOperands const& in) {
    std::size_t const n = operand_count();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t const first = first_of(k);
        auto const& shape = in.arrays[k]->shape;
        if (first != k) broadcast_ |= (broadcast_ >> first & 1) << k;
        else if (shape != space_) {
            broadcast_ |= OperandMask{1} << k;
            if (shape.empty()) continue;
            if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
            shapes_[k] = shape;
        }
    }
}

// Texts and saved tensors.

XGRAD_FUNCTION std::string FusedNode::name() const {
    auto const root = table().kernels.vertices->name;
    return backward_name(sum_ ? sum_->name : root.empty() ? "Alias" : root);
}

XGRAD_FUNCTION std::string FusedNode::formula() const {
    auto const* first = table().kernels.vertices;
    std::size_t tensors = 0;
    auto const inner = expression_text(first, tensors);
    return sum_ ? std::string(sum_->name) + "(" + inner + ")" : inner;
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> FusedNode::saved_tensors() {
    auto* const saved = completed();
    has_early_ = false; // hooks may replace a value
    std::vector<NamedSavedTensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (plan_.saved >> k & 1) all.push_back({tensor_name(k), saved + plan_.slot[k]});
    if (saves_result()) all.push_back({"result", saved + plan_.slots});
    return all;
}

XGRAD_FUNCTION void FusedNode::release_saved() noexcept {
    for (auto *s = saved(), *const end = s + plan_.saved_tensors(); s != end; ++s) s->release();
    for (std::size_t i = 0; has_early_ && i < plan_.edges; ++i) early()[i] = {};
    has_early_ = false;
}

XGRAD_FUNCTION Shape const& FusedNode::operand_shape(std::size_t k) const {
    static Shape const of_a_number;
    return !is_broadcast(k) ? space_ : shapes_ ? shapes_[first_of(k)] : of_a_number;
}

XGRAD_FUNCTION SavedTensor* FusedNode::completed() {
    NodeLock const lock(*this);
    for (std::size_t i = 0; i < plan_.slots; ++i) {
        std::size_t const k = plan_.slot_operand[i];
        std::size_t at = k; // the operand of the same tensor that has an edge
        while (at < operand_count() && !(first_of(at) == k && makes_gradient(at))) ++at;
        saved()[i].complete(*table().operand_types[k], operand_shape(k),
            at < operand_count() ? edges()[plan_.edge[at]] : Edge());
    }
    if (saves_result()) saved()[plan_.slots].complete(table().result_type, space_, {});
    return saved();
}

XGRAD_FUNCTION AnyArray FusedNode::saved_array(std::size_t i) const {
    return saved()[i].array(i < plan_.slots ? operand_shape(plan_.slot_operand[i]) : space_);
}

XGRAD_FUNCTION void FusedNode::UnpackGuard::open() {
    auto* const saved = node_.completed();
    for (std::size_t i = 0; i < node_.plan_.saved_tensors(); ++i)
        if (saved[i].open(node_)) {
            unpacked_ |= OperandMask{1} << i;
            node_.contiguous_ &= saved[i].array().contiguous;
        }
}

XGRAD_FUNCTION void FusedNode::UnpackGuard::close() noexcept {
    for (std::size_t i = 0; unpacked_ >> i; ++i)
        if (unpacked_ >> i & 1) node_.saved()[i].close();
}

// Passes.

XGRAD_FUNCTION double FusedNode::sum_at_once(BoundOperands const& in) {
    double const sum = run(&in, nullptr, {early(), plan_.edges});
    has_early_ = true;
    return sum_->scale * sum;
}

XGRAD_FUNCTION bool FusedNode::would_record(AnyTensor const& gradient) {
    auto const* const saved = completed();
    bool any = gradient.requires_grad() || saves_result();
    for (std::size_t i = 0; i < plan_.slots; ++i) any |= saved[i].requires_grad();
    return any;
}

XGRAD_FUNCTION void FusedNode::apply_unrecorded(AnyTensor& gradient, std::span<AnyTensor> results) {
    if (!is_intact()) [[unlikely]]
        return apply_unpacked(gradient, results);
    if (sum_) apply_sum(gradient, results);
    else run(nullptr, &gradient.handle()->array, results, &gradient);
}

XGRAD_FUNCTION void FusedNode::apply_unpacked(AnyTensor& gradient, std::span<AnyTensor> results) {
    UnpackGuard const guard(*this);
    if (sum_) apply_sum(gradient, results);
    else run(nullptr, &gradient.handle()->array, results, &gradient);
}

XGRAD_FUNCTION void FusedNode::apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    auto& gradient = gradients[0];
    if (!gradient.defined()) return;
    if (recording() && would_record(gradient))
        SecondOrder::of(*this).record(*this, gradient, results);
    else apply_unrecorded(gradient, results);
}

XGRAD_FUNCTION void FusedNode::apply_sum(AnyTensor const& gradient, std::span<AnyTensor> results) {
    if (sum_->kernel)
        if (double const factor = real_scalar(gradient);
            factor == 1 || (std::abs(factor) >= min_factor && std::abs(factor) <= 1 / min_factor)) {
            if (!has_early_) compute_early();
            has_early_ = false;
            for (std::size_t i = 0; i < plan_.edges; ++i) {
                results[i] = std::move(early()[i]);
                auto& made = *results[i].handle();
                made.inference = inference_mode; // as if computed now
                if (factor != 1) made.type->multiply_in_place(results[i], factor);
            }
            return;
        }
    AnyArray const grad_outputs = sum_->spread(gradient, space_);
    run(nullptr, &grad_outputs, results);
}

/// Gives the same bits as the pass that computed the sum.
XGRAD_FUNCTION void FusedNode::compute_early() {
    for (std::size_t i = 0; i < plan_.edges; ++i) early()[i] = {};
    run(nullptr, nullptr, {early(), plan_.edges});
}

/// True for a gradient without other references that no pass or program reads any more, so that
/// another one may overwrite it.
XGRAD_INLINE bool is_free(AnyTensor const& gradient) noexcept {
    auto const& t = *gradient.handle();
    return is_exclusive(gradient) && !t.view && !t.requires_grad && !t.grad_fn && !t.weak &&
           t.inference == inference_mode;
}

XGRAD_INLINE double FusedNode::call_kernel(Pass pass, void* const* at, std::size_t count,
    OperandMask constant, OperandMask added_to, OperandMask repeated) const {
    auto const& kernels = table().kernels;
    bool const sums = pass == Pass::value_and_gradient;
    KernelBlock block{expression_object(), at, count, pass, constant, &gradients(), added_to};
    if (sums) block.factor = sum_->scale;
    auto const kernel = sums ? sum_->kernel : kernels.gradient;
    return repeated ? run_repeated(kernels, kernel, block, repeated)
                    : run_kernel(kernels, kernel, block);
}

XGRAD_FUNCTION double FusedNode::run(BoundOperands const* in, AnyArray const* grad_output,
    std::span<AnyTensor> gradients, AnyTensor* buffer) {
    auto const& plan = plan_;
    auto const& kernels = plan.table.kernels;
    KernelLayout const layout{kernels.operand_count};
    AnyArray const* const like = broadcast_ || (sum_ && !in) ? nullptr
                                 : in                        ? in->arrays[0]
                                                             : grad_output;
    std::size_t const n = layout.operand_count, count = like ? like->numel : numel(space_);
    bool const spreads = grad_output && grad_output->numel != count; // of a sum
    OperandMask const repeated = repeated_ | OperandMask{spreads} << n;
    bool const contiguous =
        contiguous_ && can_repeat(kernels, repeated, count) &&
        (spreads ? grad_output->numel == 1 : !grad_output || grad_output->contiguous);
    void* at[max_arguments];
    void** const to = at + layout.gradients();
    if (in)
        for (std::size_t k = 0; k < n; ++k) at[k] = in->arrays[k]->data, to[k] = nullptr;
    else
        for (std::size_t k = 0; k < n; ++k) {
            at[k] = is_read(k) ? saved()[plan.slot[k]].data() : zero_buffer.elements;
            to[k] = nullptr;
        }
    OperandMask added_to = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        std::size_t const k = plan.target[i];
        auto const& type = *plan.table.operand_types[k];
        auto& gradient = gradients[i];
        if (gradient.defined()) added_to |= OperandMask{1} << k;
        else if (!contiguous) continue;
        else if (is_broadcast(k)) gradient = AnyTensor(TensorImpl::make(type, operand_shape(k)));
        else if (buffer && buffer->handle()->type == &type && is_free(*buffer))
            gradient = std::move(*std::exchange(buffer, nullptr));
        else if (like) gradient = AnyTensor(TensorImpl::make(type, AnyArray::Layout{*like}));
        else gradient = AnyTensor(TensorImpl::make(type, space_));
        to[k] = gradient.handle()->array.data;
    }
    if (!contiguous || count > (in || plan.reads_all ? part_size : zero_elements))
        return run_loop(in, grad_output, gradients, added_to);
    at[layout.grad_output()] = grad_output ? grad_output->data : nullptr;
    at[layout.saved_result()] = saves_result() ? saved()[plan.slots].data() : nullptr;
    return call_kernel(
        grad_output ? Pass::gradient : Pass::value_and_gradient, at, count, 0, added_to, repeated);
}

[[gnu::noinline]] XGRAD_FUNCTION double FusedNode::run_loop(BoundOperands const* in,
    AnyArray const* grad_output, std::span<AnyTensor> gradients, OperandMask added_to) {
    auto const& kernels = table().kernels;
    KernelLayout const layout{kernels.operand_count};
    SavedArrays saved(*this);
    auto const** const values = saved.values();
    LocalArray<AnyArray, 6> unread(layout.operand_count), wide_sums(broadcast_ ? plan_.edges : 0);
    NdLoop loop(space_, layout.tangent(), !kernels.is_expensive);
    for (std::size_t k = 0; k < layout.operand_count; ++k) {
        if (in) values[k] = in->arrays[k];
        else if (!values[k] && !grad_output) {
            // A sum that is computed again gives the same bits where its boxes are the same.
            auto& zeros = unread[first_of(k)];
            if (!zeros.defined()) zeros = zeroed(operand_shape(k), kernels.operand[k]->element);
            values[k] = &zeros;
        }
        loop.add(k, input_operand(values[k] ? *values[k] : zero_array(), *kernels.operand[k]));
    }
    if (grad_output) loop.add(layout.grad_output(), input_operand(*grad_output, *kernels.result));
    if (saved.result())
        loop.add(layout.saved_result(), input_operand(*saved.result(), *kernels.result));
    for (std::size_t edge = 0; edge < plan_.edges; ++edge) {
        std::size_t const k = plan_.target[edge];
        auto const& info = *kernels.operand[k];
        auto const& type = *table().operand_types[k];
        bool const sums = is_broadcast(k), is_like = !sums && values[k] && is_dense(*values[k]);
        if (!gradients[edge].defined())
            gradients[edge] =
                AnyTensor(is_like ? TensorImpl::make(type, AnyArray::Layout{*values[k]})
                                  : TensorImpl::make(type, operand_shape(k)));
        auto const& gradient = gradients[edge].handle()->array;
        if (!sums) {
            auto operand = output_operand(gradient, info);
            operand.reduces = operand.kernel_adds = added_to >> k & 1;
            loop.add(layout.gradients() + k, operand);
            continue;
        }
        bool const widens = info.wide_element > info.element;
        if (widens) wide_sums[edge] = zeroed(gradient.shape, info.wide_element);
        else std::memset(gradient.data, 0, gradient.numel * info.element);
        auto operand = sum_operand(widens ? wide_sums[edge] : gradient, info);
        operand.kernel_adds = true;
        loop.add(layout.gradients() + k, operand);
    }
    auto body = [&](void* const* at, std::size_t count, LoopFacts facts) {
        return call_kernel(grad_output ? Pass::gradient : Pass::value_and_gradient, at, count,
            facts.constant, layout.gradients() < 64 ? facts.added_to >> layout.gradients() : 0);
    };
    double const sum = loop.run(loop_body(body));
    for (std::size_t edge = 0; broadcast_ && edge < plan_.edges; ++edge)
        if (auto const& from = wide_sums[edge]; from.defined())
            kernels.operand[plan_.target[edge]]->scatter_wide(
                from.data, gradients[edge].handle()->array.data, 1, from.numel);
    return sum;
}

} // namespace xgrad::detail

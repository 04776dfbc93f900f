// Bodies of inplace.hpp, index_select.hpp, mask_indexing.hpp, tensor_indexing.hpp and
// shared_writes.hpp.
#pragma once

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/tensor/index_select.hpp>
#include <xgrad/tensor/inplace.hpp>
#include <xgrad/tensor/mask_indexing.hpp>
#include <xgrad/tensor/tensor_indexing.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_view_may_change(AnyTensor const& t, std::string_view operation) {
    switch (t.impl().view->meta) {
    case CreationMeta::normal:
        break;
    case CreationMeta::in_no_grad:
    case CreationMeta::in_inference:
        fail_unrecorded_view(t.impl().view->meta, "is being");
    case CreationMeta::one_of_several:
        fail<GraphError>("Output ", t.output_nr(), " of ",
            t.grad_fn() ? t.grad_fn()->name() : std::string("an operation"),
            " is a view and is being modified inplace. This view is the output of a function that "
            "returns multiple views. Such functions do not allow the output "
            "views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one.");
    case CreationMeta::in_custom_function:
        fail_in_custom_function(t.impl(), "is being");
    }
    if (t.requires_grad() && AnyTensor(t.impl().view->base).is_leaf())
        fail<GraphError>(operation,
            ": a view of a leaf Variable that requires grad is being used "
            "in an in-place operation. Change it where a NoGradGuard is in scope.");
}

XGRAD_LAZY_BODY void check_in_place(AnyTensor const& t, std::string_view operation, bool recorded) {
    if (t.is_inference() && !inference_mode)
        fail<GraphError>(operation,
            ": Inplace update to inference tensor outside InferenceMode is not allowed. "
            "You can make a clone to get a normal tensor before doing inplace update.");
    auto const check_overlap = [&](AnyArray const& a, char const* whose) {
        if (overlaps_itself(a))
            fail<ShapeError>(operation, ": unsupported operation: more than one element of ", whose,
                " refers to a single memory location. Please clone() the tensor before performing "
                "the operation.");
    };
    check_overlap(t.impl().array, "the written-to tensor");
    if (!recorded) return;
    if (t.is_view()) {
        check_overlap(t.impl().view->base->array, "the base of the written-to tensor");
        check_view_may_change(t, operation);
    }
    if (t.requires_grad() && t.is_leaf())
        fail<GraphError>(operation,
            ": a leaf Variable that requires grad is being used in an in-place operation. "
            "Change it where a NoGradGuard is in scope.");
}

XGRAD_LAZY_BODY NewGradFn::NewGradFn(AnyTensor const& t, Edge written)
    : changed_(t.is_view() ? t.impl().view->base : t.handle()), edge_(std::move(written)) {
    if (t.is_view())
        edge_ = {
            copy_slices_node(std::make_shared<Geometry const>(Geometry::of(*changed_, t.impl())),
                gradient_edge(AnyTensor(changed_)), edge_),
            0};
    if (changed_->retains_grad)
        NodeHooks::at(*edge_.function, edge_.input_nr); // so that begin() need not allocate
    if (t.is_view() && t.retains_grad()) {
        view_ = t.handle();
        of_view_ = fresh_view_node(*view_, edge_);
        NodeHooks::at(*of_view_, 0);
    }
}

XGRAD_LAZY_BODY void NewGradFn::take() noexcept {
    move_retain_grad(*changed_, edge_.function.get(), edge_.input_nr);
    changed_->requires_grad = false;
    changed_->grad_fn = std::move(edge_.function);
    changed_->output_nr = edge_.input_nr;
    if (view_) renew_view(*view_, std::move(of_view_));
}

XGRAD_LAZY_BODY void OldOperands::take(
    AnyTensor const& t, OperandMask read, std::span<AnyTensor const*> operands) {
    before_.reserve(operands.size() + 1);
    for (std::size_t k = 0; k < operands.size(); ++k) {
        AnyTensor const& x = *operands[k];
        bool const is_collecting_leaf = x.is_leaf() && x.impl().requires_grad;
        if (x.impl().array.storage != t.impl().array.storage || is_collecting_leaf || is_taken(x))
            continue;
        AnyTensor const& old = before_.emplace_back(snapshot(x));
        bool save = false;
        for (std::size_t j = k; j < operands.size(); ++j) {
            if (j != k && !operands[j]->is_same(x)) continue;
            save |= read >> j & 1;
            if (j != k) operands[j] = &old;
        }
        if (save) {
            NoGradGuard const off;
            old.impl().array = x.impl().type->copy(alias(x)).impl().array;
        }
        operands[k] = &old;
    }
}

XGRAD_LAZY_BODY bool OldOperands::is_taken(AnyTensor const& x) const {
    return std::any_of(
        before_.begin(), before_.end(), [&](AnyTensor const& old) { return &old == &x; });
}

XGRAD_LAZY_BODY bool shares_external(
    AnyArray const& a, std::size_t element_a, AnyArray const& b, std::size_t element_b) {
    if (!a.storage->is_external() && !b.storage->is_external()) return false;
    auto const end = [](AnyArray const& x, std::size_t element) {
        return x.data + extent_of(x.shape, x.strides) * element;
    };
    return a.data < end(b, element_b) && b.data < end(a, element_a);
}

XGRAD_LAZY_BODY bool needs_temporary(
    AnyArray const& out, RecordTable const& table, AnyArray const* const* operands) {
    bool use_temporary = !out.contiguous;
    for (std::size_t k = 0; k < table.kernels.operand_count; ++k) {
        AnyArray const& operand = *operands[k];
        use_temporary |=
            operand.storage == out.storage &&
            (operand.data != out.data || !(operand.shape == out.shape) || !operand.contiguous);
        use_temporary |= operand.storage != out.storage &&
                         shares_external(operand, table.kernels.operand[k]->element, out,
                             table.result_type.size);
    }
    return use_temporary;
}

XGRAD_LAZY_BODY Array<std::int64_t> checked_index(std::string_view name,
    Tensor<std::int64_t> const& index, std::size_t axis, std::size_t extent) {
    if (!index.defined()) fail_undefined(name, "the index");
    Array<std::int64_t> copy(index.shape());
    copy_elements(copy, index.array_of());
    for (auto const i : copy)
        if (i < 0 || i >= static_cast<std::int64_t>(extent))
            fail<IndexError>(
                name, ": index ", i, " is out of bounds for axis ", axis, " with extent ", extent);
    return copy;
}

XGRAD_LAZY_BODY Tensor<std::int64_t> positions(
    Tensor<std::int64_t> const& index, std::size_t extent) {
    if (!index.defined()) fail_undefined("x(index)", "the index");
    auto const n = static_cast<std::int64_t>(extent);
    Array<std::int64_t> all(index.shape());
    copy_elements(all, index.array_of());
    for (auto& i : all) {
        if (i < -n || i >= n)
            fail<IndexError>("x(index): index ", i, " is out of range for an extent of ", extent);
        if (i < 0) i += n;
    }
    return Tensor<std::int64_t>(std::move(all));
}

XGRAD_LAZY_BODY Tensor<std::int64_t> joined_positions(
    Tensor<std::int64_t> const& first, Tensor<std::int64_t> const& second, std::size_t extent) {
    static_cast<void>(broadcast("x(index)", first.shape(), second.shape()));
    return first * static_cast<std::int64_t>(extent) + second;
}

XGRAD_LAZY_BODY Array<bool> full_mask(
    Tensor<bool> const& mask, AnyTensor const& x, std::string_view name) {
    check_defined(name, x);
    if (!mask.defined()) fail_undefined(name, "the mask");
    auto const& shape = x.shape();
    if (!broadcasts_to(mask.shape(), shape))
        fail<ShapeError>(name, ": a mask of shape ", mask.shape(),
            " does not broadcast to the shape ", shape, " of what it is to pick from");
    Array<bool> copy(shape);
    copy_elements(copy, broadcast_view(mask.array_of(), shape));
    return copy;
}

XGRAD_LAZY_BODY std::pair<Tensor<std::int64_t>, Tensor<bool>> last_of_each_position(
    Tensor<std::int64_t> const& index, std::size_t extent) {
    Array<std::int64_t> last(Shape{extent}, 0);
    Array<bool> is_named(Shape{extent}, false);
    for (std::size_t i = 0; i < index.numel(); ++i) {
        auto const at = static_cast<std::size_t>(index.data()[i]);
        last.begin()[at] = static_cast<std::int64_t>(i);
        is_named.begin()[at] = true;
    }
    return {Tensor<std::int64_t>(std::move(last)), Tensor<bool>(std::move(is_named))};
}

} // namespace xgrad::detail

#ifdef XGRAD_WARN_ON_SHARED_WRITES

#    include <algorithm>
#    include <mutex>
#    include <set>
#    include <string>
#    include <thread>
#    include <unordered_map>
#    include <vector>

#    include <xgrad/core/source_location.hpp>
#    include <xgrad/core/warning.hpp>
#    include <xgrad/tensor/shared_writes.hpp>

namespace xgrad::detail {

/// The Tensors of the program, each with its thread: one that belongs to another thread is not
/// read.
struct HandleList {
    std::mutex mutex;
    std::unordered_map<AnyTensor const*, std::thread::id> threads;
    std::set<std::vector<void*>> known_stacks;
    std::set<std::string> known_places;

    /// Never destroyed: tensors of static storage duration are destroyed later.
    static HandleList& all() {
        static HandleList& list = *new HandleList;
        return list;
    }
    std::size_t count(TensorImpl const* t) const {
        auto const here = std::this_thread::get_id();
        return static_cast<std::size_t>(
            std::count_if(threads.begin(), threads.end(), [&](auto const& entry) {
                return entry.second == here && entry.first->handle().get() == t;
            }));
    }
};

XGRAD_LAZY_BODY void add_handle(AnyTensor const* handle) noexcept {
    auto& list = HandleList::all();
    std::lock_guard const lock(list.mutex);
    list.threads.insert_or_assign(handle, std::this_thread::get_id());
}

XGRAD_LAZY_BODY void remove_handle(AnyTensor const* handle) noexcept {
    auto& list = HandleList::all();
    std::lock_guard const lock(list.mutex);
    list.threads.erase(handle);
}

XGRAD_LAZY_BODY void check_shared_write(AnyTensor const& t, std::string_view operation) {
    if (t.handle()->refs.load() < 2 || t.is_view() || (t.is_leaf() && t.requires_grad())) return;
    auto& list = HandleList::all();
    std::string place;
    {
        std::lock_guard const lock(list.mutex);
        auto const handles = list.count(t.handle().get());
        if (handles < 2) return;
        auto frames = call_stack();
        frames.resize(std::min<std::size_t>(frames.size(), 16));
        if (!list.known_stacks.insert(frames).second) return;
        place = call_stack_texts({frames})[0]; // "\n    file:line, in function" for each function
        if (auto const end = place.find('\n', 1); end != std::string::npos) place.resize(end);
        if (place.find(", in ") == std::string::npos) place = "an unknown place (compile with -g)";
        else if (!list.known_places.insert(std::string(operation) + place).second) return;
    }
    warn(operation, ": the change in place of ", describe(t),
        " is seen through another Tensor, too, which refers to the same elements: a copy, as in "
        "`old = x`, a by-value parameter or a capture, is no copy of the elements here. Write "
        "x.clone() where one is meant. Changed in: ",
        place);
}

} // namespace xgrad::detail

#endif

// Bodies of function_node.hpp.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/function_node.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY CachedVector<Edge> AnyFunctionNode::edges_to(Tensors const& inputs) {
    auto const wants_gradient = [](AnyTensor const& t) {
        return t.defined() && is_differentiable(t.dtype()) && t.requires_grad();
    };
    CachedVector<Edge> edges;
    if (!recording() || std::none_of(inputs.begin(), inputs.end(), wants_gradient)) return edges;
    for (auto const& t : inputs) edges.push_back(wants_gradient(t) ? gradient_edge(t) : Edge());
    return edges;
}

XGRAD_LAZY_BODY AnyFunctionNode::AnyFunctionNode(std::string_view function, Tensors inputs,
    std::vector<std::uint32_t> first, CachedVector<Edge> edges)
    : function_(function), inputs_(std::move(inputs)), first_(std::move(first)),
      edges_(std::move(edges)) {
    set_edges(edges_.data(), edges_.size());
    allow_nested_passes();
    if (is_recorded())
        for (auto const& t : inputs_) shapes_.push_back(t.defined() ? t.shape() : Shape());
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> AnyFunctionNode::saved_tensors() {
    std::vector<NamedSavedTensor> all;
    for (std::size_t i = 0; i < saved_.size(); ++i)
        if (saved_[i].defined) all.push_back({std::to_string(i), &saved_[i].tensor});
    return all;
}

XGRAD_LAZY_BODY auto AnyFunctionNode::zero_outputs() const -> Tensors {
    Tensors zeros(outputs_.size());
    for (std::size_t i = 0; i < zeros.size(); ++i)
        if (outputs_[i].differentiable) zeros[i] = outputs_[i].type->filled(outputs_[i].shape, 0);
    return zeros;
}

XGRAD_LAZY_BODY bool AnyFunctionNode::needs_input_grad(std::size_t argument) const {
    if (argument + 1 >= first_.size())
        fail<IndexError>(function_, ": needs_input_grad(", argument, "): forward was given ",
            first_.size() - 1, " arguments");
    bool needed = false;
    for (std::size_t k = first_[argument]; k < first_[argument + 1]; ++k)
        needed |= needs_gradient(k);
    return needed;
}

XGRAD_LAZY_BODY bool AnyFunctionNode::needs_input_grad(
    std::size_t argument, std::size_t element) const {
    if (argument + 1 >= first_.size() || first_[argument] + element >= first_[argument + 1])
        fail<IndexError>(function_, ": needs_input_grad(", argument, ", ", element,
            "): forward was given no such tensor");
    return needs_gradient(first_[argument] + element);
}

XGRAD_LAZY_BODY void AnyFunctionNode::mark_dirty(AnyTensor const& t) {
    check_in_forward("mark_dirty");
    if (!contains(inputs_, t)) {
        warn(function_, ": Only input Tensors should be given to mark_dirty(). If a Tensor is "
                        "not an input, there is no need to pass it to mark_dirty().");
        return;
    }
    bool const recorded = is_recorded() && is_differentiable(t.dtype());
    if (recorded && !t.is_view() && t.requires_grad() && t.is_leaf())
        fail<GraphError>(function_,
            ": a leaf Variable that requires grad has been used in an in-place operation.");
    check_in_place(t, std::string(function_) + "::mark_dirty", recorded);
    if (!contains(dirty_, t)) dirty_.push_back(t);
}

XGRAD_LAZY_BODY AnyTensor AnyFunctionNode::unpack_saved(std::size_t i) {
    if (i >= saved_.size())
        fail<GraphError>(function_, ": there are no saved_tensors() here: they are what "
                                    "forward gave to save_for_backward()");
    return saved_[i].defined ? saved_[i].tensor.unpack(*this) : AnyTensor();
}

XGRAD_LAZY_BODY void AnyFunctionNode::finish_forward(Tensors& results) {
    check_marks(results);
    for (auto const& t : dirty_) t.impl().array.storage->bump();
    Tensors const returned = results;
    std::vector<std::uint32_t> fresh;
    std::vector<NewGradFn> changes;
    for (std::uint32_t i = 0; i < returned.size(); ++i) {
        auto const& t = returned[i];
        auto& output = outputs_.emplace_back();
        if (!t.defined()) continue;
        output = {t.impl().type, t.shape(),
            is_recorded() && is_differentiable(t.dtype()) && !contains(non_differentiable_, t)};
        if (auto const before = find(returned, t); before < i) results[i] = results[before];
        else if (contains(dirty_, t)) {
            if (output.differentiable) changes.emplace_back(t, Edge{Ref<Node>(this), i});
        } else {
            results[i] = output.differentiable ? as_result(t) : as_constant(t);
            if (output.differentiable) fresh.push_back(i);
        }
    }
    set_num_outputs(static_cast<std::uint32_t>(std::max<std::size_t>(1, outputs_.size())));
    save(returned, results);

    for (auto const i : fresh) {
        auto& t = results[i].impl();
        t.grad_fn = Ref<Node>(this);
        t.output_nr = i;
        if (!t.view) continue;
        t.view->meta = CreationMeta::in_custom_function;
        t.view->version = t.array.storage->version();
    }
    for (auto& change : changes) change.take();
    for (auto* const list : {&inputs_, &dirty_, &non_differentiable_, &to_save_}) *list = Tensors();
    in_forward_ = false;
}

XGRAD_LAZY_BODY void AnyFunctionNode::fill_undefined(std::span<AnyTensor> gradients) const {
    if (!materialize_grads) return;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (auto const& o = outputs_[i]; !gradients[i].defined() && o.type &&
                                         is_differentiable(o.type->dtype) &&
                                         (o.differentiable || materialize_non_diff_grads))
            gradients[i] = o.type->filled(o.shape, 0);
}

XGRAD_LAZY_BODY std::size_t AnyFunctionNode::count_of(std::size_t argument) const {
    return argument + 1 < first_.size() ? first_[argument + 1] - first_[argument] : 0;
}

XGRAD_LAZY_BODY void AnyFunctionNode::give_tangent(
    AnyTensor const& tangent, std::size_t i, std::size_t end, std::span<AnyTensor> results) const {
    if (!tangent.defined()) return;
    if (i >= end)
        fail<GraphError>(
            "function ", function_, ": jvp returned more tangents than there are results");
    if (!outputs_[i].differentiable) return;
    if (!(tangent.shape() == outputs_[i].shape))
        fail<ShapeError>("function ", function_, ": jvp returned a tangent of shape ",
            tangent.shape(), " for result ", i, " of shape ", outputs_[i].shape);
    results[i] = tangent;
}

XGRAD_LAZY_BODY void AnyFunctionNode::check_number_of_gradients(
    std::size_t got, std::size_t argument) const {
    if (argument + 1 < first_.size() && got != count_of(argument))
        fail<GraphError>("function ", name(),
            " returned an incorrect number of gradients (expected ", count_of(argument), ", got ",
            got, ") for argument ", argument, ", a vector of tensors");
}

XGRAD_LAZY_BODY void AnyFunctionNode::forbid_unrecorded(std::string_view name,
    bool is_once_differentiable, std::span<AnyTensor const> incoming, std::span<AnyTensor> results,
    Rule rule) {
    auto const is_constant = [](AnyTensor const& result) {
        return result.defined() && !result.requires_grad();
    };
    if (is_once_differentiable)
        set_error(message_of({function_, ": trying to differentiate twice a function that was "
                                         "marked with once_differentiable"}),
            edges_, incoming, results);
    else if (std::any_of(results.begin(), results.end(), is_constant))
        find_unrecorded(name, incoming, results, rule);
}

XGRAD_LAZY_BODY void AnyFunctionNode::find_unrecorded(std::string_view name,
    std::span<AnyTensor const> incoming, std::span<AnyTensor> results, Rule rule) {
    LocalGraph graph;
    Tensors inputs(incoming.begin(), incoming.end()), again(results.size());
    for (auto& g : inputs)
        if (g.defined()) g = graph.input(g, {});
    rule(*this, inputs, again);
    auto const is_recorded = [](AnyTensor const& t) { return t.defined() && t.requires_grad(); };
    for (std::size_t k = 0; k < results.size(); ++k)
        if (!is_recorded(results[k]) && !is_recorded(again[k]) && !is_zero(results[k]))
            set_error(message_of({function_, ": its ", name,
                          " was not recorded, so that it cannot be differentiated: let it compute "
                          "with operations on tensors, or mark the function with "
                          "once_differentiable"}),
                edges_, incoming, results.subspan(k, 1));
}

XGRAD_LAZY_BODY std::size_t AnyFunctionNode::find(Tensors const& all, AnyTensor const& t) {
    std::size_t i = 0;
    while (i < all.size() && !all[i].is_same(t)) ++i;
    return i;
}

XGRAD_LAZY_BODY bool AnyFunctionNode::needs_gradient(std::size_t k) const {
    if (!is_recorded() || !edges_[k]) return false;
    return in_forward_ || !current_pass || pass_reaches(*edges_[k].function);
}

XGRAD_LAZY_BODY void AnyFunctionNode::check_in_forward(std::string_view call) const {
    if (!in_forward_) fail<GraphError>(function_, ": ", call, "() is for forward; it has returned");
}

XGRAD_LAZY_BODY void AnyFunctionNode::check_marks(Tensors const& results) const {
    for (auto const& t : dirty_) {
        if (!contains(results, t))
            fail<GraphError>(function_,
                ": Some elements marked as dirty during the forward method were not "
                "returned as output. The inputs that are modified inplace must all "
                "be outputs of the Function.");
        if (is_recorded() && contains(non_differentiable_, t) && t.requires_grad())
            fail<GraphError>(function_,
                ": an input that requires a gradient is marked both dirty and "
                "non-differentiable: return a detach() of it");
        for (auto const& other : dirty_)
            if (is_recorded() && !other.is_same(t) &&
                other.impl().array.storage == t.impl().array.storage)
                fail<GraphError>(function_, ": two inputs that share memory are marked dirty");
    }
    for (auto const& t : non_differentiable_)
        if (!contains(results, t))
            fail<GraphError>(
                function_, ": a tensor that is no output is marked as non-differentiable");
}

XGRAD_LAZY_BODY AnyTensor AnyFunctionNode::as_result(AnyTensor const& t) const {
    NoGradGuard const off;
    auto& impl = t.impl();
    if (impl.inference) return impl.type->copy(t);
    if (contains(inputs_, t) || impl.grad_fn || impl.requires_grad) {
        auto const other = alias(t);
        mark_view(other, t);
        return other;
    }
    if (impl.view && impl.view->base->refs.load() == 1)
        impl.view.reset(); // a view of memory that forward allocated
    return t;
}

XGRAD_LAZY_BODY AnyTensor AnyFunctionNode::as_constant(AnyTensor const& t) const {
    bool const has_grad_fn =
        t.impl().grad_fn || t.impl().requires_grad || (contains(inputs_, t) && t.requires_grad());
    return has_grad_fn ? alias(t) : t;
}

XGRAD_LAZY_BODY void AnyFunctionNode::save(Tensors const& returned, Tensors const& results) {
    if (!is_recorded()) return;
    saved_.reserve(to_save_.size());
    for (auto const& t : to_save_) {
        auto& saved = saved_.emplace_back();
        if (!(saved.defined = t.defined())) continue;
        auto const i = find(returned, t);
        bool const is_output = i < returned.size() && outputs_[i].differentiable &&
                               (!contains(inputs_, t) || contains(dirty_, t));
        saved.tensor = is_output ? SavedTensor::result(results[i], static_cast<std::uint32_t>(i))
                                 : SavedTensor::operand(t);
    }
}

XGRAD_LAZY_BODY void AnyFunctionNode::check_expandable(
    Shape const& got, std::size_t argument, std::size_t element) const {
    auto const k = first_[argument] + element;
    auto const& wanted = shapes_[k];
    bool fits = wanted.size() <= got.size();
    for (std::size_t d = 0; fits && d < wanted.size(); ++d) {
        auto const n = wanted[wanted.size() - 1 - d];
        fits = n == 1 || n == got[got.size() - 1 - d];
    }
    if (fits) return;
    auto const position = count_of(argument) == 1 ? "" : ", element " + std::to_string(element);
    fail<ShapeError>("function ", name(), " returned an invalid gradient at index ", k, " - got ",
        got, " but expected shape compatible with ", wanted, " (argument ", argument, " of forward",
        position, ")");
}

} // namespace xgrad::detail

// Whole matrices of derivatives: jacobian() and hessian(), one backward pass for each row.
#pragma once

#include <xgrad/functional/vjp.hpp>
#include <xgrad/tensor/rows.hpp>

namespace xgrad {

namespace detail {

/// Zeros, and 1 in one place.
[[gnu::cold]] inline AnyTensor unit_vector(AnyTensor const& like, std::size_t place)
{
    auto const& type = *like.impl().type;
    AnyTensor const unit = type.filled(like.shape(), 0);
    AnyArray at = unit.impl().array;
    at.look_through({}, {}, static_cast<std::ptrdiff_t>(place * type.size));
    type.copy_elements(at, type.filled({}, 1).impl().array);
    return unit;
}

/// Derivatives of one output for all inputs: for each a tensor of the shape of the output and then of the input, made of the
/// gradients that start at each number of the output.
[[gnu::cold]] inline Tensors reverse_rows(Evaluation const& e, AnyTensor const& output, std::size_t index)
{
    AutoGradMode const mode(e.create_graph);
    std::vector<RowStack> blocks;
    for (auto const& x : e.inputs) blocks.emplace_back(*x.impl().type, output.shape(), x.shape());
    for (std::size_t row = 0, rows = output.requires_grad() ? output.numel() : 0; row < rows; ++row) {
        auto const gradients = gradients_of({output}, e.inputs, {unit_vector(output, row)}, e.create_graph);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (gradients[i].defined()) blocks[i].put(row, gradients[i]);
            else if (e.strict) fail<GraphError>(e.transform, ": Output ", index, " of the user-provided function is independent of input ", i, ". This is not allowed in strict mode.");
        }
    }
    Tensors all;
    for (auto& block : blocks) all.push_back(block.finish());
    if (e.strict && e.create_graph)
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].numel() && !all[i].requires_grad())
                fail<GraphError>(e.transform, ": The jacobian of the user-provided function is independent of input ", i, ". This is not allowed in strict mode when create_graph=True.");
    return all;
}

/// Blocks of derivatives in the structure of the outputs, each in that of the inputs.
template <class Of, class Outputs, bool many_outputs> auto blocks_of(Evaluation const& e)
{
    auto const block = [&](std::size_t k) { return Of::like_inputs(reverse_rows(e, e.outputs[k], k)); };
    if constexpr (many_outputs)
        return [&]<std::size_t... K>(std::index_sequence<K...>) { return std::tuple{block(K)...}; }(std::make_index_sequence<std::tuple_size_v<Outputs>>{});
    else return block(0);
}

/// The gradient of a real number, in the place of the outputs: what a Hessian is the Jacobian of.
[[gnu::cold]] inline Evaluation gradient_as_outputs(Evaluation const& e)
{
    check_outputs(e);
    if (e.outputs[0].numel() != 1) fail<ShapeError>(e.transform, ": The Tensor returned by the function given to ", e.transform, " should contain a single element, its shape is ", e.outputs[0].shape());
    Evaluation g = e;
    g.outputs = gradients_of(e.outputs, e.inputs, vector_or_one({}, e.outputs), true);
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
        auto& y = g.outputs[i];
        if (e.strict && !y.defined()) fail<GraphError>(e.transform, ": The output of the user-provided function is independent of input ", i, ". This is not allowed in strict mode.");
        if (e.strict && !y.requires_grad())
            fail<GraphError>(e.transform, ": the jacobian of the user-provided function with respect to input ", i,
                             " does not require gradients. This is not allowed in strict mode. You should ensure that your function is twice differentiable and the jacobian "
                             "depends on the inputs (this would be violated by a linear function for example).");
        if (!y.defined()) y = e.inputs[i].impl().type->filled(e.inputs[i].shape(), 0);
    }
    return g;
}

}  // namespace detail

/// All derivatives of f at `inputs`, a Tensor or a std::tuple of tensors: for an output y and an input x a tensor of the shape of y
/// followed by that of x, of the scalar type of x. Of a tuple of inputs, a tuple of these; of a tuple of outputs, a tuple of that.
///
/// In complex numbers the entries for one number of y are the gradient of its real part, d Re y/d Re x + i d Re y/d Im x: for a
/// real y all there is to know, and for a holomorphic f the conjugate of f'. Of other complex functions take view_as_real(y),
/// which has the derivatives of both parts; so do also where x is real and y complex, for which there is no jacobian().
template <class F, class X> auto jacobian(F&& f, X const& inputs, TransformOptions const& options = {})
{
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        using Outputs = detail::tensors_type<typename Of::Result>;
        static_assert(detail::all_differentiable<Outputs>, "jacobian: the function must return tensors of real or complex numbers");
        constexpr bool keeps_all = detail::all_real<Outputs> || detail::all_complex<typename Of::In>;
        static_assert(keeps_all, "jacobian: derivatives of complex outputs for real inputs have no place in real tensors: let the function return view_as_real(y)");
        if constexpr (detail::all_differentiable<Outputs> && keeps_all)
            return Of::run("jacobian", f, inputs, options, [](auto const& e) {
                detail::check_outputs(e);
                return detail::blocks_of<Of, Outputs, Of::many_outputs>(e);
            });
    }
}

/// All second derivatives of f, which returns one real number, at `inputs`, a Tensor or a std::tuple of tensors of real numbers: for
/// inputs a and b a tensor of the shape of a followed by that of b. Of a tuple, a tuple (a) of tuples (b). Of functions of complex
/// numbers take view_as_real() of the inputs, or hvp().
template <class F, class X> auto hessian(F&& f, X const& inputs, TransformOptions const& options = {})
{
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_number = !Of::many_outputs && detail::all_real<detail::tensors_type<typename Of::Result>>;
        static_assert(is_number, "hessian: the function should return a single Tensor of real numbers");
        static_assert(detail::all_real<typename Of::In>, "hessian: second derivatives of complex inputs do not fit into complex tensors: let the function take view_as_real(z)");
        if constexpr (is_number && detail::all_real<typename Of::In>)
            return Of::run("hessian", f, inputs, options, [](auto const& e) { return detail::blocks_of<Of, typename Of::In, Of::many_inputs>(detail::gradient_as_outputs(e)); });
    }
}

}  // namespace xgrad

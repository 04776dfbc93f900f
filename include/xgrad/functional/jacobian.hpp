// Whole matrices of derivatives: jacobian() and hessian(), one backward pass for each row, or for
// each column.
#pragma once

#include <xgrad/functional/jvp.hpp>
#include <xgrad/tensor/rows.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// The mode of jacobian(). `reverse` makes one backward pass for each element of the outputs.
/// `forward` pushes one tangent along the graph for each element of the inputs (two for a complex
/// element): for functions with few inputs and many outputs. `automatic` takes the mode with fewer
/// passes, and reverse mode with create_graph or strict.
enum class Mode { reverse, forward, automatic };

struct JacobianOptions {
    std::optional<bool> create_graph = {}; // as in TransformOptions
    bool strict = false;
    Mode strategy = Mode::reverse;
};

namespace detail {

/// A view of the real, or of the imaginary, parts of an array.
[[gnu::cold]] inline AnyArray parts_of(TypeInfo const& type, AnyArray a, bool imaginary) {
    if (!xgrad::is_complex(type.dtype)) return a;
    Strides twice = a.strides;
    for (auto& step : twice) step *= 2;
    Shape shape = a.shape;
    a.set_view(std::move(shape), std::move(twice),
        imaginary ? static_cast<std::ptrdiff_t>(type.size / 2) : 0);
    return a;
}
[[gnu::cold]] inline void copy_parts(
    TypeInfo const& to_type, AnyArray const& to, TypeInfo const& from_type, AnyArray const& from) {
    auto const is_single = [](TypeInfo const& t) {
        return t.dtype == DType::float32 || t.dtype == DType::complex64;
    };
    if (is_single(to_type))
        is_single(from_type) ? copy_elements(as<float>(to), as<float>(from))
                             : copy_elements(as<float>(to), as<double>(from));
    else
        is_single(from_type) ? copy_elements(as<double>(to), as<float>(from))
                             : copy_elements(as<double>(to), as<double>(from));
}

/// A unit vector: zeros, and 1 or i at one index.
[[gnu::cold]] inline AnyTensor unit_vector(
    AnyTensor const& like, std::size_t place, bool imaginary = false) {
    auto const& type = *like.impl().type;
    AnyTensor const unit = type.filled(like.shape(), 0), one = type.filled({}, 1);
    AnyArray at = unit.impl().array;
    at.set_view({}, {}, static_cast<std::ptrdiff_t>(place * type.size));
    copy_parts(type, parts_of(type, at, imaginary), type, parts_of(type, one.impl().array, false));
    return unit;
}

/// The derivatives of one output with respect to all inputs: for each input a tensor of the shape
/// of the output followed by that of the input. Its rows are the gradients of the output's
/// elements.
[[gnu::cold]] inline Tensors reverse_rows(
    Evaluation const& e, AnyTensor const& output, std::size_t index) {
    PassMode const mode(e.create_graph);
    Evaluation const of_output = e.with_outputs({&output, 1});
    std::vector<RowStack> blocks;
    for (auto const& x : e.inputs) blocks.emplace_back(*x.impl().type, output.shape(), x.shape());
    for (std::size_t row = 0, rows = output.requires_grad() ? output.numel() : 0; row < rows;
         ++row) {
        AnyTensor const grad_output = unit_vector(output, row);
        Tensors gradients(e.inputs.size());
        pull_back(of_output, {&grad_output, 1}, e.create_graph, true, gradients);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (gradients[i].defined()) blocks[i].put(row, gradients[i]);
            else if (e.strict)
                fail<GraphError>(e.transform, ": Output ", index,
                    " of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode.");
        }
    }
    Tensors all;
    for (auto& block : blocks) all.push_back(block.finish());
    if (e.strict && e.create_graph)
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].numel() && !all[i].requires_grad())
                fail<GraphError>(e.transform,
                    ": The jacobian of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode when create_graph=True.");
    return all;
}

/// The derivatives of all outputs by columns: a column of J is its product with a unit vector.
[[gnu::cold]] inline std::vector<Tensors> forward_columns(Evaluation const& e) {
    NoGradGuard const off;
    std::vector<Tensors> blocks(e.outputs.size());
    for (std::size_t k = 0; k < e.outputs.size(); ++k)
        for (auto const& x : e.inputs)
            blocks[k].push_back(RowStack(*x.impl().type, e.outputs[k].shape(), x.shape()).finish());
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        auto const& type = *e.inputs[i].impl().type;
        std::size_t const columns = e.inputs[i].numel();
        for (std::size_t column = 0; column < columns; ++column)
            for (bool const imaginary : {false, true}) {
                if (imaginary && !xgrad::is_complex(type.dtype)) continue;
                Tensors tangents(e.inputs.size());
                tangents[i] = unit_vector(e.inputs[i], column, imaginary);
                Tensors along(e.outputs.size());
                ForwardPass(e.inputs, tangents).run(e.outputs, along);
                for (std::size_t k = 0; k < along.size(); ++k) {
                    if (!along[k].defined()) continue;
                    AnyArray to = blocks[k][i].impl().array;
                    Strides steps = row_major(along[k].shape());
                    for (auto& step : steps) step *= static_cast<std::ptrdiff_t>(columns);
                    to.set_view(along[k].shape(), std::move(steps),
                        static_cast<std::ptrdiff_t>(column * type.size));
                    auto const& from_type = *along[k].impl().type;
                    copy_parts(type, parts_of(type, to, imaginary), from_type,
                        parts_of(from_type, along[k].impl().array, false));
                }
            }
    }
    return blocks;
}

[[gnu::cold]] inline std::vector<Tensors> jacobian_blocks(Evaluation const& e, Mode strategy) {
    check_outputs(e);
    auto const passes = [](TensorSpan all, std::size_t for_complex) {
        std::size_t n = 0;
        for (auto const& t : all) n += t.numel() * (xgrad::is_complex(t.dtype()) ? for_complex : 1);
        return n;
    };
    bool const must_reverse = e.create_graph || e.strict;
    if (strategy == Mode::forward && must_reverse)
        fail<GraphError>(
            e.transform, ": create_graph or strict and Mode::forward are not supported together");
    if (strategy == Mode::forward || (strategy == Mode::automatic && !must_reverse &&
                                         passes(e.inputs, 2) < passes(e.outputs, 1)))
        return forward_columns(e);
    std::vector<Tensors> blocks;
    for (std::size_t k = 0; k < e.outputs.size(); ++k)
        blocks.push_back(reverse_rows(e, e.outputs[k], k));
    return blocks;
}

/// The blocks of derivatives, nested as the outputs are, and each entry as the inputs are.
template <class Of, class Outputs, bool many_outputs>
auto structured(std::vector<Tensors> const& blocks) {
    if constexpr (many_outputs)
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
            return std::tuple{Of::like_inputs(blocks[K])...};
        }(std::make_index_sequence<std::tuple_size_v<Outputs>>{});
    else return Of::like_inputs(blocks[0]);
}

/// The recorded gradient of a real scalar: the Hessian is its Jacobian.
inline Tensors recorded_gradient(Evaluation const& e) {
    check_outputs(e);
    if (e.outputs[0].numel() != 1)
        fail<ShapeError>(e.transform, ": The Tensor returned by the function given to ",
            e.transform, " should contain a single element, its shape is ", e.outputs[0].shape());
    Tensors gradient(e.inputs.size());
    pull_back(e, {}, true, true, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        auto& y = gradient[i];
        if (e.strict && !y.defined())
            fail<GraphError>(e.transform,
                ": The output of the user-provided function is independent of input ", i,
                ". This is not allowed in strict mode.");
        if (e.strict && !y.requires_grad())
            fail<GraphError>(e.transform,
                ": the jacobian of the user-provided function with respect to input ", i,
                " does not require gradients. This is not allowed in strict mode. You should "
                "ensure that your function is twice differentiable and the jacobian "
                "depends on the inputs (this would be violated by a linear function for example).");
        if (!y.defined()) y = e.inputs[i].impl().type->filled(e.inputs[i].shape(), 0);
    }
    return gradient;
}

} // namespace detail

/// All derivatives of f at `inputs`, a Tensor or a std::tuple of tensors: for an output y and an
/// input x a tensor of the shape of y followed by that of x, of the scalar type of x. For a tuple
/// of inputs the result is a tuple of these, and for a tuple of outputs a tuple of that.
///
/// Complex inputs: the entries for one element of y are the gradient of its real part, d Re y/d Re
/// x + i d Re y/d Im x. For a real y that is the whole derivative, and for a holomorphic f it is
/// the conjugate of f'. For other complex functions return view_as_real(y), which has the
/// derivatives of both parts; also where x is real and y complex, for which jacobian() does not
/// compile.
template <class F, class X>
auto jacobian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        using Outputs = detail::tensors_type<typename Of::Result>;
        static_assert(detail::all_differentiable<Outputs>,
            "jacobian: the function must return tensors of real or complex numbers");
        constexpr bool keeps_all =
            detail::all_real<Outputs> || detail::all_complex<typename Of::In>;
        static_assert(keeps_all, "jacobian: derivatives of complex outputs for real inputs have no "
                                 "place in real tensors: let the function return view_as_real(y)");
        if constexpr (detail::all_differentiable<Outputs> && keeps_all)
            return Of::run(
                "jacobian", f, inputs, {options.create_graph, options.strict}, [&](auto const& e) {
                    return detail::structured<Of, Outputs, Of::many_outputs>(
                        detail::jacobian_blocks(e, options.strategy));
                });
    }
}

/// All second derivatives of f, which returns a real scalar, at `inputs`, a real Tensor or a
/// std::tuple of them: for inputs a and b a tensor of the shape of a followed by that of b. For a
/// tuple of inputs the result is a tuple (a) of tuples (b). For complex inputs use view_as_real()
/// of the inputs, or hvp().
template <class F, class X>
auto hessian(F&& f, X const& inputs, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_number =
            !Of::many_outputs && detail::all_real<detail::tensors_type<typename Of::Result>>;
        static_assert(
            is_number, "hessian: the function should return a single Tensor of real numbers");
        static_assert(detail::all_real<typename Of::In>,
            "hessian: second derivatives of complex inputs do not fit into complex tensors: let "
            "the function take view_as_real(z)");
        if constexpr (is_number && detail::all_real<typename Of::In>)
            return Of::run("hessian", f, inputs, options, [](auto const& e) {
                auto const gradient = detail::recorded_gradient(e);
                return detail::structured<Of, typename Of::In, Of::many_inputs>(
                    detail::jacobian_blocks(e.with_outputs(gradient), Mode::reverse));
            });
    }
}

} // namespace xgrad

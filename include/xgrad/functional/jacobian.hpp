// Whole matrices of derivatives: jacobian() and hessian(), one backward pass for each row, or one
// forward pass for eight columns.
//
// Shapes: a derivative of y for x has the shape of y followed by that of x; one of a Hessian the
// shapes of two inputs. With `rows` the first axis is there once, in front.
// Gradients: for complex x the gradient of Re y, d Re y/d Re x + i d Re y/d Im x. Recorded with
// create_graph, in reverse mode.
// Errors: GraphError for Mode::forward with create_graph or strict, for an undefined input, and in
// strict mode, and with `rows` where rows meet; ShapeError for a Hessian of several elements, and
// with `rows` for first axes that differ; Error for an unknown name of a strategy. jacobian() of
// complex outputs for real inputs, and hessian() of complex inputs, do not compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/functional/jvp.hpp>
#include <xgrad/tensor/parts.hpp>

namespace xgrad {

/// The mode of jacobian() and hessian(). `reverse` makes one backward pass for each element of the
/// outputs. `forward` pushes one tangent along the graph for each element of the inputs (two for a
/// complex element), eight of them in a pass. `automatic` evaluates the derivatives of expressions
/// of elements of the inputs once, and takes forward mode for any other jacobian() with fewer
/// inputs than outputs, and for a hessian(). It takes reverse mode where a backward pass would call
/// hooks, in anomaly mode, with create_graph or strict, and for a function that has no forward
/// mode.
enum class Mode { reverse, forward, automatic };
constexpr std::string_view choice_names(Mode) { return "strategy: reverse forward automatic"; }

/// Options of jacobian() and hessian().
struct JacobianOptions {
    std::optional<bool> create_graph = {};   // as in TransformOptions
    bool strict = false;                     // as in TransformOptions
    Choice<Mode> strategy = Mode::automatic; // see Mode
    bool rows = false; // the first axis of all inputs and outputs numbers independent problems
};

inline TransformOptions::operator JacobianOptions() const { return {create_graph, strict}; }

namespace detail {

class ForwardPass;

/// A view of the real, or of the imaginary, parts of an array.
XGRAD_LAZY [[gnu::cold]] AnyArray parts_of(TypeInfo const& type, AnyArray a, bool imaginary);
XGRAD_LAZY [[gnu::cold]] void copy_parts(
    TypeInfo const& to_type, AnyArray const& to, TypeInfo const& from_type, AnyArray const& from);

/// Sets one element to 1 or i.
XGRAD_LAZY [[gnu::cold]] void set_unit(
    AnyTensor const& t, std::size_t place, bool imaginary = false);

/// The problems that jacobian() differentiates at once: those of the option `rows`, or one.
struct Problems {
    bool are_rows = false;
    std::size_t count = 1;

    /// The shape of the part of a tensor that belongs to one problem.
    Shape part_of(Shape shape) const {
        if (are_rows) shape.erase(0);
        return shape;
    }
};
/// The rows of all tensors; throws ShapeError where their numbers differ.
XGRAD_LAZY Problems rows_of(Evaluation const& e);
/// Throws GraphError where a row has an effect on another one.
XGRAD_LAZY void check_rows(Evaluation const& e, Problems const& rows);
/// Zeros for the derivatives of all outputs by all inputs, or memory if so many will be written.
XGRAD_LAZY std::vector<Tensors> zero_blocks(
    Evaluation const& e, Problems const& problems, std::size_t written = 0);
/// The derivatives of one output with respect to all inputs.
XGRAD_LAZY [[gnu::cold]] Tensors reverse_rows(
    Evaluation const& e, Problems const& problems, std::size_t index);

/// The number of tangents in one pass of forward mode.
inline constexpr std::size_t max_directions = 8;
/// A column of a Jacobian: the derivatives with respect to one real number.
struct Column {
    std::size_t input = 0, element = 0;
    bool imaginary = false;
};
/// The number of elements of one problem; of the complex ones both parts count where `both_parts`.
XGRAD_LAZY std::size_t count_directions(
    TensorSpan all, bool both_parts, Problems const& problems = {});
/// Copies `count` tangents of a batch, from `row` on, to neighbouring columns of the block of
/// derivatives with respect to one input, which has so many columns.
XGRAD_LAZY [[gnu::cold]] void put_columns(AnyTensor const& block, std::size_t columns,
    Column const& first, std::size_t count, AnyTensor const& along, std::size_t row);

/// The derivatives of all outputs by columns: a column of J is its product with a unit vector.
XGRAD_LAZY [[gnu::cold]] std::vector<Tensors> forward_columns(
    Evaluation const& e, Problems const& problems, ForwardPass& pass);

/// `is_symmetric`: the Jacobian is a Hessian.
XGRAD_LAZY [[gnu::cold]] std::vector<Tensors> jacobian_blocks(
    Evaluation const& e, JacobianOptions const& options, bool is_symmetric = false);

/// The blocks of derivatives: for each output a structure like the inputs, in a std::tuple where
/// the outputs are one.
template <class In, class Out>
auto structured(std::vector<Tensors> const& blocks, In const& in, Out const&) {
    if constexpr (is_tuple<Out>)
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
            return std::tuple{with_tensors(in, blocks[K])...};
        }(std::make_index_sequence<std::tuple_size_v<Out>>{});
    else return with_tensors(in, blocks[0]);
}
/// Forward mode, which is not recorded: within another transform it is reverse mode.
inline Mode forward_mode() { return differentiated && recording() ? Mode::reverse : Mode::forward; }
/// True for a tensor and a tuple of tensors.
template <class X> inline constexpr bool is_flat = TensorLike<X>;
template <class... X> inline constexpr bool is_flat<std::tuple<X...>> = (TensorLike<X> && ...);

/// The recorded gradient of a real scalar: the Hessian is its Jacobian. With `rows` the output may
/// have one element for each row.
XGRAD_LAZY Tensors recorded_gradient(Evaluation const& e, bool rows = false);

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
/// With {.rows = true}, x (rows, n...) and y (rows, m...) give (rows, m..., n...), in as many
/// passes as one row takes: the first axis of all inputs and outputs numbers independent problems.
template <class F, class X>
auto jacobian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        using Outputs = typename Of::Result;
        static_assert(detail::is_flat<Outputs>,
            "jacobian: the function must return a tensor or a std::tuple of them");
        static_assert(detail::all_differentiable<Outputs>,
            "jacobian: the function must return tensors of real or complex numbers");
        constexpr bool keeps_all =
            detail::all_real<Outputs> || detail::all_complex<typename Of::In>;
        static_assert(keeps_all, "jacobian: derivatives of complex outputs for real inputs have no "
                                 "place in real tensors: let the function return view_as_real(y)");
        if constexpr (detail::is_flat<Outputs> && detail::all_differentiable<Outputs> && keeps_all)
            return Of::run("jacobian", f, inputs, {options.create_graph, options.strict},
                [&](auto const& e, auto const& in, auto const& out) {
                    return detail::structured(detail::jacobian_blocks(e, options), in, out);
                });
        else return inputs; // was reported
    } else return inputs;
}

template <detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 1)
auto jacobian(F&& f, X const&... x) {
    return jacobian(f, detail::inputs_of(x...));
}
/// jacobian() as a function of the inputs.
template <detail::TransformedFunction F> auto jacobian(F&& f, JacobianOptions const& options = {}) {
    return detail::of_inputs(std::forward<F>(f),
        [options](auto& g, auto const& inputs) { return jacobian(g, inputs, options); });
}

/// jacobian() in reverse and in forward mode, under JAX's names.
template <detail::TransformedFunction F> auto jacrev(F&& f) {
    return jacobian(std::forward<F>(f), JacobianOptions{.strategy = Mode::reverse});
}
template <detail::TransformedFunction F> auto jacfwd(F&& f) {
    return detail::of_inputs(std::forward<F>(f), [](auto& g, auto const& inputs) {
        return jacobian(g, inputs, {.strategy = detail::forward_mode()});
    });
}

/// All second derivatives of f, which returns a real scalar, at `inputs`, a real Tensor or a
/// std::tuple of them: for inputs a and b a tensor of the shape of a followed by that of b. For a
/// tuple of inputs the result is a tuple (a) of tuples (b). For complex inputs use view_as_real()
/// of the inputs, or hvp(). With {.rows = true} f returns a number for each row, or their sum, and
/// the result is (rows, a..., b...).
template <class F, class X>
auto hessian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_number = Of::returns_real;
        static_assert(
            is_number, "hessian: the function should return a single Tensor of real numbers");
        static_assert(detail::all_real<typename Of::In>,
            "hessian: second derivatives of complex inputs do not fit into complex tensors: let "
            "the function take view_as_real(z)");
        constexpr bool is_flat = detail::is_flat<typename Of::In>;
        static_assert(is_flat, "hessian: the inputs are a tensor or a std::tuple of them");
        if constexpr (is_number && is_flat && detail::all_real<typename Of::In>)
            return Of::run("hessian", f, inputs, {options.create_graph, options.strict},
                [&](auto const& e, auto const& in, auto const&) {
                    auto const gradient = detail::recorded_gradient(e, options.rows);
                    return detail::structured(
                        detail::jacobian_blocks(e.with_outputs(gradient), options, true), in, in);
                });
        else return inputs; // was reported
    } else return inputs;
}
template <detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 1)
auto hessian(F&& f, X const&... x) {
    return hessian(f, detail::inputs_of(x...));
}
/// hessian() as a function of the inputs.
template <detail::TransformedFunction F> auto hessian(F&& f, JacobianOptions const& options = {}) {
    return detail::of_inputs(std::forward<F>(f),
        [options](auto& g, auto const& inputs) { return hessian(g, inputs, options); });
}

} // namespace xgrad

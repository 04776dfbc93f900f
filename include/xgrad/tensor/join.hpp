// Concatenation: cat and stack.
//
// Shapes: cat() adds the extents along the axis, all others are equal; stack() takes equal shapes
// and adds an axis. Results are copies.
// Gradients: each tensor gets its slice of the gradient; of any order, in backward and forward
// mode.
// Errors: no tensors, and shapes that do not fit together, are a ShapeError; an axis out of range
// is an IndexError; an undefined tensor is an Error. Tensors of different scalar types do not
// compile.
#pragma once

#include <xgrad/tensor/views.hpp>

namespace xgrad {

namespace detail {

/// Layout of tensors that are joined along an axis, or along a new axis if `stacked`.
struct Joint {
    Shape shape;
    std::size_t axis;
    bool stacked;
    CachedVector<std::size_t> counts;

    /// The view of tensor i, which begins at `start`.
    Window part(std::size_t i, std::size_t start) const;
    /// Calls f(i, view) for each tensor.
    template <class F> void for_each_part(F f) const {
        for (std::size_t i = 0, start = 0; i < counts.size(); start += counts[i++])
            f(i, part(i, start));
    }
};

/// Backward: the gradient of each tensor is its slice.
template <Scalar T> class JoinNode final : public Node {
public:
    JoinNode(std::string_view name, std::vector<Tensor<T>> const& x, Joint joint)
        : name_(name), joint_(std::move(joint)) {
        edges_.reserve(x.size());
        for (auto const& t : x) edges_.push_back(gradient_edge(t));
        set_edges(edges_.data(), edges_.size());
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        auto const g = gradients[0].as<T>();
        joint_.for_each_part([&](std::size_t i, Window const& part) {
            if (edges_[i]) results[i] = express(part, g);
        });
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        joint_.for_each_part([&](std::size_t i, Window const& part) {
            if (tangents[i].defined())
                add_to(results[0], express(Embed{{}, joint_.shape, part}, tangents[i].as<T>()));
        });
    }
    std::string name() const override { return backward_name(name_); }

private:
    std::string_view name_;
    Joint joint_;
    CachedVector<Edge> edges_;
};

template <Scalar T>
Tensor<T> join(std::string_view name, std::vector<Tensor<T>> const& x, Joint joint) {
    Array<T> out(joint.shape);
    bool wanted = false;
    joint.for_each_part([&](std::size_t i, Window const& part) {
        copy_elements(part.value(out), x[i].array_of());
        wanted |= Differentiable<T> && x[i].requires_grad();
    });
    Tensor<T> result(std::move(out));
    if constexpr (Differentiable<T>)
        if (wanted && recording())
            result.impl().grad_fn = Ref<Node>(new JoinNode<T>(name, x, std::move(joint)));
    return result;
}

} // namespace detail

/// Concatenates tensors along an axis; their other extents must agree.
template <Scalar T> Tensor<T> cat(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    if (x.empty()) detail::fail<ShapeError>("cat: no tensors to join");
    for (auto const& t : x)
        detail::check_defined("cat", t, static_cast<std::size_t>(&t - x.data()));
    Shape shape = x[0].shape();
    auto const at = detail::normalize_axis("cat", axis, shape);
    shape[at] = 0;
    detail::CachedVector<std::size_t> counts;
    counts.reserve(x.size());
    for (auto const& t : x) {
        Shape other = t.shape();
        bool fits = other.size() == shape.size();
        if (fits) {
            counts.push_back(other[at]);
            auto const joined = detail::add_extents("cat", shape[at], other[at]);
            other[at] = shape[at];
            fits = other == shape;
            shape[at] = joined;
        }
        if (!fits)
            detail::fail<ShapeError>("cat: shapes ", x[0].shape(), " and ", t.shape(),
                " do not fit together along axis ", axis);
    }
    return detail::join("Cat", x, {std::move(shape), at, false, std::move(counts)});
}

/// Concatenates tensors of one shape along a new axis.
template <Scalar T> Tensor<T> stack(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    if (x.empty()) detail::fail<ShapeError>("stack: no tensors to join");
    for (auto const& t : x)
        detail::check_defined("stack", t, static_cast<std::size_t>(&t - x.data()));
    for (auto const& t : x)
        if (t.shape() != x[0].shape())
            detail::fail<ShapeError>("stack: shapes ", x[0].shape(), " and ", t.shape(), " differ");
    auto const at = detail::normalize_axis("stack", axis, x[0].shape(), 1);
    Shape shape = x[0].shape();
    shape.insert(at, x.size());
    return detail::join(
        "Stack", x, {std::move(shape), at, true, detail::CachedVector<std::size_t>(x.size(), 1)});
}

// Lists in braces: cat({a, b}). With expressions beside tensors, as in cat({a, 2. * b}), the
// element type is double; another one is named: cat<float>({a, 2.f * b}).
template <Scalar T> Tensor<T> cat(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<T>>(x), axis);
}
template <Scalar T> Tensor<T> stack(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return stack(std::vector<Tensor<T>>(x), axis);
}
// (Templates, so that only programs that call them compile them.)
template <class = void>
Tensor<double> cat(std::initializer_list<Tensor<double>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<double>>(x), axis);
}
template <class = void>
Tensor<double> stack(std::initializer_list<Tensor<double>> x, std::ptrdiff_t axis = 0) {
    return stack(std::vector<Tensor<double>>(x), axis);
}
template <Operand A, Operand... More>
    requires(sizeof...(More) > 0)
void cat(A const&, More const&...) = delete; // write cat({a, b})
template <Operand A, Operand... More>
    requires(sizeof...(More) > 0)
void stack(A const&, More const&...) = delete; // write stack({a, b})

namespace detail {
template <class V> inline constexpr bool is_tensor_vector = false;
template <Scalar T> inline constexpr bool is_tensor_vector<std::vector<Tensor<T>>> = true;
/// A span, an array or another range of tensors of one scalar type.
template <class V>
concept RangeOfTensors = PlainRange<V> && !is_tensor_vector<V> &&
                         std::same_as<Tensor<typename std::ranges::range_value_t<V>::scalar>,
                             std::ranges::range_value_t<V>>;
template <RangeOfTensors V> auto vector_of(V const& x) {
    return std::vector<std::ranges::range_value_t<V>>(std::ranges::begin(x), std::ranges::end(x));
}
} // namespace detail

/// The same of a span, an array or another range of tensors.
template <detail::RangeOfTensors V> auto cat(V const& x, std::ptrdiff_t axis = 0) {
    return cat(detail::vector_of(x), axis);
}
template <detail::RangeOfTensors V> auto stack(V const& x, std::ptrdiff_t axis = 0) {
    return stack(detail::vector_of(x), axis);
}
/// NumPy's name of cat.
template <detail::RangeOfTensors V> auto concatenate(V const& x, std::ptrdiff_t axis = 0) {
    return cat(detail::vector_of(x), axis);
}
template <Scalar T>
Tensor<T> concatenate(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    return cat(x, axis);
}
template <Scalar T>
Tensor<T> concatenate(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<T>>(x), axis);
}
namespace detail {
/// Makes x the tensor of a nested list with tensors; see join.
template <Scalar T>
void take_tensors(Tensor<T>& x, std::initializer_list<NestedList<T>> const& values) {
    if (x.requires_grad())
        fail<GraphError>("Tensor: a list with tensors is no leaf, and has their gradients");
    std::vector<Tensor<T>> all;
    ArrayOf<T>::for_each(values, [&all](auto const& element) {
        if (element.tensor.defined() && element.tensor.dim() != 0)
            fail<ShapeError>(
                "Tensor: a tensor in a list has no dimensions, not shape ", element.tensor.shape());
        all.push_back(element.tensor.defined() ? Tensor<T>(element.tensor.handle())
                                               : Tensor<T>(element.value));
    });
    x = only_reshaped(reshape(stack(all), Axes(x.shape())));
}
} // namespace detail

/// A matrix of blocks: each list is a row of them, joined along the last axis; the rows are joined
/// along the axis before it.
template <Scalar T>
Tensor<T> block(std::initializer_list<std::initializer_list<Tensor<T>>> blocks) {
    std::vector<Tensor<T>> rows;
    for (auto const& row : blocks) rows.push_back(cat(std::vector<Tensor<T>>(row), -1));
    return cat(rows, -2);
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/join.ipp>
#endif

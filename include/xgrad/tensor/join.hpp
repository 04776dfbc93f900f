// Several tensors into one: cat and stack.
#pragma once

#include <xgrad/tensor/views.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

/// Tensors side by side along one axis; the gradient of each is its part.
template <Scalar T> class CatNode final : public Node {
public:
    CatNode(std::vector<Tensor<T>> const& x, std::size_t axis) : axis_(axis)
    {
        for (auto const& t : x) {
            edges_.push_back(gradient_edge(t));
            counts_.push_back(t.shape()[axis]);
        }
        set_edges(edges_.data(), edges_.size());
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override
    {
        if (!gradients[0].defined()) return;
        auto const g = gradients[0].as<T>();
        for (std::size_t i = 0, start = 0; i < edges_.size(); start += counts_[i++])
            if (edges_[i]) results[i] = express(part(i, start, g.shape()), g);
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override
    {
        Shape shape = std::ranges::find_if(tangents, &AnyTensor::defined)->shape();
        shape[axis_] = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
        for (std::size_t i = 0, start = 0; i < edges_.size(); start += counts_[i++])
            if (tangents[i].defined()) add_to(results[0], express(Embed{{}, shape, part(i, start, shape)}, tangents[i].as<T>()));
    }
    std::string name() const override { return "CatBackward"; }

private:
    Window part(std::size_t i, std::size_t start, Shape const& shape) const
    {
        Window w(shape);
        w.start[axis_] = start;
        w.count[axis_] = counts_[i];
        return w;
    }

    std::size_t axis_;
    std::vector<Edge> edges_;
    std::vector<std::size_t> counts_;
};

}  // namespace detail

/// Joins tensors along an axis; their other extents must agree.
template <Scalar T> Tensor<T> cat(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0)
{
    if (x.empty()) detail::fail<ShapeError>("cat: no tensors to join");
    Shape shape = x[0].shape();
    auto const at = detail::normalize_axis("cat", axis, shape.size());
    shape[at] = 0;
    bool wanted = false;
    for (auto const& t : x) {
        Shape other = t.shape();
        bool const fits = other.size() == shape.size() && (shape[at] += std::exchange(other[at], shape[at]), other[at] = shape[at], other == shape);
        if (!fits) detail::fail<ShapeError>("cat: shapes ", x[0].shape(), " and ", t.shape(), " do not fit together along axis ", axis);
        wanted |= Differentiable<T> && t.requires_grad();
    }
    detail::Array<T> out(shape);
    std::size_t start = 0;
    for (auto const& t : x) {
        auto const count = t.shape()[at];
        detail::copy_elements(detail::part_along(out, at, start, count), t.array_of());
        start += count;
    }
    Tensor<T> result(std::move(out));
    if constexpr (Differentiable<T>)
        if (wanted && detail::recording()) result.impl().grad_fn = detail::Ref<Node>(new detail::CatNode<T>(x, at));
    return result;
}

/// Joins tensors of one shape along a new axis.
template <Scalar T> Tensor<T> stack(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0)
{
    std::vector<Tensor<T>> layers;
    for (auto const& t : x) {
        if (t.shape() != x[0].shape()) detail::fail<ShapeError>("stack: shapes ", x[0].shape(), " and ", t.shape(), " differ");
        layers.push_back(unsqueeze(t, axis));
    }
    if (layers.empty()) detail::fail<ShapeError>("stack: no tensors to join");
    return cat(layers, axis);
}

}  // namespace xgrad

// Recording of operations on whole arrays. Such an operation gives `value` on arrays and `pullback(wrt<I>, g, y, x...)`
// written with differentiable operations on tensors: where the backward pass is itself recorded, so are those. What a
// pullback looks at besides shapes it declares in `uses`; everything else comes to it with a shape but no values, and is
// not kept.
#pragma once

#include <xgrad/graph/local_graph.hpp>
#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/graph/view.hpp>
#include <xgrad/tensor/record.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

/// A tensor of which only the shape is known.
template <Scalar T> Tensor<T> shape_only(Shape const& shape)
{
    Array<T> a;
    a.shape = shape;
    a.numel = numel(shape);
    return Tensor<T>(std::move(a));
}

template <class Op> constexpr Uses arraywise_uses(std::size_t i)
{
    if constexpr (requires { Op::uses; }) return Op::uses[i];
    else return 0;
}

/// Whether an operation is linear in each of its arguments: it says so, or its gradient looks at nothing.
template <class Op, std::size_t count> inline constexpr bool is_linear = requires { requires Op::is_multilinear; } || (count == 1 && arraywise_uses<Op>(0) == 0);

template <class Op, Scalar... T> auto record_on_tensors(Op op, Tensor<T> const&... x);

template <class Op, Scalar Y, Scalar... T> class ArraywiseNode final : public Node {
public:
    static constexpr std::size_t count = sizeof...(T);

    ArraywiseNode(Op op, Tensor<Y> const& result, Tensor<T> const&... x) : op_(std::move(op)), shape_(result.shape()), shapes_{x.shape()...}
    {
        Uses all = 0;
        std::size_t i = 0, edges = 0;
        auto const connect = [&](AnyTensor const& t) {
            if (is_differentiable(t.dtype()) && t.requires_grad()) {
                edge_of_[i] = static_cast<std::uint8_t>(edges);
                edges_[edges++] = gradient_edge(t);
                wanted_ |= LeafMask{1} << i;
                all |= arraywise_uses<Op>(i);
            }
            ++i;
        };
        (connect(x), ...);
        i = 0;
        ((all & uses_argument(i) ? void(saved_[i] = SavedTensor::operand(x)) : void(), ++i), ...);
        if (all & uses_result) saved_[count] = SavedTensor::result(result);
        saved_uses_ = all;
        set_edges(edges_.data(), edges);
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override
    {
        if (!gradients[0].defined()) return;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            Tensor<Y> const g = gradients[0].as<Y>();
            Tensor<Y> const y = saved_uses_ & uses_result ? saved_[count].unpack(*this).template as<Y>() : shape_only<Y>(shape_);
            auto const x = std::tuple(saved_uses_ & uses_argument(I) ? saved_[I].unpack(*this).template as<T>() : shape_only<T>(shapes_[I])...);
            auto const one = [&]<std::size_t J>(wrt<J> argument) {
                using X = std::tuple_element_t<J, std::tuple<T...>>;
                if constexpr (Differentiable<X>)
                    if (wanted_ >> J & 1) results[edge_of_[J]] = Tensor<X>(op_.pullback(argument, g, y, std::get<I>(x)...));
            };
            (one(wrt<I>{}), ...);
        }(std::index_sequence_for<T...>{});
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override
    {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            if constexpr (is_linear<Op, count>) {
                auto const one = [&]<std::size_t J>(wrt<J>) {
                    using X = std::tuple_element_t<J, std::tuple<T...>>;
                    if (!(wanted_ >> J & 1) || !tangents[edge_of_[J]].defined()) return;
                    auto const argument = [&]<std::size_t K>(wrt<K>) {
                        if constexpr (K == J) return tangents[edge_of_[J]].template as<X>();
                        else return saved_[K].unpack(*this).template as<std::tuple_element_t<K, std::tuple<T...>>>();
                    };
                    Tensor<Y> const more = record_on_tensors(op_, argument(wrt<I>{})...);
                    add_to(results[0], more);
                };
                (one(wrt<I>{}), ...);
            } else push_by_transposing(*this, {type_info<Y>.filled(shape_, 0)}, tangents, results);
        }(std::index_sequence_for<T...>{});
    }
    std::string name() const override { return backward_name(type_name<Op>); }
    std::string formula() const override
    {
        std::string s(type_name<Op>);
        for (std::size_t i = 0; i < count; ++i) s += (i ? ", " : "(") + tensor_letter(i);
        return s + ")";
    }
    void release_saved() noexcept override
    {
        for (auto& s : saved_) s.release();
    }
    std::vector<NamedSavedTensor> saved_tensors() override
    {
        std::vector<NamedSavedTensor> all;
        for (std::size_t i = 0; i < count; ++i)
            if (saved_uses_ & uses_argument(i)) all.push_back({tensor_letter(i), &saved_[i]});
        if (saved_uses_ & uses_result) all.push_back({"result", &saved_[count]});
        return all;
    }

private:
    Op op_;
    Shape shape_;
    std::array<Shape, count> shapes_;
    std::array<Edge, count> edges_;
    std::array<std::uint8_t, count> edge_of_{};
    std::array<SavedTensor, count + 1> saved_;
    LeafMask wanted_ = 0;
    Uses saved_uses_ = 0;
};

template <class Op, Scalar... T> auto record_on_tensors(Op op, Tensor<T> const&... x)
{
    auto value = op.value(x.array_of()...);
    using Y = typename decltype(value)::value_type;
    Tensor<Y> result(std::move(value));
    if constexpr (Differentiable<Y>)
        if (recording() && ((Differentiable<T> && x.requires_grad()) || ...))
            result.impl().grad_fn = Ref<Node>(new ArraywiseNode<Op, Y, T...>(std::move(op), result, x...));
    if constexpr (sizeof...(T) == 1) {
        AnyTensor const& only = (x, ...);
        if (result.impl().array.storage == only.impl().array.storage) mark_view(result, only);
    }
    return result;
}

}  // namespace detail

/// Called by express() for operations on whole arrays.
template <class Op, detail::TensorLike... X> auto record_arraywise(Op op, X const&... x)
{
    return detail::record_on_tensors(std::move(op), detail::materialize(x)...);
}

}  // namespace xgrad

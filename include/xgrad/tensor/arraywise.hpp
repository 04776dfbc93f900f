// Recording of operations on whole arrays. An operation has `value`, a function of arrays, and
// `pullback(wrt<I>, g, y, x...)`, written in differentiable operations on tensors: so a recorded
// backward pass is differentiable. `uses` declares which values a pullback reads; of any other
// operand it gets the shape only, and no value is saved.
//
// Shapes: those that `value` of the operation computes.
// Gradients: what `pullback` of the operation returns, of any order, since it is recorded itself.
// Forward mode applies an operation that is linear in each argument to the tangents, and
// differentiates the pullback of any other one. Integers and masks have none.
// Errors: an undefined operand is an Error that names its argument; the others are those of
// `value`.
//
// Read next: arraywise_record.hpp.
#pragma once

#include <xgrad/tensor/arraywise_record.hpp>
#include <xgrad/tensor/record.hpp>

namespace xgrad {

namespace detail {

template <class Op> constexpr Uses arraywise_uses(std::size_t i) {
    if constexpr (requires { Op::uses; }) return Op::uses[i];
    else return 0;
}

/// True where an operation is linear in each of its arguments: declared, or its gradient reads no
/// value.
template <class Op, std::size_t count> constexpr bool find_linear() {
    if constexpr (requires { Op::is_multilinear; }) return Op::is_multilinear;
    else return count == 1 && arraywise_uses<Op>(0) == 0;
}
template <class Op, std::size_t count> inline constexpr bool is_linear = find_linear<Op, count>();

template <class Op, Scalar... T> auto record_on_tensors(Op const& op, Tensor<T> const&... x);

/// An operand whose values the pullback does not read.
template <Scalar T> struct ShapeOnly {
    using value_type = T;
    Shape const& extents;

    Shape const& shape() const noexcept { return extents; }
    std::size_t shape(std::ptrdiff_t axis) const {
        return extents[normalize_axis("shape", axis, extents)];
    }
    std::size_t dim() const noexcept { return extents.size(); }
    std::size_t numel() const noexcept { return xgrad::numel(extents); }
};

template <class Op, Scalar Y, Scalar... T>
class ArraywiseNode final : public ArraywiseRecordOf<sizeof...(T)> {
    static constexpr std::size_t count = sizeof...(T);
    static constexpr bool is_part = requires { requires Op::is_part; },
                          picks = requires(Op const& op, Array<Y> const& a) { op.add_onto(a, a); };

public:
    ArraywiseNode(Op const& op, AnyTensor const& result, AnyTensor const* const* x)
        : ArraywiseRecordOf<count>(table), op_(op) {
        this->connect(result, x);
        if (is_part || picks) this->set_accumulates(0);
    }

private:
    void pull(OperandMask wanted, AnyTensor const& gradient, AnyTensor const& result,
        AnyTensor const* const* operands, AnyTensor* to) const override {
        auto const &g = static_cast<Tensor<Y> const&>(gradient),
                   &y = static_cast<Tensor<Y> const&>(result);
        if constexpr (is_part || picks)
            if (to->defined()) {
                auto const& sum = as<Y>(to->impl().array);
                if constexpr (is_part) type_info<Y>.scatter_add(op_.value(sum), g.impl().array);
                else op_.add_onto(sum, as<Y>(g.impl().array));
                return;
            }
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            auto const one = [&]<std::size_t J, class X>(wrt<J> argument, std::type_identity<X>) {
                if constexpr (Differentiable<X>)
                    if (wanted >> J & 1)
                        *to++ = Tensor<X>(op_.pullback(
                            argument, g, y, this->template operand<I, T>(operands)...));
            };
            (one(wrt<I>{}, std::type_identity<T>{}), ...);
        }(std::index_sequence_for<T...>{});
    }
    template <std::size_t I, Scalar X>
    decltype(auto) operand(AnyTensor const* const* operands) const {
        if constexpr (all_uses & uses_argument(I))
            return static_cast<Tensor<X> const&>(*operands[I]);
        else return ShapeOnly<X>{this->shape_of(I)};
    }
    [[gnu::cold]] AnyTensor value(AnyTensor const* x) const override {
        return [&]<std::size_t... I>(std::index_sequence<I...>) -> AnyTensor {
            if constexpr (is_linear<Op, count>)
                return record_on_tensors(op_, x[I].template as<T>()...);
            else return {};
        }(std::index_sequence_for<T...>{});
    }

    static constexpr std::array<TypeInfo const*, count> types{&type_info<T>...};
    static constexpr std::array<Uses, count> uses = []<std::size_t... I>(
                                                        std::index_sequence<I...>) {
        return std::array<Uses, count>{arraywise_uses<Op>(I)...};
    }(std::index_sequence_for<T...>{});
    static constexpr Uses all_uses = []<std::size_t... I>(std::index_sequence<I...>) {
        return (arraywise_uses<Op>(I) | ...);
    }(std::index_sequence_for<T...>{});
    static constexpr bool joins_axes = requires { &Op::joined_axes; },
                          keeps_axes = joins_axes || requires { &Op::kept_axes; };
    static Axes kept_axes_of(ArraywiseRecord const& node, [[maybe_unused]] std::size_t operand,
        std::size_t rank_of_operand, std::size_t rank) {
        auto const& op = static_cast<ArraywiseNode const&>(node).op_;
        if constexpr (joins_axes) return kept_beside(op.joined_axes(), rank_of_operand, rank);
        else return op.kept_axes(operand, rank_of_operand, rank);
    }
    static constexpr auto find_kept_axes() {
        using F = decltype(ArraywiseRecord::Table::kept_axes);
        if constexpr (keeps_axes) return F(&kept_axes_of);
        else return F(nullptr);
    }
    static constexpr typename ArraywiseRecord::Table table{type_name<Op>, is_linear<Op, count>,
        count, type_info<Y>, types.data(), uses.data(), all_uses,
        keeps_axes ? Dependence::axes : Op::dependence, find_kept_axes()};

    Op op_;
};

/// The array of one operand; throws where an operand is undefined.
template <Scalar T>
Array<T> const& array_among(
    std::span<AnyTensor const* const> operands, std::string_view operation, Tensor<T> const& x) {
    if (!x.defined()) [[unlikely]]
        fail_undefined(operation, "argument",
            static_cast<std::size_t>(std::find_if(operands.begin(), operands.end(), [](auto* t) {
                return !t->defined();
            }) - operands.begin()));
    return x.array_of();
}

template <class Op, Scalar... T> auto record_on_tensors(Op const& op, Tensor<T> const&... x) {
    std::array<AnyTensor const*, sizeof...(T)> const operands{&x...};
    auto value = op.value(array_among(operands, called(op), x)...);
    using Y = typename decltype(value)::value_type;
    Tensor<Y> result(std::move(value));
    if constexpr (Differentiable<Y>)
        if (wants_record(operands))
            result.impl().grad_fn =
                Ref<Node>::first(new ArraywiseNode<Op, Y, T...>(op, result, operands.data()));
    if constexpr (sizeof...(T) == 1)
        if (AnyTensor const& only = *operands[0];
            result.impl().array.storage == only.impl().array.storage)
            mark_view(result, only);
    return result;
}

} // namespace detail

/// Applies an operation on whole arrays, and records a Node where an operand requires a gradient.
template <class Op, class... X> auto record_arraywise(Op const& op, X const&... x) {
    return detail::record_on_tensors(op, detail::materialize(x)...);
}

} // namespace xgrad

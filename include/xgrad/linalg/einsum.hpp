// Sums of products written by their indices: einsum, tensordot and kron.
//
// Shapes: the result has the axes that the equation names behind "->", or the axes that are left in
// tensordot(); kron() multiplies extents.
// Gradients: sums of products with the other operands, conjugated as in PyTorch; of any order, in
// backward and forward mode. Products of integers have none.
// Errors: ShapeError for another number of operands or axes than the equation names, and for
// extents that do not fit; Error for an equation that is not well formed and for an undefined
// tensor; IndexError for axes of tensordot() out of range or given twice. Masks in einsum() and
// tensordot() do not compile.
#pragma once

#include <map>

#include <xgrad/ops/linalg.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad {

namespace detail {

/// The index of each axis: a subscript label, or a negative number for an axis under an ellipsis,
/// counted from the last.
using Indices = std::vector<int>;

inline bool has(Indices const& all, int index) {
    return std::ranges::find(all, index) != all.end();
}
inline std::ptrdiff_t place_of(int index, Indices const& in) {
    return std::ranges::find(in, index) - in.begin();
}

/// A tensor and the index of each of its axes.
template <Scalar T> struct Indexed {
    Tensor<T> tensor;
    Indices indices;

    std::size_t extent(int index) const { return tensor.shape(place_of(index, indices)); }

    /// Replaces axes with the same index by one, their diagonal.
    void take_diagonals() {
        for (std::size_t i = 0; i < indices.size(); ++i)
            for (std::size_t j = i + 1; j < indices.size(); ++j)
                if (indices[i] == indices[j]) {
                    tensor = tensor.diagonal(
                        0, static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j));
                    int const index = indices[i];
                    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(j));
                    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(i));
                    indices.push_back(index);
                    return take_diagonals();
                }
    }
    /// Sums over the axes for which gone(index) is true.
    template <class F> void sum_over(F gone) {
        Axes axes;
        Indices left;
        for (std::size_t i = 0; i < indices.size(); ++i)
            if (gone(indices[i])) axes.push_back(static_cast<std::ptrdiff_t>(i));
            else left.push_back(indices[i]);
        if (axes.empty()) return;
        tensor = sum(tensor, axes);
        indices = std::move(left);
    }
    /// The tensor with its axes permuted to the order of some groups of indices.
    Tensor<T> arranged(std::initializer_list<Indices> groups) const {
        Axes order;
        for (auto const& group : groups)
            for (int const index : group) order.push_back(place_of(index, indices));
        return permute(tensor, order);
    }
    Axes extents(Indices const& group) const {
        Axes all;
        for (int const index : group) all.push_back(static_cast<std::ptrdiff_t>(extent(index)));
        return all;
    }
    std::ptrdiff_t count(Indices const& group) const {
        std::ptrdiff_t n = 1;
        for (auto const extent : extents(group)) n *= extent;
        return n;
    }
};
template <Scalar T> Indexed(Tensor<T>, Indices) -> Indexed<T>;

Axes joined(std::initializer_list<Axes> parts);

/// The product of two tensors, summed over the indices for which keep(index) is false: a matrix
/// product, or an elementwise product if there is nothing to sum.
template <Scalar A, Scalar B, class F> auto contract(Indexed<A> a, Indexed<B> b, F keep) {
    // an extent of 1 beside a longer one counts as no axis
    a.sum_over(
        [&](int i) { return has(b.indices, i) ? a.extent(i) == 1 && b.extent(i) != 1 : !keep(i); });
    b.sum_over(
        [&](int i) { return has(a.indices, i) ? b.extent(i) == 1 && a.extent(i) != 1 : !keep(i); });
    Indices batch, summed, of_a, of_b;
    for (int const i : a.indices)
        (!has(b.indices, i) ? of_a : keep(i) ? batch : summed).push_back(i);
    for (int const i : b.indices)
        if (!has(a.indices, i)) of_b.push_back(i);

    auto const lead = a.extents(batch), rows = a.extents(of_a), columns = b.extents(of_b);
    Indices indices(batch);
    indices.insert(indices.end(), of_a.begin(), of_a.end());
    indices.insert(indices.end(), of_b.begin(), of_b.end());
    if (summed.empty()) {
        auto const x =
            reshape(a.arranged({batch, of_a}), joined({lead, rows, Axes(of_b.size(), 1)}));
        auto const y =
            reshape(b.arranged({batch, of_b}), joined({lead, Axes(of_a.size(), 1), columns}));
        return Indexed{materialize(x * y), std::move(indices)};
    }
    auto const x = reshape(
        a.arranged({batch, of_a, summed}), joined({lead, {a.count(of_a), a.count(summed)}}));
    auto const y = reshape(
        b.arranged({batch, summed, of_b}), joined({lead, {b.count(summed), b.count(of_b)}}));
    return Indexed{
        materialize(reshape(matmul(x, y), joined({lead, rows, columns}))), std::move(indices)};
}

/// The parsed equation: the indices of each operand and of the result.
class Subscripts {
public:
    Subscripts(std::string_view equation, std::vector<Shape> const& shapes);
    Indices const& operand(std::size_t i) const { return operands_[i]; }
    Indices const& output() const { return output_; }
    /// True if the result, or an operand from position `next` on, has the index.
    bool is_needed(int index, std::size_t next) const;

private:
    /// Parses subscripts: calls label(c) for each index and ellipsis() for each ellipsis.
    template <class Label, class Ellipsis>
    void read(std::string_view text, Label label, Ellipsis ellipsis) const {
        bool has_ellipsis = false;
        for (std::size_t i = 0; i < text.size(); ++i) {
            char const c = text[i];
            if (c == ' ') continue;
            if (c == '.') {
                if (text.substr(i, 3) != "..." || std::exchange(has_ellipsis, true))
                    fail<Error>("einsum: a '.' in \"", equation_,
                        "\" is not part of the one ellipsis that subscripts may have");
                i += 2;
                ellipsis();
            } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) label(c);
            else
                fail<Error>("einsum: invalid subscript '", std::string(1, c), "' in \"", equation_,
                    "\"; subscripts must be in [a-zA-Z]");
        }
    }
    Indices of_operand(std::string_view text, Shape const& shape, std::size_t number);
    void implicit_output();
    void explicit_output(std::string_view text);

    std::string_view equation_;
    std::vector<Indices> operands_;
    Indices output_;
    std::map<int, std::size_t> extents_;
    int ellipsis_ = 0; // the number of axes of the longest ellipsis
};

template <Scalar T> Indexed<T> indexed(Tensor<T> const& t, Indices const& indices) {
    Indexed<T> x{t, indices};
    x.take_diagonals();
    return x;
}

/// The product of the result so far and the operands from position `Next` on.
template <std::size_t Next, Scalar T, class... X>
auto contract_rest(
    Subscripts const& subscripts, Indexed<T> done, std::tuple<X...> const& operands) {
    if constexpr (Next == sizeof...(X)) {
        done.sum_over([&](int i) { return !has(subscripts.output(), i); });
        auto const result = done.arranged({subscripts.output()});
        // a product in another order of axes; the result of one operand may be a view of it
        if constexpr (sizeof...(X) > 1) return result.contiguous();
        else return result;
    } else {
        auto next =
            contract(std::move(done), indexed(std::get<Next>(operands), subscripts.operand(Next)),
                [&](int i) { return subscripts.is_needed(i, Next + 1); });
        return contract_rest<Next + 1>(subscripts, std::move(next), operands);
    }
}

} // namespace detail

/// The sum of products that the equation names by its indices, as in NumPy and PyTorch:
/// einsum("ij,jk->ik", a, b) is the matrix product. An index that the result does not have is
/// summed over; one that an operand has twice takes its diagonal. "..." stands for axes that
/// broadcast. An index of extent 1 broadcasts against another extent of it in another operand.
/// Without "->" the result has the indices that occur once, in alphabetical order. Operands are
/// multiplied pairwise from left to right, as matrices. Nothing is conjugated: pass conj(a).
template <Operand First, Operand... X>
auto einsum(std::string_view equation, First const& first, X const&... rest) {
    constexpr bool has_masks = (std::same_as<typename First::scalar, bool> || ... ||
                                std::same_as<typename X::scalar, bool>);
    static_assert(!has_masks, "einsum: masks are no numbers; cast<std::int64_t>(mask) is one");
    if constexpr (has_masks) return detail::StandIn();
    else {
        std::tuple const operands{detail::materialize(first), detail::materialize(rest)...};
        std::size_t operand = 0;
        std::apply([&](auto const&... t) { (detail::check_defined("einsum", t, operand++), ...); },
            operands);
        auto const subscripts = std::apply(
            [&](auto const&... t) { return detail::Subscripts(equation, {t.shape()...}); },
            operands);
        return detail::contract_rest<1>(
            subscripts, detail::indexed(std::get<0>(operands), subscripts.operand(0)), operands);
    }
}

/// The sum of products over pairs of axes, axes_a[i] of a and axes_b[i] of b; the result has the
/// other axes of a, then those of b.
template <Operand A, Operand B>
auto tensordot(A const& a, B const& b, Axes const& axes_a, Axes const& axes_b) {
    constexpr bool has_masks =
        std::same_as<typename A::scalar, bool> || std::same_as<typename B::scalar, bool>;
    static_assert(!has_masks, "tensordot: masks are no numbers; cast<std::int64_t>(mask) is one");
    if constexpr (has_masks) return detail::StandIn();
    else {
        auto x = detail::materialize(a);
        auto y = detail::materialize(b);
        if (axes_a.size() != axes_b.size())
            detail::fail<ShapeError>("tensordot: ", axes_a.size(), " axes of shape ",
                Shape(a.shape()), " cannot be paired with ", axes_b.size(), " axes of shape ",
                Shape(b.shape()));
        detail::Indices of_x(x.dim()), of_y(y.dim());
        std::iota(of_x.begin(), of_x.end(), 0);
        std::iota(of_y.begin(), of_y.end(), static_cast<int>(x.dim()));
        for (std::size_t i = 0; i < axes_a.size(); ++i) {
            auto const p = detail::normalize_axis("tensordot", axes_a[i], x.shape()),
                       q = detail::normalize_axis("tensordot", axes_b[i], y.shape());
            auto const m = x.shape()[p], n = y.shape()[q];
            if (m == 1 && n != 1) y = sum(y, {static_cast<std::ptrdiff_t>(q)}, true);
            else if (n == 1 && m != 1) x = sum(x, {static_cast<std::ptrdiff_t>(p)}, true);
            else if (m != n)
                detail::fail<ShapeError>(
                    "tensordot: contracted axes need to match, but the first has size ", m,
                    " in axis ", axes_a[i], " of shape ", Shape(a.shape()),
                    " and the second has size ", n, " in axis ", axes_b[i], " of shape ",
                    Shape(b.shape()));
            of_y[q] = of_x[p];
        }
        detail::normalize_axes("tensordot", axes_a, x.shape());
        detail::normalize_axes("tensordot", axes_b, y.shape());
        auto const pairs = of_y;
        return detail::contract(detail::Indexed{x, of_x}, detail::Indexed{y, of_y}, [&](int i) {
            return !(detail::has(of_x, i) && detail::has(pairs, i));
        }).tensor;
    }
}
/// The sum of products over the last n axes of a and the first n of b.
template <Operand A, Operand B> auto tensordot(A const& a, B const& b, std::size_t n = 2) {
    if (n > a.dim() || n > b.dim())
        detail::fail<ShapeError>("tensordot: shapes ", Shape(a.shape()), " and ", Shape(b.shape()),
            " do not have ", n, " axes to be contracted");
    Axes last, first;
    for (std::size_t i = 0; i < n; ++i) {
        last.push_back(static_cast<std::ptrdiff_t>(a.dim() - n + i));
        first.push_back(static_cast<std::ptrdiff_t>(i));
    }
    return tensordot(a, b, last, first);
}

/// The Kronecker product: each element of a times all of b. The operand with fewer axes gets
/// leading axes of extent 1.
template <Operand A, Operand B> auto kron(A const& a, B const& b) {
    auto const x = materialize_expression(a);
    auto const y = materialize_expression(b);
    std::size_t const rank = std::max(x.dim(), y.dim());
    Axes of_x, of_y, of_all;
    for (std::size_t d = 0; d < rank; ++d) {
        auto const extent = [&](auto const& t) {
            return d + t.dim() < rank ? 1
                                      : static_cast<std::ptrdiff_t>(t.shape()[d + t.dim() - rank]);
        };
        of_x.push_back(extent(x));
        of_x.push_back(1);
        of_y.push_back(1);
        of_y.push_back(extent(y));
        of_all.push_back(static_cast<std::ptrdiff_t>(detail::multiply_extents(
            "kron", static_cast<std::size_t>(extent(x)), static_cast<std::size_t>(extent(y)))));
    }
    return detail::only_reshaped(
        materialize_expression(reshape(reshape(x, of_x) * reshape(y, of_y), of_all)));
}

} // namespace xgrad

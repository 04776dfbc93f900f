// Embeddings: rows of a table, picked by their numbers.
#pragma once

#include <optional>

#include <xgrad/nn/init.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/tensor/views.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

/// Rows of a matrix by their numbers, one after the other; padding is a row without a gradient.
struct PickRows : Arraywise {
    xgrad::detail::Array<std::int64_t> rows;  // in row-major order
    std::int64_t padding = -1;
    std::size_t count = 0;                    // of the matrix

    template <Scalar T> auto value(xgrad::detail::Array<T> const& table) const
    {
        auto const from = xgrad::detail::contiguous(table);
        Shape shape = rows.shape;
        std::size_t const n = table.shape.back();
        shape.push_back(n);
        xgrad::detail::Array<T> out(shape);
        for (std::size_t i = 0; i < rows.numel; ++i) std::copy_n(from.begin() + static_cast<std::size_t>(rows.begin()[i]) * n, n, out.begin() + i * n);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const;
};
/// Adds each row to the one with its number, on zeros: the transpose of PickRows.
struct AddRows : Arraywise {
    PickRows picked;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const
    {
        auto const from = xgrad::detail::contiguous(x);
        std::size_t const n = x.shape.back();
        xgrad::detail::Array<T> out(Shape{picked.count, n}, T(0));
        for (std::size_t i = 0; i < picked.rows.numel; ++i) {
            if (picked.rows.begin()[i] == picked.padding) continue;
            T* const to = out.begin() + static_cast<std::size_t>(picked.rows.begin()[i]) * n;
            for (std::size_t j = 0; j < n; ++j) to[j] += from.begin()[i * n + j];
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const
    {
        auto const rows = express(picked, g);
        if (picked.padding < 0) return rows;
        Axes along(rows.dim(), 1);
        std::copy(picked.rows.shape.begin(), picked.rows.shape.end(), along.begin());
        return materialize_expression(where(reshape(Tensor<std::int64_t>(picked.rows) == picked.padding, along), 0 * rows, rows));
    }
};
auto PickRows::pullback(wrt<0>, auto const& g, auto const&, auto const&) const { return express(AddRows{{}, *this}, g); }

namespace detail {
/// A row as PyTorch numbers it: negative ones count from the end.
inline std::int64_t padding_row(std::string_view name, std::optional<std::int64_t> index, std::size_t count)
{
    auto const n = static_cast<std::int64_t>(count);
    if (index && (*index < -n || *index >= n)) xgrad::detail::fail<IndexError>(name, ": padding_idx ", *index, " must be within ", n, " rows");
    return !index ? -1 : *index < 0 ? *index + n : *index;
}
}  // namespace detail

namespace functional {

/// The rows of weight, of shape [num_embeddings, embedding_dim], that an array of any shape names: [..., embedding_dim]. Gradients of
/// a row that is named several times are added; the one of padding_idx has none.
template <Differentiable T> Tensor<T> embedding(Tensor<std::int64_t> const& input, Tensor<T> const& weight, std::optional<std::int64_t> padding_idx = {})
{
    if (weight.dim() != 2) xgrad::detail::fail<ShapeError>("embedding: the weight is [num_embeddings, embedding_dim], not of shape ", weight.shape());
    std::size_t const count = weight.shape()[0];
    xgrad::detail::Array<std::int64_t> rows(input.shape());      // a copy: the caller may change the numbers before the backward pass
    xgrad::detail::copy_elements(rows, input.array_of());
    for (auto const row : rows)
        if (row < 0 || row >= static_cast<std::int64_t>(count)) xgrad::detail::fail<IndexError>("embedding: index ", row, " is out of range for ", count, " rows");
    return express(PickRows{{}, std::move(rows), detail::padding_row("embedding", padding_idx, count), count}, weight);
}

}  // namespace functional

/// A row of numbers for each of num_embeddings words. weight begins normal, with zeros for padding_idx, whose row is not trained.
template <Differentiable T = double> struct Embedding : Module<Embedding<T>> {
    std::optional<std::int64_t> padding_idx;
    Parameter<T> weight;

    Embedding(std::size_t num_embeddings, std::size_t embedding_dim, std::optional<std::int64_t> padding = {}) : padding_idx(padding), weight(*this, "weight", begin(num_embeddings, embedding_dim, padding)) {}
    Tensor<T> forward(Tensor<std::int64_t> const& input) const { return functional::embedding(input, weight.handle_of(), padding_idx); }
    std::string extra_repr() const override
    {
        return std::to_string(weight.shape()[0]) + ", " + std::to_string(weight.shape()[1]) + (padding_idx ? ", padding_idx=" + std::to_string(*padding_idx) : "");
    }

private:
    static Tensor<T> begin(std::size_t count, std::size_t n, std::optional<std::int64_t> padding)
    {
        auto const row = detail::padding_row("Embedding", padding, count);
        Tensor<T> table = randn<T>({count, n});
        if (row >= 0) table[static_cast<std::ptrdiff_t>(row)].zero_();
        return table;
    }
};

}  // namespace xgrad::nn

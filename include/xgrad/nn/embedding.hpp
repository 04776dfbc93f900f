// Embeddings: rows of a table, selected by indices.
//
// Shapes: indices of any shape [...] and weight [num_embeddings, embedding_dim] give [...,
// embedding_dim].
// Gradients: added up for a row that is selected several times; row padding_idx gets 0. Of any
// order, in backward and forward mode. Indices have none.
// Errors: an index outside of [0, num_embeddings), and a padding_idx out of range, are an
// IndexError; a weight that is no matrix is a ShapeError; an undefined tensor is an Error.
#pragma once

#include <optional>

#include <xgrad/nn/init.hpp>
#include <xgrad/nn/module.hpp>
#include <xgrad/tensor/index_select.hpp>

namespace xgrad::nn {

namespace detail {
/// Normalises a row index: negative ones count from the end, as in PyTorch.
std::int64_t padding_row(
    std::string_view name, std::optional<std::int64_t> index, std::size_t count);
} // namespace detail

namespace functional {

/// Selects rows of weight, [num_embeddings, embedding_dim], by indices of any shape: the result is
/// [..., embedding_dim]. Gradients of a row that is selected several times are added; the row
/// padding_idx has no gradient.
template <Differentiable T>
Tensor<T> embedding(Tensor<std::int64_t> const& input, Tensor<T> const& weight,
    std::optional<std::int64_t> padding_idx = {}) {
    if (weight.dim() != 2)
        xgrad::detail::fail<ShapeError>(
            "embedding: the weight is [num_embeddings, embedding_dim], not of shape ",
            weight.shape());
    std::size_t const count = weight.shape()[0];
    return express(IndexSelect{{}, xgrad::detail::checked_index("embedding", input, 0, count), 0,
                       detail::padding_row("embedding", padding_idx, count)},
        weight);
}

} // namespace functional

/// Options of Embedding.
struct EmbeddingOptions {
    /// The index of a row that begins as zeros and is not trained; none by default. Negative ones
    /// count from the end. An index outside of the table is an IndexError.
    std::optional<std::int64_t> padding_idx = {};
};

/// A learnable vector for each of num_embeddings indices. weight is initialised normally; the row
/// padding_idx is zero and not trained.
template <Differentiable T = double> struct Embedding : Module<Embedding<T>> {
    using Options = EmbeddingOptions;
    std::optional<std::int64_t> padding_idx; // the index of the row that is not trained, if any
    Parameter<T> weight;                     // [num_embeddings, embedding_dim]

    Embedding(std::size_t num_embeddings, std::size_t embedding_dim, Options const& o = {})
        : padding_idx(o.padding_idx),
          weight(*this, "weight", begin(num_embeddings, embedding_dim, o.padding_idx)) {}
    template <class Padding>
        requires(std::integral<Padding> || std::same_as<Padding, std::optional<std::int64_t>>)
    Embedding(std::size_t num_embeddings, std::size_t embedding_dim, Padding padding)
        : Embedding(num_embeddings, embedding_dim, Options{padding}) {}
    Tensor<T> forward(Tensor<std::int64_t> const& input) const {
        return functional::embedding(input, weight.handle_of(), padding_idx);
    }
    std::string extra_repr() const override {
        return std::to_string(weight.shape()[0]) + ", " + std::to_string(weight.shape()[1]) +
               (padding_idx ? ", padding_idx=" + std::to_string(*padding_idx) : "");
    }

private:
    static Tensor<T> begin(std::size_t count, std::size_t n, std::optional<std::int64_t> padding) {
        auto const row = detail::padding_row("Embedding", padding, count);
        Tensor<T> table = randn<T>({count, n});
        if (row >= 0) table[static_cast<std::ptrdiff_t>(row)].zero_();
        return table;
    }
};

} // namespace xgrad::nn

// Attention: scaled_dot_product_attention() and MultiheadAttention.
//
// Shapes: queries [..., L, E], keys [..., S, E] and values [..., S, Ev] give [..., L, Ev]; masks
// broadcast to [..., L, S]. MultiheadAttention takes [L, N, E], [N, L, E] if batch_first, or [L,
// E].
// Gradients: of queries, keys, values, masks of real numbers and parameters, of any order, in
// backward and forward mode. Weights that were dropped or masked get 0.
// Errors: shapes that do not fit are a ShapeError. is_causal beside an attn_mask, a probability
// outside of [0, 1], heads that do not divide embed_dim, and undefined tensors are an Error.
// Complex tensors do not compile.
#pragma once

#include <xgrad/nn/functional.hpp>
#include <xgrad/nn/initializers.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::nn {

/// An attention mask: booleans, or real numbers that are added to the scores. An undefined one
/// masks nothing.
template <RealScalar T> struct AttentionMask {
    Tensor<bool> flags; // the boolean mask, or undefined
    Tensor<T> added;    // what is added to the scores, or undefined

    AttentionMask() = default;
    AttentionMask(Tensor<bool> mask) : flags(std::move(mask)) {}
    AttentionMask(Tensor<T> mask) : added(std::move(mask)) {}
    /// True if there is a mask.
    bool defined() const noexcept { return flags.defined() || added.defined(); }
    /// The shape of the mask, which is broadcast to the scores.
    Shape const& shape() const { return flags.defined() ? flags.shape() : added.shape(); }
    /// The same along other axes.
    AttentionMask reshaped(Axes const& axes) const {
        if (flags.defined()) return Tensor<bool>(reshape(flags, axes));
        return Tensor<T>(reshape(added, axes));
    }
};

/// Options of scaled_dot_product_attention().
template <RealScalar T> struct AttentionOptions {
    /// Broadcasts to [..., L, S]. A boolean is true where a query attends to a key.
    AttentionMask<T> attn_mask = {};
    /// Probability with which a weight becomes 0.
    double dropout_p = 0;
    /// Query i attends to the keys 0 to i only.
    bool is_causal = false;
    /// 1/sqrt(E) by default.
    std::optional<double> scale = {};
};

namespace detail {

/// The weights of a query that may attend to no key.
enum class Unseeing { nan, zero };

/// The attention weights softmax(scale q k' + masks), [..., L, S], for queries [..., L, E] and keys
/// [..., S, E].
template <RealScalar T>
Tensor<T> attention_weights(Tensor<T> const& q, Tensor<T> const& k, double scale,
    Tensor<bool> const& kept, Tensor<T> const& added, Unseeing unseeing) {
    Tensor<T> scores = matmul(Tensor<T>(q * static_cast<T>(scale)), mT(k));
    constexpr T none = -std::numeric_limits<T>::infinity();
    if (kept.defined() && added.defined()) scores = where(kept, scores + added, none);
    else if (kept.defined()) scores = where(kept, scores, none);
    else if (added.defined()) scores = scores + added;
    if (unseeing == Unseeing::nan || !(kept.defined() || added.defined()))
        return functional::softmax(scores, -1);
    Tensor<bool> const sees =
        largest_over(scores, {static_cast<std::ptrdiff_t>(scores.dim()) - 1}) != none;
    return where(sees, functional::softmax(Tensor<T>(where(sees, scores, T(0))), -1), T(0));
}
/// The causal mask: true where j <= i.
Tensor<bool> causal_mask(std::size_t queries, std::size_t keys);

} // namespace detail

namespace functional {

/// softmax(q k'/sqrt(E) + mask) v for queries [..., L, E], keys [..., S, E] and values [..., S, Ev]
/// (Vaswani et al., 2017): [..., L, Ev]. A query that may attend to no key gives zeros.
template <RealScalar T>
Tensor<T> scaled_dot_product_attention(Tensor<T> const& q, std::type_identity_t<Tensor<T>> const& k,
    std::type_identity_t<Tensor<T>> const& v,
    std::type_identity_t<AttentionOptions<T>> const& options = {}) {
    bool fits = q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 &&
                q.shape().back() == k.shape().back() && k.shape(-2) == v.shape(-2);
    Shape scores;
    if (fits) {
        auto const stack = [](Tensor<T> const& t) {
            return Shape(t.shape().begin(), t.shape().end() - 2);
        };
        scores = stack(q);
        fits = xgrad::detail::widen(scores, stack(k));
        Shape results = scores;
        fits = fits && xgrad::detail::widen(results, stack(v));
    }
    if (!fits)
        xgrad::detail::fail<ShapeError>("scaled_dot_product_attention: queries of shape ",
            q.shape(), ", keys of shape ", k.shape(), " and values of shape ", v.shape(),
            " do not fit: [..., L, E], [..., S, E] and [..., S, Ev] are needed");
    if (options.attn_mask.defined()) {
        scores.push_back(q.shape(-2));
        scores.push_back(k.shape(-2));
        xgrad::detail::check_broadcasts("scaled_dot_product_attention", "an attn_mask",
            options.attn_mask.shape(), "a product of queries and keys", scores);
    }
    if (options.is_causal && options.attn_mask.defined())
        xgrad::detail::fail("scaled_dot_product_attention: Explicit attn_mask should not be set "
                            "when is_causal=True");
    Tensor<bool> const kept =
        options.is_causal ? detail::causal_mask(q.shape(-2), k.shape(-2)) : options.attn_mask.flags;
    auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape().back())));
    auto const w = detail::attention_weights(
        q, k, scale, kept, options.attn_mask.added, detail::Unseeing::zero);
    return matmul(dropout(w, options.dropout_p), v);
}

} // namespace functional

/// Options of MultiheadAttention.
struct MultiheadAttentionOptions {
    /// In training mode, the probability with which an attention weight becomes 0.
    double dropout = 0;
    bool bias = true; // false for no in_proj_bias, and no bias in out_proj
    /// Tensors are [N, L, E], not [L, N, E].
    bool batch_first = false;
    /// `kdim` is the extent of keys, `vdim` that of values. 0 means embed_dim, the extent of
    /// queries.
    std::size_t kdim = 0, vdim = 0;
};

/// Options of a call of MultiheadAttention.
template <RealScalar T = double> struct MultiheadAttentionMasks {
    /// [N, S] ([S] without a batch): true for keys that are ignored.
    AttentionMask<T> key_padding_mask = {};
    /// [L, S] or [N heads, L, S]: true where a query must not attend to a key.
    AttentionMask<T> attn_mask = {};
    /// With `need_weights` the call also returns the attention weights, with `average_attn_weights`
    /// their mean over the heads.
    bool need_weights = true, average_attn_weights = true;
};

/// Attention with several heads, each in a subspace of its own. Called with queries [L, N, E], keys
/// [S, N, kdim] and values [S, N, vdim], or all without the axis N, it returns the output [L, N, E]
/// and the weights [N, L, S] ([N, heads, L, S] where they are not averaged; undefined where they
/// are not needed). in_proj_weight [3E, E] has those of queries, keys and values in this order;
/// where kdim or vdim differ from E there are q_proj_weight, k_proj_weight and v_proj_weight
/// instead.
template <RealScalar T = double> class MultiheadAttention : public Module<MultiheadAttention<T>> {
    using Masks = MultiheadAttentionMasks<T>;
    std::size_t heads_;
    MultiheadAttentionOptions options_;
    bool same_;

    static Tensor<T> xavier(bool there, std::size_t out, std::size_t in) {
        if (!there) return {};
        Tensor<T> t = Tensor<T>::empty({out, in});
        init::xavier_uniform_(t);
        return t;
    }

public:
    using Options = MultiheadAttentionOptions;
    /// `in_proj_weight` is [3E, E], and undefined where kdim or vdim differ from E. Then there are
    /// `q_proj_weight` [E, E], `k_proj_weight` [E, kdim] and `v_proj_weight` [E, vdim], which are
    /// undefined otherwise. `in_proj_bias` is [3E], and undefined without a bias.
    Parameter<T> in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias;
    Child<Linear<T>> out_proj; // the linear layer from E to E after the heads

    MultiheadAttention(std::size_t embed_dim, std::size_t num_heads, Options const& o = {})
        : heads_(num_heads), options_(o),
          same_((!o.kdim || o.kdim == embed_dim) && (!o.vdim || o.vdim == embed_dim)),
          in_proj_weight(*this, "in_proj_weight", xavier(same_, 3 * embed_dim, embed_dim)),
          q_proj_weight(*this, "q_proj_weight", xavier(!same_, embed_dim, embed_dim)),
          k_proj_weight(
              *this, "k_proj_weight", xavier(!same_, embed_dim, o.kdim ? o.kdim : embed_dim)),
          v_proj_weight(
              *this, "v_proj_weight", xavier(!same_, embed_dim, o.vdim ? o.vdim : embed_dim)),
          in_proj_bias(*this, "in_proj_bias", o.bias ? zeros<T>({3 * embed_dim}) : Tensor<T>()),
          out_proj(*this, "out_proj", embed_dim, embed_dim, o.bias) {
        if (num_heads == 0 || embed_dim == 0 || embed_dim % num_heads != 0)
            xgrad::detail::fail("MultiheadAttention: embed_dim ", embed_dim,
                " must be divisible by num_heads ", num_heads);
        detail::checked_probability("MultiheadAttention: dropout", o.dropout);
        if (o.bias) init::zeros_(out_proj.bias.handle_of());
    }

    std::tuple<Tensor<T>, Tensor<T>> forward(
        Tensor<T> const& query, Tensor<T> const& key, Tensor<T> const& value) const {
        return forward(query, key, value, Masks());
    }
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& query, Tensor<T> const& key,
        Tensor<T> const& value, Masks const& masks) const {
        auto const embed = out_proj.weight.shape()[1];
        check(query, key, value, embed);
        bool const batched = query.dim() == 3;
        auto const projected = project(query, key, value, static_cast<std::ptrdiff_t>(embed));
        Tensor<T> const q = in_heads(projected[0]), k = in_heads(projected[1]),
                        v = in_heads(projected[2]); // [N, heads, L, E/heads]
        Tensor<bool> kept;
        Tensor<T> added;
        collect_masks(masks, q.shape()[0], q.shape()[2], k.shape()[2], kept, added);
        Tensor<T> w =
            detail::attention_weights(q, k, 1 / std::sqrt(static_cast<double>(q.shape().back())),
                kept, added, masks.need_weights ? detail::Unseeing::nan : detail::Unseeing::zero);
        w = functional::dropout(w, options_.dropout, this->is_training());
        Tensor<T> const y = matmul(w, v);
        // [N, heads, L, E/heads] back to the layout of the queries
        Tensor<T> const out = out_proj(Tensor<T>(reshape(
            permute(y, batched && options_.batch_first ? Axes{0, 2, 1, 3} : Axes{2, 0, 1, 3}),
            Axes(query.shape()))));
        if (!masks.need_weights) return {out, {}};
        if (masks.average_attn_weights) w = mean(w, {1});
        return {out, batched ? w : Tensor<T>(squeeze(w, 0))};
    }
    /// The number of heads, which divides embed_dim.
    std::size_t num_heads() const noexcept { return heads_; }
    /// The options that the constructor got.
    MultiheadAttentionOptions const& options() const noexcept { return options_; }
    std::string extra_repr() const override {
        return "embed_dim=" + std::to_string(out_proj.weight.shape()[1]) +
               ", num_heads=" + std::to_string(heads_);
    }

private:
    void check(Tensor<T> const& query, Tensor<T> const& key, Tensor<T> const& value,
        std::size_t embed) const {
        for (std::size_t i = 0; auto const* t : {&query, &key, &value})
            xgrad::detail::check_defined("MultiheadAttention", *t, i++);
        auto const kdim = options_.kdim ? options_.kdim : embed,
                   vdim = options_.vdim ? options_.vdim : embed;
        auto const rank = query.dim();
        bool fits = (rank == 2 || rank == 3) && key.dim() == rank && value.dim() == rank &&
                    query.shape().back() == embed && key.shape().back() == kdim &&
                    value.shape().back() == vdim;
        std::size_t const length = rank == 3 && options_.batch_first ? 1 : 0;
        if (fits)
            fits = key.shape()[length] == value.shape()[length] &&
                   (rank == 2 || (query.shape()[1 - length] == key.shape()[1 - length] &&
                                     key.shape()[1 - length] == value.shape()[1 - length]));
        if (!fits)
            xgrad::detail::fail<ShapeError>("MultiheadAttention: queries of shape ", query.shape(),
                ", keys of shape ", key.shape(), " and values of shape ", value.shape(),
                " do not fit: ", options_.batch_first ? "[N, L, " : "[L, N, ", embed,
                options_.batch_first ? "], [N, S, " : "], [S, N, ", kdim,
                options_.batch_first ? "] and [N, S, " : "] and [S, N, ", vdim,
                "] are needed, or all without N");
    }
    /// Projects queries, keys and values. If they are the same tensor, one product projects all.
    std::vector<Tensor<T>> project(Tensor<T> const& query, Tensor<T> const& key,
        Tensor<T> const& value, std::ptrdiff_t embed) const {
        auto const part = [&](Tensor<T> const& all, std::ptrdiff_t from, std::ptrdiff_t to) {
            return all.defined() ? all(slice(from * embed, to * embed)) : all;
        };
        Tensor<T> const& w = in_proj_weight.handle_of();
        Tensor<T> const& b = in_proj_bias.handle_of();
        if (!same_)
            return {functional::linear(query, q_proj_weight.handle_of(), part(b, 0, 1)),
                functional::linear(key, k_proj_weight.handle_of(), part(b, 1, 2)),
                functional::linear(value, v_proj_weight.handle_of(), part(b, 2, 3))};
        if (!key.is_same(value))
            return {functional::linear(query, part(w, 0, 1), part(b, 0, 1)),
                functional::linear(key, part(w, 1, 2), part(b, 1, 2)),
                functional::linear(value, part(w, 2, 3), part(b, 2, 3))};
        if (query.is_same(key)) return chunk(functional::linear(query, w, b), 3, -1);
        auto const both = chunk(functional::linear(key, part(w, 1, 3), part(b, 1, 3)), 2, -1);
        return {functional::linear(query, part(w, 0, 1), part(b, 0, 1)), both[0], both[1]};
    }
    /// Views [L, N, E], [N, L, E] or [L, E] as [N, heads, L, E/heads].
    Tensor<T> in_heads(Tensor<T> const& x) const {
        Axes shape(x.shape());
        shape.back() = static_cast<std::ptrdiff_t>(heads_);
        shape.push_back(static_cast<std::ptrdiff_t>(x.shape().back() / heads_));
        Tensor<T> const parts = reshape(x, shape);
        if (x.dim() == 2) return unsqueeze(permute(parts, {1, 0, 2}), 0);
        return permute(parts, options_.batch_first ? Axes{0, 2, 1, 3} : Axes{1, 2, 0, 3});
    }
    /// Combines both masks for scores [N, heads, L, S]: which scores are kept, and what is added to
    /// them.
    void collect_masks(Masks const& masks, std::size_t n, std::size_t l, std::size_t s,
        Tensor<bool>& kept, Tensor<T>& added) const {
        auto const extent = [](std::size_t e) { return static_cast<std::ptrdiff_t>(e); };
        auto const add = [&](AttentionMask<T> const& m) {
            if (m.flags.defined())
                kept = kept.defined() ? Tensor<bool>(kept && !m.flags) : Tensor<bool>(!m.flags);
            if (m.added.defined()) added = added.defined() ? Tensor<T>(added + m.added) : m.added;
        };
        if (auto const& m = masks.attn_mask; m.defined()) {
            bool const of_heads = m.shape() == Shape{n * heads_, l, s};
            if (!of_heads && !(m.shape() == Shape{l, s}))
                xgrad::detail::fail<ShapeError>("MultiheadAttention: the attn_mask has shape ",
                    m.shape(), ", it should have ", Shape{l, s}, " or ", Shape{n * heads_, l, s});
            add(m.reshaped(of_heads ? Axes{extent(n), extent(heads_), extent(l), extent(s)}
                                    : Axes{1, 1, extent(l), extent(s)}));
        }
        if (auto const& m = masks.key_padding_mask; m.defined()) {
            if (!(m.shape() == Shape{n, s}) && !(n == 1 && m.shape() == Shape{s}))
                xgrad::detail::fail<ShapeError>(
                    "MultiheadAttention: the key_padding_mask has shape ", m.shape(),
                    ", it should have ", Shape{n, s});
            add(m.reshaped({extent(n), 1, 1, extent(s)}));
        }
    }
};

} // namespace xgrad::nn

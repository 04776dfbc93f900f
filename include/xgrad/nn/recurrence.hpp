// A recurrent layer over a whole sequence as one Node. Each step is a matrix product and one loop
// over the gates. The backward pass computes the gradient of the weights by one product for all
// steps. Benchmark: networks.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/kernels/gemm.hpp>
#include <xgrad/nn/recurrent_cells.hpp>
#include <xgrad/tensor/function.hpp>
#include <xgrad/tensor/join.hpp>

namespace xgrad::nn::detail {

/// All states h, and c if the cell has one, [L, N, H], computed step by step by differentiable
/// operations. `in` is the inputs' contribution to the gates, [L, N, gates H].
template <class Cell, RealScalar T>
std::vector<Tensor<T>> unrolled(Cell const& cell, Tensor<T> const& in, RecurrentState<T> s,
    RecurrentWeights<T> const& w, bool backwards) {
    auto const inputs = unbind(in, 0);
    std::size_t const length = inputs.size();
    std::vector<Tensor<T>> h(length), c(length);
    for (std::size_t k = 0; k < length; ++k) {
        auto const t = backwards ? length - 1 - k : k;
        cell.step(inputs[t], gates_of_state<Cell>(s.h, w), s);
        if (w.hr.defined()) s.h = functional::linear(s.h, w.hr);
        h[t] = s.h;
        c[t] = s.c;
    }
    auto const joined = [&](std::vector<Tensor<T>> const& all) {
        return Tensor<T>(
            reshape(cat(all, 0), {static_cast<std::ptrdiff_t>(length), -1,
                                     static_cast<std::ptrdiff_t>(all[0].shape().back())}));
    };
    if (!Cell::has_c) return {joined(h)};
    return {joined(h), joined(c)};
}

/// The layer as one Node, without a projection. If the backward pass is itself recorded, it uses
/// unrolled().
template <class Cell, RealScalar T> struct Recurrence : Function<Recurrence<Cell, T>> {
    using Context = xgrad::Context<Recurrence>;
    using X = Tensor<T>;
    using Array = xgrad::detail::Array<T>;
    /// in, h_0, c_0, weight [gates H, H], bias, values that the cell saves, h, c.
    using Saved = std::tuple<X, X, std::optional<X>, X, std::optional<X>, X, X, std::optional<X>>;
    struct Data {
        Cell cell;
        bool backwards = false;
    };

    static std::vector<X> forward(Context& ctx, X const& in, X const& h_0,
        std::optional<X> const& c_0, X const& weight, std::optional<X> const& bias,
        Cell const& cell, bool backwards) {
        Extents const e(in, h_0);
        X const h = X::empty({e.length, e.batch, e.hidden}),
                keep = X::empty({e.length, e.batch, Cell::kept * e.hidden});
        X const c = Cell::has_c ? X::empty(h.shape()) : X();
        Array const gates = plain(in), w = plain(weight), first_h = plain(h_0),
                    first_c = c_0 ? plain(*c_0) : Array(Shape{0});
        Array rec(Shape{e.batch, Cell::gates * e.hidden});
        Array const add = bias ? plain(*bias) : Array(Shape{0});
        T *const all_h = h.array_of().begin(),
                 *const all_c = c.defined() ? c.array_of().begin() : nullptr,
                 *const all_kept = keep.array_of().begin();
        T const *h_before = first_h.begin(), *c_before = first_c.begin();
        auto const rows = e.batch * e.hidden;
        for (std::size_t k = 0; k < e.length; ++k) {
            auto const t = backwards ? e.length - 1 - k : k;
            if (bias)
                for (std::size_t n = 0; n < e.batch; ++n)
                    std::copy_n(add.begin(), add.numel, rec.begin() + n * add.numel);
            multiply(e.batch, Cell::gates * e.hidden, e.hidden, h_before, false, e.hidden,
                w.begin(), true, e.hidden, rec.begin(), bias.has_value());
            T* const c_now = all_c ? all_c + t * rows : nullptr;
            each_units(e, [&](UnitsAt<T> at) {
                cell.forward(at, gates.begin() + t * Cell::gates * rows, rec.begin(), h_before,
                    c_before, all_kept + t * Cell::kept * rows, all_h + t * rows, c_now);
            });
            h_before = all_h + t * rows;
            c_before = c_now;
        }
        ctx.cell = cell;
        ctx.backwards = backwards;
        ctx.set_materialize_grads(false);
        std::optional<X> const saved_c = c.defined() ? std::optional<X>(c) : std::nullopt;
        ctx.save_for_backward(in, h_0, c_0, weight, bias, keep, h, saved_c);
        if (!Cell::has_c) return {h};
        return {h, c};
    }

    static auto backward(Context& ctx, std::vector<X> const& g) {
        auto const [in, h_0, c_0, weight, bias, keep, h, c] = ctx.saved_tensors();
        std::tuple<X, X, std::optional<X>, X, std::optional<X>> all;
        if (is_grad_enabled()) all = recorded(ctx, g, in, h_0, c_0, weight, bias);
        else all = computed(ctx, g, in, h_0, c_0, weight, bias, keep, h, c);
        return std::tuple_cat(std::move(all), std::tuple(std::nullopt, std::nullopt));
    }

private:
    struct Extents {
        std::size_t length, batch, hidden;
        Extents(X const& in, X const& h_0)
            : length(in.shape()[0]), batch(in.shape()[1]), hidden(h_0.shape()[1]) {}
    };

    static Array plain(X const& x) { return xgrad::detail::contiguous(x.array_of()); }
    /// C = op(A) op(B), or C += if `add`: row-major with leading dimensions lda, ldb and n; `at`
    /// and `bt` transpose.
    static void multiply(std::size_t m, std::size_t n, std::size_t k, T const* a, bool at,
        std::size_t lda, T const* b, bool bt, std::size_t ldb, T* c, bool add) {
        auto const p = static_cast<std::ptrdiff_t>(lda), q = static_cast<std::ptrdiff_t>(ldb);
        xgrad::detail::gemm<T>(m, n, k, a, at ? 1 : p, at ? p : 1, false, b, bt ? 1 : q, bt ? q : 1,
            false, c, static_cast<std::ptrdiff_t>(n), add);
    }
    template <class F> static void each_units(Extents const& e, F f) {
        constexpr std::size_t width = simd::Batch<T>::width;
        for (std::size_t n = 0; n < e.batch; ++n)
            for (std::size_t i = 0; i < e.hidden; i += width)
                f(UnitsAt<T>{n, i, std::min(width, e.hidden - i), e.hidden});
    }

    static std::tuple<X, X, std::optional<X>, X, std::optional<X>> computed(Context& ctx,
        std::vector<X> const& g, X const& in, X const& h_0, std::optional<X> const& c_0,
        X const& weight, std::optional<X> const& bias, X const& keep, X const& h,
        std::optional<X> const& c) {
        Extents const e(in, h_0);
        auto const rows = e.batch * e.hidden, gates = Cell::gates * e.hidden;
        Array const w = plain(weight), first_h = plain(h_0),
                    first_c = c_0 ? plain(*c_0) : Array(Shape{0}), kept = plain(keep),
                    all_h = plain(h), all_c = c ? plain(*c) : Array(Shape{0});
        Array const g_h = g[0].defined() ? plain(g[0]) : Array(Shape{0}),
                    g_c = Cell::has_c && g[1].defined() ? plain(g[1]) : Array(Shape{0});
        Array const dh(Shape{e.batch, e.hidden}, T(0)), dc(Shape{e.batch, e.hidden}, T(0)),
            d_in(in.shape());
        Array const d_rec = Cell::adds_biases ? d_in : Array(in.shape());
        auto const add = [&](Array const& to, Array const& from, std::size_t t) {
            if (from.numel)
                for (std::size_t i = 0; i < rows; ++i) to.begin()[i] += from.begin()[t * rows + i];
        };
        for (std::size_t k = e.length; k-- > 0;) {
            auto const t = ctx.backwards ? e.length - 1 - k : k,
                       before = ctx.backwards ? t + 1 : t - 1;
            T const *const h_before = k ? all_h.begin() + before * rows : first_h.begin(),
                           *const c_before =
                               k && c ? all_c.begin() + before * rows : first_c.begin();
            T* const to_rec = d_rec.begin() + t * e.batch * gates;
            add(dh, g_h, t);
            add(dc, g_c, t);
            each_units(e, [&](UnitsAt<T> at) {
                ctx.cell.backward(at, kept.begin() + t * Cell::kept * rows, h_before, c_before,
                    all_h.begin() + t * rows, all_c.begin() + (c ? t * rows : 0), dh.begin(),
                    dc.begin(), d_in.begin() + t * e.batch * gates, to_rec);
            });
            multiply(e.batch, e.hidden, gates, to_rec, false, gates, w.begin(), false, e.hidden,
                dh.begin(), true);
        }
        std::optional<X> d_weight, d_bias;
        if (ctx.needs_input_grad(3)) {
            Array const d(weight.shape());
            auto const first = ctx.backwards ? e.length - 1 : 0, rest = (e.length - 1) * e.batch;
            multiply(gates, e.hidden, e.batch, d_rec.begin() + first * e.batch * gates, true, gates,
                first_h.begin(), false, e.hidden, d.begin(), false);
            if (rest)
                multiply(gates, e.hidden, rest,
                    d_rec.begin() + (ctx.backwards ? 0 : e.batch * gates), true, gates,
                    all_h.begin() + (ctx.backwards ? rows : 0), false, e.hidden, d.begin(), true);
            d_weight = X(d);
        }
        if (bias && ctx.needs_input_grad(4)) d_bias = sum(X(d_rec), {0, 1});
        return {X(d_in), X(dh), c_0 ? std::optional<X>(X(dc)) : std::nullopt,
            d_weight.value_or(X()), d_bias};
    }

    static std::tuple<X, X, std::optional<X>, X, std::optional<X>> recorded(Context& ctx,
        std::vector<X> const& g, X const& in, X const& h_0, std::optional<X> const& c_0,
        X const& weight, std::optional<X> const& bias) {
        xgrad::detail::LocalGraph graph;
        auto const input = [&](X const& t) {
            return X(graph.input(t, t.requires_grad() ? xgrad::detail::gradient_edge(t) : Edge())
                         .handle());
        };
        auto const optional_input = [&](std::optional<X> const& t) { return t ? input(*t) : X(); };
        auto const x = input(in), h = input(h_0), w = input(weight), c = optional_input(c_0),
                   add = optional_input(bias);
        auto const all = unrolled(ctx.cell, x, RecurrentState<T>{h, c},
            RecurrentWeights<T>{{}, mT(w), {}, add, {}}, ctx.backwards);
        auto const d = graph.gradients(std::vector<AnyTensor>(all.begin(), all.end()),
            std::vector<AnyTensor>(g.begin(), g.end()));
        auto const at = [&](std::size_t i) { return d[i].defined() ? X(d[i].handle()) : X(); };
        return {at(0), at(1), c_0 ? std::optional<X>(at(3)) : std::nullopt, at(2),
            bias ? std::optional<X>(at(c_0 ? 4 : 3)) : std::nullopt};
    }
};

/// Runs a layer in one direction: returns all h, [L, N, H], for inputs [L, N, in]; `s` becomes the
/// last state.
template <class Cell, RealScalar T>
Tensor<T> run_layer(Cell const& cell, Tensor<T> const& x, RecurrentWeights<T> const& w,
    RecurrentState<T>& s, bool backwards) {
    Tensor<T> const in = gates_of_input<Cell>(x, w);
    std::vector<Tensor<T>> all;
    if (w.hr.defined()) all = unrolled(cell, in, s, w, backwards);
    else {
        auto const there = [](bool wanted, Tensor<T> const& t) {
            return wanted && t.defined() ? std::optional<Tensor<T>>(t) : std::nullopt;
        };
        all = Recurrence<Cell, T>::apply(in, s.h, there(Cell::has_c, s.c), Tensor<T>(mT(w.hh_t)),
            there(!Cell::adds_biases, w.bias_hh), cell, backwards);
    }
    auto const last = backwards ? 0 : static_cast<std::ptrdiff_t>(x.shape()[0]) - 1;
    s.h = all[0](last);
    if (Cell::has_c) s.c = all[1](last);
    return all[0];
}

} // namespace xgrad::nn::detail

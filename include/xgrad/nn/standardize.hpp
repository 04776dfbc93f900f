// Standardisation, which batch, group and layer normalisation share: (x - mean) / standard
// deviation, scaled and shifted for each channel. An array is viewed as [samples, groups, channels
// of a group, positions]. Benchmark: statistics.
#pragma once

#include <vector>

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::nn::detail {

struct StandardizeGeometry {
    std::size_t samples = 1, groups = 1, channels = 1,
                positions = 1; // channels: of one group
    bool over_samples = false; // whether all samples share one mean
    double eps = 1e-5;

    /// A line is contiguous: the positions of one channel of one sample.
    std::size_t lines() const { return samples * groups * channels; }
    std::size_t statistics() const { return over_samples ? groups : samples * groups; }
    std::size_t statistic_of(std::size_t line) const {
        return over_samples ? line / channels % groups : line / channels;
    }
    std::size_t channel_of(std::size_t line) const { return line % (groups * channels); }
    double count() const;
};

/// Mean and variance of one set of elements, in double.
struct Moments {
    double mean = 0, variance = 0;
};

/// The sum of f(i) for i < n, in independent partial sums.
template <class F> double sum_of(std::size_t n, F f) {
    constexpr std::size_t width = 8;
    double part[width] = {}, rest = 0;
    std::size_t i = 0;
    for (; i + width <= n; i += width)
        for (std::size_t k = 0; k < width; ++k) part[k] += f(i + k);
    for (; i < n; ++i) rest += f(i);
    for (auto const p : part) rest += p;
    return rest;
}

/// The moments of all lines in one pass over memory: each line is read twice, the second time from
/// the cache, and its moments are merged with those before (Chan et al., 1983).
template <RealScalar T> std::vector<Moments> moments(StandardizeGeometry const& g, T const* x) {
    std::vector<Moments> all(g.statistics());
    std::vector<double> counts(all.size());
    auto const n = static_cast<double>(g.positions);
    for (std::size_t line = 0; g.positions && line < g.lines(); ++line, x += g.positions) {
        double const mean =
            sum_of(g.positions, [x](std::size_t i) { return static_cast<double>(x[i]); }) / n;
        double const squares = sum_of(g.positions, [x, mean](std::size_t i) {
            double const d = static_cast<double>(x[i]) - mean;
            return d * d;
        });
        auto const at = g.statistic_of(line);
        auto& [joint_mean, joint_squares] = all[at];
        double const before = counts[at], share = n / (counts[at] += n), apart = mean - joint_mean;
        joint_mean += apart * share;
        joint_squares += squares + apart * apart * before * share;
    }
    for (auto& m : all) m.variance /= g.count();
    return all;
}

template <RealScalar T> class StandardizeNode final : public Node {
public:
    StandardizeNode(StandardizeGeometry const& geometry, std::vector<Moments> moments,
        Tensor<T> const& x, Tensor<T> const& weight, Tensor<T> const& bias)
        : g_(geometry), moments_(std::move(moments)), shape_(x.shape()) {
        std::size_t edges = 0;
        Tensor<T> const* const arguments[] = {&x, &weight, &bias};
        for (std::size_t i = 0; i < 3; ++i)
            if (arguments[i]->defined() && arguments[i]->requires_grad()) {
                edge_of_[i] = static_cast<std::ptrdiff_t>(edges);
                edges_[edges++] = xgrad::detail::gradient_edge(*arguments[i]);
            }
        x_ = SavedTensor::operand(x);
        has_weight_ = weight.defined();
        if (has_weight_) weight_ = SavedTensor::operand(weight);
        set_edges(edges_.data(), edges);
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        Tensor<T> const g = gradients[0].as<T>(), x = x_.unpack(*this).template as<T>();
        Tensor<T> const weight = has_weight_ ? weight_.unpack(*this).template as<T>() : Tensor<T>();
        auto const [to_x, to_weight, to_bias] =
            xgrad::detail::recording() ? recorded(g, x, weight) : computed(g, x, weight);
        if (edge_of_[0] >= 0) results[static_cast<std::size_t>(edge_of_[0])] = to_x;
        if (edge_of_[1] >= 0) results[static_cast<std::size_t>(edge_of_[1])] = to_weight;
        if (edge_of_[2] >= 0) results[static_cast<std::size_t>(edge_of_[2])] = to_bias;
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        xgrad::detail::push_by_transposing(
            *this, {xgrad::detail::type_info<T>.filled(shape_, 0)}, tangents, results);
    }
    std::string name() const override { return "StandardizeBackward"; }
    std::string formula() const override {
        return has_weight_ ? "Standardize(a, b, c)" : "Standardize(a)";
    }
    void release_saved() noexcept override {
        x_.release();
        weight_.release();
    }
    std::vector<NamedSavedTensor> saved_tensors() override {
        std::vector<NamedSavedTensor> all{{"a", &x_}};
        if (has_weight_) all.push_back({"b", &weight_});
        return all;
    }

private:
    using Three = std::tuple<Tensor<T>, Tensor<T>, Tensor<T>>;
    struct Sums {
        double of_g = 0, of_g_x = 0;
    };

    /// Two passes: the first sums gradients g and products g x' with the standardised x'; the
    /// second computes dx = w g/s - mean(w g)/s - x' mean(w g x')/s.
    Three computed(
        Tensor<T> const& gradient, Tensor<T> const& numbers, Tensor<T> const& weight) const {
        auto const g = xgrad::detail::contiguous(gradient.array_of()),
                   x = xgrad::detail::contiguous(numbers.array_of());
        auto const w = weight.defined() ? xgrad::detail::contiguous(weight.array_of())
                                        : xgrad::detail::Array<T>();
        auto const scale = [&](std::size_t channel) {
            return w.defined() ? static_cast<double>(w.begin()[channel]) : 1.;
        };
        std::size_t const n = g_.positions, channels = g_.groups * g_.channels;
        std::vector<Sums> of_statistic(g_.statistics()), of_channel(channels);
        for (std::size_t line = 0; line < g_.lines(); ++line) {
            auto const c = g_.channel_of(line), s = g_.statistic_of(line);
            T const *gl = g.begin() + line * n, *xl = x.begin() + line * n;
            double const mean = moments_[s].mean,
                         of_g =
                             sum_of(n, [gl](std::size_t i) { return static_cast<double>(gl[i]); });
            double const of_g_x = deviation(s) * sum_of(n, [gl, xl, mean](std::size_t i) {
                return static_cast<double>(gl[i]) * (static_cast<double>(xl[i]) - mean);
            });
            of_channel[c].of_g += of_g, of_channel[c].of_g_x += of_g_x;
            of_statistic[s].of_g += scale(c) * of_g, of_statistic[s].of_g_x += scale(c) * of_g_x;
        }
        Three all;
        auto& [to_x, to_weight, to_bias] = all;
        if (edge_of_[0] >= 0) {
            xgrad::detail::Array<T> out(shape_);
            for (std::size_t line = 0; line < g_.lines(); ++line) {
                auto const s = g_.statistic_of(line);
                double const r = deviation(s), mean_g = of_statistic[s].of_g / g_.count(),
                             mean_g_x = of_statistic[s].of_g_x / g_.count();
                auto const of_g = static_cast<T>(r * scale(g_.channel_of(line))),
                           of_x = static_cast<T>(-r * r * mean_g_x),
                           mean = static_cast<T>(moments_[s].mean),
                           rest = static_cast<T>(-r * mean_g);
                T const *gl = g.begin() + line * n, *xl = x.begin() + line * n;
                T* const to = out.begin() + line * n;
                for (std::size_t i = 0; i < n; ++i)
                    to[i] = of_g * gl[i] + (of_x * (xl[i] - mean) + rest);
            }
            to_x = Tensor<T>(std::move(out));
        }
        auto const of_channels = [&](double Sums::*which) {
            xgrad::detail::Array<T> out(Shape{channels});
            for (std::size_t c = 0; c < channels; ++c)
                out.begin()[c] = static_cast<T>(of_channel[c].*which);
            return Tensor<T>(std::move(out));
        };
        if (edge_of_[1] >= 0) to_weight = of_channels(&Sums::of_g_x);
        if (edge_of_[2] >= 0) to_bias = of_channels(&Sums::of_g);
        return all;
    }
    /// The backward pass by recorded operations, for second order.
    Three recorded(
        Tensor<T> const& gradient, Tensor<T> const& numbers, Tensor<T> const& weight) const {
        auto const extent = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
        Axes const all{
            extent(g_.samples), extent(g_.groups), extent(g_.channels), extent(g_.positions)},
            over = g_.over_samples ? Axes{0, 2, 3} : Axes{2, 3},
            flat{extent(g_.groups * g_.channels)};
        Tensor<T> const g = reshape(gradient, all), x = reshape(numbers, all),
                        centred = x - mean(x, over, keepdims);
        Tensor<T> const r = rsqrt(mean(square(centred), over, keepdims) + static_cast<T>(g_.eps)),
                        standard = centred * r;
        Tensor<T> const weighted =
            weight.defined() ? Tensor<T>(g * reshape(weight, {1, all[1], all[2], 1})) : g;
        Tensor<T> const to_x = r * (weighted - mean(weighted, over, keepdims) -
                                       standard * mean(weighted * standard, over, keepdims));
        return {reshape(to_x, Axes(shape_)), reshape(sum(g * standard, {0, 3}), flat),
            reshape(sum(g, {0, 3}), flat)};
    }
    double deviation(std::size_t statistic) const {
        return 1 / std::sqrt(moments_[statistic].variance + g_.eps);
    }

    StandardizeGeometry g_;
    std::vector<Moments> moments_;
    Shape shape_;
    std::array<Edge, 3> edges_;
    std::array<std::ptrdiff_t, 3> edge_of_{-1, -1, -1};
    SavedTensor x_, weight_;
    bool has_weight_ = false;
};

/// The result and the moments.
template <RealScalar T>
std::pair<Tensor<T>, std::vector<Moments>> standardize(StandardizeGeometry const& g,
    Tensor<T> const& x, Tensor<T> const& weight, Tensor<T> const& bias) {
    using xgrad::detail::contiguous;
    auto const from = contiguous(x.array_of());
    xgrad::detail::Array<T> const none, w = weight.defined() ? contiguous(weight.array_of()) : none,
                                        b = bias.defined() ? contiguous(bias.array_of()) : none;
    auto all = moments(g, from.begin());
    xgrad::detail::Array<T> out(x.shape());
    std::size_t const n = g.positions;
    for (std::size_t line = 0; line < g.lines(); ++line) {
        auto const c = g.channel_of(line);
        auto const& m = all[g.statistic_of(line)];
        auto const factor = static_cast<T>((w.defined() ? static_cast<double>(w.begin()[c]) : 1.) /
                                           std::sqrt(m.variance + g.eps)),
                   mean = static_cast<T>(m.mean), shift = b.defined() ? b.begin()[c] : T(0);
        T const* const in = from.begin() + line * n;
        T* const to = out.begin() + line * n;
        for (std::size_t i = 0; i < n; ++i) to[i] = (in[i] - mean) * factor + shift;
    }
    Tensor<T> y(std::move(out));
    auto const wanted = [](Tensor<T> const& t) { return t.defined() && t.requires_grad(); };
    if (xgrad::detail::recording() && (wanted(x) || wanted(weight) || wanted(bias)))
        y.impl().grad_fn =
            xgrad::detail::Ref<Node>(new StandardizeNode<T>(g, all, x, weight, bias));
    return {std::move(y), std::move(all)};
}

} // namespace xgrad::nn::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/nn/standardize.ipp>
#endif

// Standardisation, which batch, group and layer normalisation share: (x - mean) / standard
// deviation, scaled and shifted for each channel. An array is viewed as [samples, groups, channels
// of a group, positions]. Benchmark: statistics.
#pragma once

#include <optional>
#include <vector>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/tensor/function.hpp>
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

/// (x - mean) / standard deviation, times weight, plus bias, given the moments of x.
template <RealScalar T> struct Standardize : Function<Standardize<T>> {
    using Context = xgrad::Context<Standardize>;
    using X = Tensor<T>;
    using Saved = std::tuple<X, std::optional<X>>; // x, weight
    struct Data {
        StandardizeGeometry g;
        std::vector<Moments> moments;

        double deviation(std::size_t statistic) const {
            return 1 / std::sqrt(moments[statistic].variance + g.eps);
        }
    };

    static X forward(Context& ctx, X const& x, std::optional<X> const& weight,
        std::optional<X> const& bias, StandardizeGeometry const& g,
        std::vector<Moments> const& moments) {
        auto const from = plain(x), w = plain(weight), b = plain(bias);
        Array out(x.shape());
        std::size_t const n = g.positions;
        for (std::size_t line = 0; line < g.lines(); ++line) {
            auto const c = g.channel_of(line);
            auto const& m = moments[g.statistic_of(line)];
            auto const factor = static_cast<T>(scale(w, c) / std::sqrt(m.variance + g.eps)),
                       mean = static_cast<T>(m.mean), shift = b.defined() ? b.begin()[c] : T(0);
            T const* const in = from.begin() + line * n;
            T* const to = out.begin() + line * n;
            for (std::size_t i = 0; i < n; ++i) to[i] = (in[i] - mean) * factor + shift;
        }
        ctx.g = g;
        ctx.moments = moments;
        ctx.save_for_backward(x, weight);
        return X(std::move(out));
    }

    static auto backward(Context& ctx, X const& g) {
        auto const [x, weight] = ctx.saved_tensors();
        auto [to_x, to_weight, to_bias] =
            is_grad_enabled() ? recorded(ctx, g, x, weight) : computed(ctx, g, x, weight);
        return std::tuple(to_x, to_weight, to_bias, std::nullopt, std::nullopt);
    }

private:
    using Array = xgrad::detail::Array<T>;
    using Three = std::tuple<X, std::optional<X>, std::optional<X>>;
    struct Sums {
        double of_g = 0, of_g_x = 0;
    };

    static Array plain(X const& x) { return xgrad::detail::contiguous(x.array_of()); }
    static Array plain(std::optional<X> const& x) { return x ? plain(*x) : Array(); }
    static double scale(Array const& weight, std::size_t channel) {
        return weight.defined() ? static_cast<double>(weight.begin()[channel]) : 1.;
    }

    /// Two passes: the first sums gradients g and products g x' with the standardised x'; the
    /// second computes dx = w g/s - mean(w g)/s - x' mean(w g x')/s.
    static Three computed(
        Context const& ctx, X const& gradient, X const& numbers, std::optional<X> const& weight) {
        auto const& [of, moments] = static_cast<Data const&>(ctx);
        auto const g = plain(gradient), x = plain(numbers), w = plain(weight);
        std::size_t const n = of.positions, channels = of.groups * of.channels;
        std::vector<Sums> of_statistic(of.statistics()), of_channel(channels);
        for (std::size_t line = 0; line < of.lines(); ++line) {
            auto const c = of.channel_of(line), s = of.statistic_of(line);
            T const *gl = g.begin() + line * n, *xl = x.begin() + line * n;
            double const mean = moments[s].mean,
                         of_g =
                             sum_of(n, [gl](std::size_t i) { return static_cast<double>(gl[i]); });
            double const of_g_x = ctx.deviation(s) * sum_of(n, [gl, xl, mean](std::size_t i) {
                return static_cast<double>(gl[i]) * (static_cast<double>(xl[i]) - mean);
            });
            of_channel[c].of_g += of_g, of_channel[c].of_g_x += of_g_x;
            of_statistic[s].of_g += scale(w, c) * of_g;
            of_statistic[s].of_g_x += scale(w, c) * of_g_x;
        }
        Three all;
        auto& [to_x, to_weight, to_bias] = all;
        if (ctx.needs_input_grad(0)) {
            Array out(x.shape);
            for (std::size_t line = 0; line < of.lines(); ++line) {
                auto const s = of.statistic_of(line);
                double const r = ctx.deviation(s), mean_g = of_statistic[s].of_g / of.count(),
                             mean_g_x = of_statistic[s].of_g_x / of.count();
                auto const of_g = static_cast<T>(r * scale(w, of.channel_of(line))),
                           of_x = static_cast<T>(-r * r * mean_g_x),
                           mean = static_cast<T>(moments[s].mean),
                           rest = static_cast<T>(-r * mean_g);
                T const *gl = g.begin() + line * n, *xl = x.begin() + line * n;
                T* const to = out.begin() + line * n;
                for (std::size_t i = 0; i < n; ++i)
                    to[i] = of_g * gl[i] + (of_x * (xl[i] - mean) + rest);
            }
            to_x = X(std::move(out));
        }
        auto const of_channels = [&](double Sums::*which) {
            Array out(Shape{channels});
            for (std::size_t c = 0; c < channels; ++c)
                out.begin()[c] = static_cast<T>(of_channel[c].*which);
            return X(std::move(out));
        };
        if (ctx.needs_input_grad(1)) to_weight = of_channels(&Sums::of_g_x);
        if (ctx.needs_input_grad(2)) to_bias = of_channels(&Sums::of_g);
        return all;
    }
    /// The backward pass by recorded operations, for second order.
    static Three recorded(
        Context const& ctx, X const& gradient, X const& numbers, std::optional<X> const& weight) {
        auto const& of = ctx.g;
        auto const extent = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
        Axes const all{
            extent(of.samples), extent(of.groups), extent(of.channels), extent(of.positions)},
            over = of.over_samples ? Axes{0, 2, 3} : Axes{2, 3},
            flat{extent(of.groups * of.channels)};
        X const g = reshape(gradient, all), x = reshape(numbers, all),
                centred = x - mean(x, over, keepdims);
        X const r = rsqrt(mean(square(centred), over, keepdims) + static_cast<T>(of.eps)),
                standard = centred * r;
        X const weighted = weight ? X(g * reshape(*weight, {1, all[1], all[2], 1})) : g;
        X const to_x = r * (weighted - mean(weighted, over, keepdims) -
                               standard * mean(weighted * standard, over, keepdims));
        Three result{reshape(to_x, Axes(numbers.shape())), std::nullopt, std::nullopt};
        if (ctx.needs_input_grad(1))
            std::get<1>(result) = X(reshape(sum(g * standard, {0, 3}), flat));
        if (ctx.needs_input_grad(2)) std::get<2>(result) = X(reshape(sum(g, {0, 3}), flat));
        return result;
    }
};

/// The result and the moments.
template <RealScalar T>
std::pair<Tensor<T>, std::vector<Moments>> standardize(StandardizeGeometry const& g,
    Tensor<T> const& x, Tensor<T> const& weight, Tensor<T> const& bias) {
    auto all = moments(g, xgrad::detail::contiguous(x.array_of()).begin());
    auto const given = [](Tensor<T> const& t) {
        return t.defined() ? std::optional<Tensor<T>>(t) : std::nullopt;
    };
    auto y = Standardize<T>::apply(x, given(weight), given(bias), g, all);
    return {std::move(y), std::move(all)};
}

} // namespace xgrad::nn::detail

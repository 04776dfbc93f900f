// Operations, functions and short names that the tables use, and the programs that are printed.
#pragma once

#include <xgrad/xgrad.hpp>

namespace xgrad::nn::functional {} // namespace xgrad::nn::functional
namespace xg = xgrad;
namespace nn = xg::nn;
namespace functional = xg::nn::functional;

namespace composed {

using D = xg::Tensor<double>;
using Z = xg::Tensor<std::complex<double>>;
using I = xg::Tensor<std::int64_t>;

/// A module with weights from a fixed state of the random numbers; also a module in there is one.
template <class M, class... A> M module_of(A&&... a) {
    xg::manual_seed(3);
    return M(std::forward<A>(a)...);
}

/// Operations of a user.
struct Cube : xg::Elementwise<xg::R(xg::R), xg::C(xg::C)> {
    auto value(auto x) const { return x * x * x; }
    auto partial(xg::wrt<0>, auto /*result*/, auto x) const { return 3 * x * x; }
};
struct Saturated : xg::Elementwise<xg::C(xg::C)> {
    auto value(auto z) const { return z * conj(z) * z / (1 + abs2(z)); }
    auto partial(xg::wrt<0>, auto /*result*/, auto z) const {
        auto const q = 1 + abs2(z);
        return xg::wirtinger{abs2(z) * (2 + abs2(z)) / (q * q), z * z / (q * q)};
    }
};
struct Weighted : xg::Elementwise<xg::R(xg::R, xg::R)> {
    double k = 0.7;
    auto value(auto x, auto y) const { return x * exp(-k * y * y); }
    auto partial(xg::wrt<0>, auto, auto, auto y) const { return exp(-k * y * y); }
    auto partial(xg::wrt<1>, auto r, auto, auto y) const { return -2 * k * y * r; }
};
struct Power2 : xg::Elementwise<xg::R(xg::C)> {
    auto value(auto z) const { return abs2(z); }
    auto partial(xg::wrt<0>, auto /*result*/, auto z) const { return xg::gradient{2 * z}; }
};

struct CubeFunction
    : xg::Function<CubeFunction> { // without jvp: forward mode differentiates backward
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return 3. * x * x * g;
    }
};
struct PowerFunction : xg::Function<PowerFunction> {
    using Saved = std::tuple<D>;
    struct Data {
        int n = 0;
    };
    static D forward(Context& ctx, D const& x, int n) {
        ctx.n = n;
        ctx.save_for_backward(x);
        return pow(x, n);
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        return std::tuple(ctx.n * pow(x, ctx.n - 1) * g, std::nullopt);
    }
    static auto jvp(Context& ctx, D const& tangent, std::nullopt_t) {
        auto const [x] = ctx.saved_tensors();
        return ctx.n * pow(x, ctx.n - 1) * tangent;
    }
};
struct AffineFunction : xg::Function<AffineFunction> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& x, D const& weight, D const& bias) {
        ctx.save_for_backward(x, weight);
        return matmul(x, mT(weight)) + bias;
    }
    static std::tuple<D, D, D> backward(Context& ctx, D const& g) {
        auto const [x, weight] = ctx.saved_tensors();
        return {
            matmul(g, weight), matmul(mT(g), x), g}; // the last one is summed to the shape of bias
    }
};
struct ScaledFunction : xg::Function<ScaledFunction> { // neither holomorphic nor real
    using Saved = std::tuple<Z, Z>;
    static Z forward(Context& ctx, Z const& a, Z const& b) {
        ctx.save_for_backward(a, b);
        return a * conj(b);
    }
    static std::tuple<Z, Z> backward(Context& ctx, Z const& g) {
        auto const [a, b] = ctx.saved_tensors();
        return {sum_to(Z(g * b), a.shape()), sum_to(Z(conj(g) * a), b.shape())};
    }
    static Z jvp(Context& ctx, Z const& s, Z const& t) {
        auto const [a, b] = ctx.saved_tensors();
        return s * conj(b) + a * conj(t);
    }
};
struct SplitFunction : xg::Function<SplitFunction> { // two results
    using Saved = std::tuple<D>;
    static std::tuple<D, D> forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return {sin(x), x * x};
    }
    static D backward(Context& ctx, D const& g, D const& h) {
        auto const [x] = ctx.saved_tensors();
        return g * cos(x) + 2. * h * x;
    }
};

// -- planted

/// a exp(b), with a wrong sign.
struct WrongSign : xg::Elementwise<xg::R(xg::R, xg::R)> {
    auto value(auto a, auto b) const { return a * exp(-b * b); }
    auto partial(xg::wrt<0>, auto, auto, auto b) const { return exp(-b * b); }
    auto partial(xg::wrt<1>, auto y, auto, auto b) const { return 2 * b * y; }
};
/// z^3 without the conjugate of its derivative.
struct LostConjugate : xg::Function<LostConjugate> {
    using Saved = std::tuple<Z>;
    static Z forward(Context& ctx, Z const& z) {
        ctx.save_for_backward(z);
        return z * z * z;
    }
    static Z backward(Context& ctx, Z const& g) {
        auto const [z] = ctx.saved_tensors();
        return 3. * z * z * g;
    }
};
/// a * b for b of one row, whose gradient is that of the first row only.
struct LostSum : xg::Function<LostSum> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& a, D const& b) {
        ctx.save_for_backward(a, b);
        return a * b;
    }
    static std::tuple<D, D> backward(Context& ctx, D const& g) {
        auto const [a, b] = ctx.saved_tensors();
        D const all = g * a;
        return {g * b, all(0)};
    }
};
/// a b with right first derivatives, whose mixed second derivative is lost.
struct LostPair : xg::Function<LostPair> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& a, D const& b) {
        ctx.save_for_backward(a, b);
        return a * a * b * b;
    }
    static std::tuple<D, D> backward(Context& ctx, D const& g) {
        auto const [a, b] = ctx.saved_tensors();
        return {2. * g * a * square(b.detach()), 2. * g * square(a.detach()) * b};
    }
};
/// 4 a^3, whose derivative is lost.
struct LostDerivative : xg::Function<LostDerivative> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& a) {
        ctx.save_for_backward(a);
        return 4. * a * a * a;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [a] = ctx.saved_tensors();
        return 12. * g * square(a.detach());
    }
};
/// a^4 with right first and second derivatives, whose third derivative is lost.
struct LostThird : xg::Function<LostThird> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& a) {
        ctx.save_for_backward(a);
        return square(a * a);
    }
    static D backward(Context& ctx, D const& g) {
        auto const [a] = ctx.saved_tensors();
        return g * LostDerivative::apply(a);
    }
};

} // namespace composed

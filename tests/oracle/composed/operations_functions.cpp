// Functions of a user: right ones, and wrong ones, which are there only where a test plants them.
#include "program.hpp"

namespace composed {

namespace {

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

} // namespace

// clang-format off
void add_functions(Catalogue& all) {
    std::string group = "function";
    REAL_T("*", CubeFunction::apply(a));
    REAL_T("*", PowerFunction::apply(a, 3));
    REAL3_T("n,k", "m,k", "m", AffineFunction::apply(a, b, c));
    COMPLEX2_T("*", "*", ScaledFunction::apply(a, b));
    REAL_T("*", std::get<0>(SplitFunction::apply(a)) * std::get<1>(SplitFunction::apply(a)));
}
std::vector<std::string> planted_names() {
    return {"sign", "conjugate", "sum", "pair"};
}
void add_planted(Catalogue& all, std::string const& name) {
    std::string group = "planted";
    if (name == "sign") REAL2("*", "*", xg::apply<WrongSign>(a, b));
    if (name == "conjugate") COMPLEX_T("*", LostConjugate::apply(a));
    if (name == "sum") REAL2_T("n,m", "m", LostSum::apply(a, b));
    if (name == "pair") REAL2_T("n,m", "n,m", LostPair::apply(a, b));
}
// clang-format on

} // namespace composed

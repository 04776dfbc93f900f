// Both orders of derivatives through custom Functions, against central differences and against what
// is built in.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;
using D = xg::Tensor<double>;
using F = xg::Tensor<float>;
using Z = xg::Tensor<cd>;

namespace {

struct Linear : xg::Function<Linear> {
    using Saved = std::tuple<D, D>;

    static D forward(Context& ctx, D const& input, D const& weight, D const& bias) {
        ctx.save_for_backward(input, weight);
        return matmul(input, weight.t()) + bias;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [input, weight] = ctx.saved_tensors();
        return std::tuple(matmul(g, weight), matmul(g.t(), input), sum(g, {0}));
    }
};

/// z e^(i phi), with a complex argument and a real one.
struct Turn : xg::Function<Turn> {
    using Saved = std::tuple<Z, D, Z>;
    static auto forward(Context& ctx, Z const& z, D const& phi) {
        Z const y = z * polar(1., phi);
        ctx.save_for_backward(z, phi, y);
        return y;
    }
    static auto backward(Context& ctx, Z const& g) {
        auto const [z, phi, y] = ctx.saved_tensors();
        return std::tuple(g * polar(1., -phi), imag(g * conj(y)) * 1.);
    }
};

/// |z| and z^2 together: real and complex results of a complex argument.
struct ModulusAndSquare : xg::Function<ModulusAndSquare> {
    using Saved = std::tuple<Z>;
    static std::tuple<D, Z> forward(Context& ctx, Z const& z) {
        ctx.save_for_backward(z);
        return {abs(z), z * z};
    }
    static auto backward(Context& ctx, D const& g, Z const& h) {
        auto const [z] = ctx.saved_tensors();
        return g * sgn(z) + h * conj(2. * z);
    }
};

/// x w, with x of float and w of double.
struct Mixed : xg::Function<Mixed> {
    using Saved = std::tuple<F, D>;
    static D forward(Context& ctx, F const& x, D const& w) {
        ctx.save_for_backward(x, w);
        return x * w;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x, w] = ctx.saved_tensors();
        return std::tuple(cast<float>(g * w), g * x);
    }
};

Values real(xg::Shape shape, unsigned seed = 1) {
    return sample(xg::DType::float64, std::move(shape), seed, 0.25, 2);
}
Values complex(xg::Shape shape, unsigned seed = 1) {
    return sample(xg::DType::complex128, std::move(shape), seed);
}

} // namespace

TEST_CASE("a linear layer of one's own has the derivatives of the built-in operations") {
    auto const own = function_of<double, double, double>(
        [](auto x, auto w, auto b) { return Linear::apply(x, w, b); });
    Point const at{real({3, 4}), real({2, 4}, 2), real({2}, 3)};
    CHECK(differentiates(own, at));
    CHECK(agrees_with(own, function_of<double, double, double>([](auto x, auto w, auto b) {
        return D(matmul(x, w.t()) + b);
    }),
        at));
    CHECK(differentiates(function_of<double, double, double>([](auto x, auto w, auto b) {
        return tanh(Linear::apply(x * x, w, b)) * Linear::apply(sin(x), w, b);
    }),
        at));
}

TEST_CASE("complex and real arguments get gradients of their own kind, in both orders") {
    auto const turn = function_of<cd, double>([](auto z, auto phi) { return Turn::apply(z, phi); });
    Point const at{complex({2, 3}), real({2, 3}, 2)};
    CHECK(differentiates(turn, at));
    CHECK(agrees_with(
        turn, function_of<cd, double>([](auto z, auto phi) { return z * polar(1., phi); }), at));
    CHECK(differentiates(function_of<cd, double>([](auto z, auto phi) {
        return abs2(Turn::apply(Turn::apply(z, phi), phi * phi) + z);
    }),
        at));
}

TEST_CASE("several results of several types are differentiated together") {
    auto const own = function_of<cd>([](auto z) {
        auto const [r, square] = ModulusAndSquare::apply(z);
        return r * square;
    });
    CHECK(differentiates(own, {complex({5})}));
    CHECK(agrees_with(own, function_of<cd>([](auto z) { return abs(z) * z * z; }), {complex({5})}));
}

TEST_CASE("arguments may differ in precision") {
    F const x({1.5f, 2.f}, xg::requires_grad);
    D const w({3., 4.}, xg::requires_grad);
    sum(Mixed::apply(x, w) * D({1., 2.})).backward();
    CHECK(holds(x.grad(), {3., 8.}));
    CHECK(holds(w.grad(), {1.5, 4.}));
}

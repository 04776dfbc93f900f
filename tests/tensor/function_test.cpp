// Custom Functions: what may be passed and returned, and what is recorded.
#include "compare.hpp"

namespace {

/// x w^T + b. The bias may be left out.
struct Linear : xg::Function<Linear> {
    using Saved = std::tuple<D, D>;

    static D forward(Context& ctx, D const& input, D const& weight, std::optional<D> const& bias) {
        ctx.save_for_backward(input, weight);
        D output = matmul(input, weight.t());
        if (bias) output += *bias;
        return output;
    }
    static auto backward(Context& ctx, D const& grad_output) {
        auto const [input, weight] = ctx.saved_tensors();
        D grad_input, grad_weight, grad_bias;
        if (ctx.needs_input_grad(0)) grad_input = matmul(grad_output, weight);
        if (ctx.needs_input_grad(1)) grad_weight = matmul(grad_output.t(), input);
        if (ctx.needs_input_grad(2)) grad_bias = sum(grad_output, {0});
        return std::tuple(grad_input, grad_weight, grad_bias);
    }
};

/// a + n b + a b, as in PyTorch's own tests.
struct MyFunction : xg::Function<MyFunction> {
    using Saved = std::tuple<D, D>;
    struct Data {
        int n;
    };
    static auto forward(Context& ctx, D const& a, int n, D const& b) {
        ctx.save_for_backward(a, b);
        ctx.n = n;
        return a + n * b + a * b;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [a, b] = ctx.saved_tensors();
        return std::tuple(g + g * b, std::nullopt, g * ctx.n + g * a);
    }
};

/// The weighted sum of any number of tensors, with what else a forward may take.
struct WeightedSum : xg::Function<WeightedSum> {
    struct Data {
        std::vector<double> weights;
    };
    static D forward(Context& ctx, std::vector<D> const& x, std::vector<double> weights,
        std::string const& unit, bool negative) {
        CHECK(unit == "volt");
        D sum = zeros_like(x[0]);
        for (std::size_t i = 0; i < x.size(); ++i)
            sum += (negative ? -weights[i] : weights[i]) * x[i];
        ctx.weights = std::move(weights);
        return sum;
    }
    static auto backward(Context& ctx, D const& g) {
        std::vector<D> gradients;
        for (auto const w : ctx.weights) gradients.push_back(g * w);
        return std::tuple(gradients, std::nullopt, std::nullopt, std::nullopt);
    }
};

/// Magnitude and phase of a complex tensor, and how many elements there are.
struct Polar : xg::Function<Polar> {
    using Saved = std::tuple<Z>;
    static auto forward(Context& ctx, Z const& z) {
        ctx.save_for_backward(z);
        return std::tuple(abs(z), angle(z), z.numel());
    }
    static Z backward(Context& ctx, D const& grad_abs, D const& grad_angle, std::nullopt_t) {
        auto const [z] = ctx.saved_tensors();
        return sgn(z) * xg::complex(grad_abs, grad_angle / abs(z));
    }
};

/// Several tensors in one result.
struct Powers : xg::Function<Powers> {
    using Saved = std::tuple<D>;
    static std::vector<D> forward(Context& ctx, D const& x, int count) {
        ctx.save_for_backward(x);
        std::vector<D> powers;
        for (int k = 1; k <= count; ++k) powers.push_back(pow(x, k));
        return powers;
    }
    static auto backward(Context& ctx, std::vector<D> const& g) {
        auto const [x] = ctx.saved_tensors();
        D sum = zeros_like(x);
        for (std::size_t k = 0; k < g.size(); ++k)
            sum = sum + static_cast<double>(k + 1) * g[k] * pow(x, static_cast<int>(k));
        return std::tuple(sum, std::nullopt);
    }
};

/// For any scalar type.
template <xg::Scalar T> struct Scaled : xg::Function<Scaled<T>> {
    struct Data {
        T factor;
    };
    static xg::Tensor<T> forward(xg::Context<Scaled>& ctx, xg::Tensor<T> const& x, T factor) {
        ctx.factor = factor;
        return x * factor;
    }
    static auto backward(xg::Context<Scaled>& ctx, xg::Tensor<T> const& g) {
        return std::tuple(g * conj(ctx.factor), std::nullopt);
    }

private:
    static double conj(double f) { return f; }
    static float conj(float f) { return f; }
    template <class P> static complex<P> conj(complex<P> f) { return std::conj(f); }
};

/// A forward that is a template, with a default argument.
struct Repeated : xg::Function<Repeated> {
    struct Data {
        int times;
    };
    static D forward(Context& ctx, auto const& x, int times = 3) {
        ctx.times = times;
        return x * times;
    }
    static auto backward(Context& ctx, D const& g) {
        return std::tuple(g * ctx.times, std::nullopt);
    }
};

/// The same without a template; its second argument is a tensor that may be left out.
struct Shifted : xg::Function<Shifted> {
    static D forward(Context&, D const& x, D const& shift = D({10.}), double factor = 2) {
        return factor * (x + shift);
    }
    static auto backward(Context& ctx, D const& g) {
        return std::tuple(2. * g, ctx.needs_input_grad(0) ? D(2. * g) : D(), std::nullopt);
    }
};

/// forward without a Context.
struct Hypot : xg::Function<Hypot> {
    using Saved = std::tuple<D, D, D>;
    static D forward(D const& a, D const& b) { return sqrt(a * a + b * b); }
    static void setup_context(Context& ctx, std::tuple<D, D> const& inputs, D const& output) {
        ctx.save_for_backward(std::get<0>(inputs), std::get<1>(inputs), output);
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [a, b, length] = ctx.saved_tensors();
        return std::tuple(g * a / length, g * b / length);
    }
};
struct SumAndProduct : xg::Function<SumAndProduct> {
    using Saved = std::tuple<D, D>;
    static auto forward(D const& a, D const& b) { return std::pair(a + b, D(a * b)); }
    static void setup_context(Context& ctx, auto const& inputs, auto const& outputs) {
        CHECK(difference(std::get<1>(outputs), std::get<0>(inputs) * std::get<1>(inputs)) == "");
        ctx.save_for_backward(std::get<0>(inputs), std::get<1>(inputs));
    }
    static auto backward(Context& ctx, auto const& g_sum, auto const& g_product) {
        auto const [a, b] = ctx.saved_tensors();
        return std::array<D, 2>{g_sum + g_product * b, g_sum + g_product * a};
    }
};

} // namespace

TEST_CASE(
    "a Function computes, is recorded as one Node with its name, and gives its own gradients") {
    D const x({{1., 2.}, {3., 4.}, {5., 6.}}, xg::requires_grad),
        w({{1., -1.}, {2., 0.5}}, xg::requires_grad), b({0.25, 0.75}, xg::requires_grad);
    auto const y = Linear::apply(x, w, b);
    static_assert(std::same_as<decltype(y), D const>);
    CHECK(difference(y, {{-0.75, 3.75}, {-0.75, 8.75}, {-0.75, 13.75}}) == "");
    CHECK(y.grad_fn()->name() == "LinearBackward");
    CHECK(y.grad_fn()->next_edges().size() == 3);
    CHECK(y.output_nr() == 0);
    sum(y * y).backward();
    D const x2 = x.detach().requires_grad_(), w2 = w.detach().requires_grad_(),
            b2 = b.detach().requires_grad_();
    D const y2 = matmul(x2, w2.t()) + b2;
    sum(y2 * y2).backward();
    CHECK(difference(x.grad(), x2.grad()) == "");
    CHECK(difference(w.grad(), w2.grad()) == "");
    CHECK(difference(b.grad(), b2.grad()) == "");
}

TEST_CASE(
    "optional tensors may be left out; expressions are evaluated first, and pass the gradient on") {
    D const x({{1., 2.}}, xg::requires_grad), w({{3., 4.}}, xg::requires_grad);
    D const y = Linear::apply(2. * x, w, std::nullopt);
    CHECK(difference(y, {{22.}}) == "");
    CHECK(y.grad_fn()->next_edges().size() == 2);
    y.backward();
    CHECK(difference(x.grad(), {{6., 8.}}) == "");
    CHECK(difference(w.grad(), {{2., 4.}}) == "");
    D const b({0.5}, xg::requires_grad);
    sum(Linear::apply(x, w, 3. * b)).backward();
    CHECK(difference(b.grad(), {3.}) == "");
    CHECK(difference(
              Linear::apply(xt::xarray<double>({{1., 1.}}), w, std::optional<D>()), {{7.}}) == "");
}

TEST_CASE("numbers may stand between tensors; the gradient is differentiable again") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad),
        y({{0.5, 0.25}, {0.75, 2.}}, xg::requires_grad);
    D const go(1., xg::requires_grad);
    auto const total = sum(MyFunction::apply(x, 2, y));
    auto const [gx, gy, gg] = [&] {
        auto const [a, b] =
            xg::grad(total, xg::inputs(x, y), {.gradients = {go}, .create_graph = true});
        return std::tuple(a, b, xg::grad(sum(a * a + b), go, {.retain_graph = true}));
    }();
    CHECK(difference(gx, D(y + 1.)) == "");
    CHECK(difference(gy, D(x + 2.)) == "");
    CHECK(gx.requires_grad());
    CHECK(difference(gg, sum(2. * (y + 1.) * (y + 1.) + x + 2.)) == "");
    CHECK(difference(xg::grad(sum(gx * gx), y, {.retain_graph = true}), D(2. * (y + 1.))) == "");
    CHECK(difference(xg::grad(sum(gy * gy * gy), x), D(3. * (x + 2.) * (x + 2.))) == "");
}

TEST_CASE("vectors of tensors, vectors of numbers, strings and truth values are arguments") {
    D const a({1., 2.}, xg::requires_grad), b({3., 4.}), c({5., 6.}, xg::requires_grad);
    D const y = WeightedSum::apply(std::vector{a, b, c}, std::vector{1., 10., 100.}, "volt", true);
    CHECK(difference(y, {-531., -642.}) == "");
    auto const edges = y.grad_fn()->next_edges();
    REQUIRE(edges.size() == 3);
    CHECK(edges[0]);
    CHECK_FALSE(edges[1]);
    sum(y).backward();
    CHECK(difference(a.grad(), {1., 1.}) == "");
    CHECK(difference(c.grad(), {100., 100.}) == "");
}

TEST_CASE("several results, also of several types; what is no tensor passes through") {
    Z const z({{3., 4.}, {-1., 2.}}, xg::requires_grad);
    auto const [r, phi, n] = Polar::apply(z);
    static_assert(
        std::same_as<decltype(r), D const> && std::same_as<decltype(n), std::size_t const>);
    CHECK(n == 4);
    CHECK(r.grad_fn() == phi.grad_fn());
    CHECK(r.output_nr() == 0);
    CHECK(phi.output_nr() == 1);
    sum(r * r + 0.5 * phi).backward();
    Z const other = z.detach().requires_grad_();
    sum(abs2(other) + 0.5 * angle(other)).backward();
    CHECK(difference(z.grad(), other.grad()) == "");
}

TEST_CASE("a result may be a vector of tensors") {
    D const x({0.5, -2.}, xg::requires_grad);
    auto const powers = Powers::apply(x, 3);
    static_assert(std::same_as<decltype(powers), std::vector<D> const>);
    REQUIRE(powers.size() == 3);
    CHECK(powers[2].output_nr() == 2);
    sum(powers[0] * 10. + powers[2]).backward();
    CHECK(difference(x.grad(), D(10. + 3. * x.detach() * x.detach())) == "");
}

TEST_CASE("a Function may be a template over scalar types") {
    D const d({1., 2.}, xg::requires_grad);
    F const f({1.f, 2.f}, xg::requires_grad);
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    xg::Tensor<complex<float>> const c({complex<float>(1, 2)}, xg::requires_grad);
    sum(Scaled<double>::apply(d, 3.)).backward();
    sum(Scaled<float>::apply(f, 3)).backward();
    real(sum(Scaled<complex<double>>::apply(z, complex<double>(0, 1)))).backward();
    real(sum(Scaled<complex<float>>::apply(c, complex<float>(0, 1)))).backward();
    CHECK(difference(d.grad(), {3., 3.}) == "");
    CHECK(difference(f.grad(), {3.f, 3.f}) == "");
    CHECK(difference(z.grad(), {complex<double>(0, -1)}) == "");
    CHECK(difference(c.grad(), {complex<float>(0, -1)}) == "");
    CHECK(Scaled<double>::apply(d, 3.).grad_fn()->name() == "ScaledBackward");
}

TEST_CASE("arguments of forward may have default values, and forward may be a template") {
    D x({1., 2.}, xg::requires_grad);
    sum(Repeated::apply(x)).backward();
    sum(Repeated::apply(x * x, 10)).backward();
    CHECK(difference(x.grad(), {23., 43.}) == "");
    x.zero_grad();
    sum(Shifted::apply(x)).backward();
    CHECK(difference(x.grad(), {2., 2.}) == "");
    D const shift({1.}, xg::requires_grad);
    sum(Shifted::apply(x, shift)).backward();
    CHECK(difference(shift.grad(), {4.}) == "");
}

TEST_CASE("forward may leave the Context to setup_context") {
    D const a({3., 8.}, xg::requires_grad), b({4., 6.}, xg::requires_grad);
    CHECK(difference(Hypot::forward(a, b).detach(), {5., 10.}) == "");
    D const y = Hypot::apply(a, b);
    sum(y).backward();
    CHECK(difference(a.grad(), {0.6, 0.8}) == "");
    CHECK(difference(b.grad(), {0.8, 0.6}) == "");
    auto const [s, p] = SumAndProduct::apply(a, b);
    auto const [ga, gb] = xg::grad(sum(s + 10. * p), xg::inputs(a, b));
    CHECK(difference(ga, {41., 61.}) == "");
    CHECK(difference(gb, {31., 81.}) == "");
}

TEST_CASE("a Function used twice has two Nodes and two Contexts") {
    D const x({1., 2.}, xg::requires_grad);
    D const inner = MyFunction::apply(x, 2, x), outer = MyFunction::apply(inner, 5, x);
    CHECK(inner.grad_fn() != outer.grad_fn());
    sum(outer).backward();
    // inner = 3x + x^2, outer = inner + 5x + inner x = 8x + 4x^2 + x^3
    CHECK(difference(x.grad(), {19., 36.}) == "");
}

TEST_CASE("a Function that is local to a lambda has its name") {
    auto const call = [](D const& x) {
        struct Twice : xg::Function<Twice> {
            static D forward(Context&, D const& t) { return 2. * t; }
            static D backward(Context&, D const& g) { return 2. * g; }
        };
        return Twice::apply(x);
    };
    CHECK(call(D({1.}, xg::requires_grad)).grad_fn()->name() == "TwiceBackward");
}

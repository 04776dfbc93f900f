// Gradients of reductions, in both orders, and at ties, zeros and infinities.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;

Point reals(xg::Shape const& shape, unsigned seed = 3) {
    return {sample(xg::DType::float64, shape, seed, 0.25, 2)};
}
Point complexes(xg::Shape const& shape) { return {sample(xg::DType::complex128, shape, 3)}; }

/// Numbers with many ties and one NaN, or factors near 1 with a few zeros.
D many_ties(xg::Shape const& shape) {
    D x = xg::zeros(shape);
    for (std::size_t i = 0; i < x.numel(); ++i)
        x.mutable_data()[i] = static_cast<double>(i * i % 7);
    x.mutable_data()[x.numel() / 3] = NaN;
    return x;
}
D few_zeros(xg::Shape const& shape) {
    D x = xg::zeros(shape);
    for (std::size_t i = 0; i < x.numel(); ++i)
        x.mutable_data()[i] = i % 97 == 5 ? 0 : 1 + 0.5 * std::sin(static_cast<double>(i));
    return x;
}

/// Shapes with axes that a reduction meets as rows, as columns and in pieces; some longer than a
/// tile, and than a run that is summed in one go.
std::vector<std::pair<xg::Shape, xg::Axes>> const layouts{{{7}, {0}}, {{1000}, {0}},
    {{3, 300}, {1}}, {{3, 5000}, {1}}, {{300, 3}, {0}}, {{40, 700}, {0}}, {{2, 50, 3}, {1}},
    {{3, 50, 4}, {0, 2}}, {{3, 50, 4}, {1, 2}}, {{6, 7}, {}}, {{1, 9, 1}, {0, 1}},
    {{5, 1, 4}, {1}}};

/// The gradients of a function of x that lies in row-major order, and of one that does not.
template <class F> std::array<D, 2> gradients_of(F f, D const& values) {
    D const x = values.clone().requires_grad_();
    xg::Axes turn;
    for (std::size_t d = values.dim(); d-- > 0;) turn.push_back(static_cast<std::ptrdiff_t>(d));
    D const transposed = permute(values, turn).clone().requires_grad_();
    return {
        xg::grad(D(f(x)), x), permute(xg::grad(D(f(permute(transposed, turn))), transposed), turn)};
}

/// The gradient of a scalar function of a vector.
template <class F> std::vector<cd> slope(F f, std::vector<double> at) {
    D x(xg::zeros({at.size()}, xg::requires_grad));
    std::copy(at.begin(), at.end(), x.mutable_data());
    return values(xg::grad(D(f(x)), x)).numbers;
}

} // namespace

TEST_CASE("sums of expressions have both derivatives, over any axes") {
    for (auto const& axes : {xg::Axes{}, xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(
                differentiates(function_of<double>([=](auto x) { return sum(x * x, axes, keep); }),
                    reals({3, 4})));
            CHECK(differentiates(
                function_of<double>([=](auto x) { return mean(sin(x) * x, axes, keep); }),
                reals({3, 4})));
            CHECK(differentiates(
                function_of<cd>([=](auto x) { return sum(x * conj(x) * x, axes, keep); }),
                complexes({3, 4})));
        }
    CHECK(differentiates(function_of<double>([](auto x) { return sum(x); }), reals({2, 40})));
    CHECK(differentiates(function_of<double>([](auto x) { return mean(x); }), reals({300})));
    CHECK(
        differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }),
            {reals({3, 40})[0], reals({40}, 4)[0]}));
    CHECK(
        differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }),
            {reals({2, 257})[0], reals({1}, 4)[0]}));
    CHECK(
        differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }),
            {reals({65, 3})[0], reals({65, 1}, 4)[0]}));
    CHECK(
        differentiates(function_of<double, cd>([](auto x, auto z) { return sum(x * z) * mean(x); }),
            {reals({5})[0], complexes({5})[0]}));
}

TEST_CASE("extrema have both derivatives, over any axes") {
    for (auto const& axes : {xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(
                differentiates(function_of<double>([=](auto x) { return amax(x * x, axes, keep); }),
                    reals({3, 4})));
            CHECK(differentiates(
                function_of<double>([=](auto x) { return square(amin(x, axes, keep)); }),
                reals({3, 4})));
        }
}

TEST_CASE("products, logsumexp and norms have both derivatives, over any axes") {
    for (auto const& axes : {xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(differentiates(
                function_of<double>([=](auto x) { return prod(x, axes, keep); }), reals({3, 4})));
            CHECK(differentiates(
                function_of<double>([=](auto x) { return logsumexp(x, axes, keep); }),
                reals({3, 4})));
            for (double const p : {1., 2., 2.5, 3., inf})
                CHECK(differentiates(
                    function_of<double>([=](auto x) { return norm(x, p, axes, keep); }),
                    reals({3, 4})));
        }
    CHECK(differentiates(function_of<cd>([](auto x) { return prod(x, {1}); }), complexes({2, 3})));
    CHECK(differentiates(
        function_of<cd>([](auto x) { return logsumexp(x, {1}); }), complexes({2, 3})));
    for (double const p : {1., 2., 3., inf})
        CHECK(differentiates(
            function_of<cd>([=](auto x) { return norm(x, p, {0}); }), complexes({3, 2})));
}

TEST_CASE("elements that share an extremum share its gradient equally") {
    CHECK(holds(
        slope([](auto x) { return amax(x); }, {1, 3, 3, 2, 3}), {0, 1 / 3., 1 / 3., 0, 1 / 3.}));
    CHECK(holds(slope([](auto x) { return amin(x); }, {1, 3, 1, 2}), {0.5, 0, 0.5, 0}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {5, 5}), {0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {1, NaN, 3, NaN}), {0, 0.5, 0, 0.5}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {1, inf, inf}), {0, 0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return amin(x); }, {-inf, 2}), {1, 0}));
    CHECK(holds(slope(
                    [](auto x) {
                        return sum(amax(reshape(x, {2, 2}), {0}));
                    },
                    {1, 2, 1, 3}),
        {0.5, 0, 0.5, 1}));
}

TEST_CASE("elements share an extremum equally in rows, in columns and over axes that lie apart") {
    for (auto const& [shape, over] : layouts) {
        INFO(text(shape));
        auto const values = many_ties(shape);
        auto const check = [&](auto extremum) {
            D const y = extremum(values, over, xg::keepdims);
            D const weight = 1 + xg::reshape(xg::arange<double>(0, static_cast<double>(y.numel())),
                                     xg::Axes(y.shape()));
            D const has_it = where(values == y || isnan(values), 1., 0.);
            auto const want = D(weight * has_it / sum(has_it, over, xg::keepdims));
            for (auto const& g : gradients_of(
                     [&](D const& x) { return sum(weight * extremum(x, over, xg::keepdims)); },
                     values))
                CHECK(holds(g, support::values(want).numbers));
            auto const flat = D(flatten(weight));
            for (auto const& g : gradients_of(
                     [&](D const& x) { return sum(flat * flatten(extremum(x, over, false))); },
                     values))
                CHECK(holds(g, support::values(want).numbers));
        };
        check([](D const& x, xg::Axes const& axes, bool keep) { return amax(x, axes, keep); });
        check([](D const& x, xg::Axes const& axes, bool keep) { return amin(x, axes, keep); });
    }
    auto const many = xg::full<float>({1, 5000}, 2.f).requires_grad_();
    CHECK(holds(xg::grad(amax(many), many), std::vector<cd>(5000, 1 / 5000.), 1e-7));
}

TEST_CASE("an extremum keeps what its gradient looks at, and none of an infinite gradient reaches "
          "the others") {
    D const x({1., 3., 3.}, xg::requires_grad);
    D const y = amax(x);
    CHECK(y.grad_fn()->name() == "AmaxBackward");
    CHECK(holds(xg::grad(D(y * inf), x), {0, inf, inf}));
    D z = x * 2;
    CHECK(holds(xg::grad(amin(z), x), {2, 0, 0}));
    D const least = amin(z);
    z *= 2;
    CHECK_THROWS_AS(least.backward(), xg::Error);
}

TEST_CASE("a product has the gradient of its other factors in rows, in columns and over axes that "
          "lie apart") {
    for (auto const& [shape, over] : layouts) {
        INFO(text(shape));
        auto const values = few_zeros(shape);
        std::vector<std::size_t> group(
            values.numel()); // of each element the result that it is a factor of
        std::size_t groups = 1;
        for (std::size_t d = shape.size(), inner = 1; d-- > 0; inner *= shape[d]) {
            if (std::ranges::find(over, static_cast<std::ptrdiff_t>(d)) != over.end()) continue;
            for (std::size_t i = 0; i < group.size(); ++i)
                group[i] += i / inner % shape[d] * groups;
            groups *= shape[d];
        }
        std::vector<double> product(groups, 1);
        std::vector<int> zeros(groups, 0);
        for (std::size_t i = 0; i < group.size(); ++i)
            (values.data()[i] == 0 ? void(++zeros[group[i]])
                                   : void(product[group[i]] *= values.data()[i]));
        std::vector<cd> want(values.numel());
        for (std::size_t i = 0; i < group.size(); ++i) {
            bool const is_zero = values.data()[i] == 0;
            if (zeros[group[i]] == is_zero)
                want[i] = 3 * product[group[i]] / (is_zero ? 1 : values.data()[i]);
        }
        for (bool const keep : {false, true})
            for (auto const& g :
                gradients_of([&](D const& x) { return 3 * sum(prod(x, over, keep)); }, values))
                CHECK(holds(g, want, 1e-12));
    }
    CHECK(differentiates(function_of<double>([](auto x) { return prod(x, {1}); }), reals({2, 37})));
    CHECK(differentiates(function_of<cd>([](auto x) { return prod(x, {0}); }), complexes({35, 2})));
    xg::Tensor<float> const x({1e30f, 1e30f, 1e-30f, 1e-30f}, xg::requires_grad);
    CHECK(holds(xg::grad(prod(x), x), {1e-30, 1e-30, 1e30, 1e30}, 1e-6));
}

TEST_CASE("a product with zeros has the gradient of its other factors, in both orders") {
    CHECK(holds(slope([](auto x) { return prod(x); }, {2, 3, 4}), {12, 8, 6}));
    CHECK(holds(slope([](auto x) { return prod(x); }, {2, 0, 4}), {0, 8, 0}));
    CHECK(holds(slope([](auto x) { return prod(x); }, {0, 0, 4}), {0, 0, 0}));
    for (auto const& at : {std::vector<cd>{2, 0, 4, 3}, {0, 0, 4, 3}, {0, 0, 0, 3}, {0, 0, 0, 0}}) {
        CHECK(differentiates(
            function_of<double>([](auto x) { return prod(x); }), {{xg::DType::float64, {4}, at}}));
        CHECK(differentiates(
            function_of<cd>([](auto x) { return prod(x); }), {{xg::DType::complex128, {4}, at}}));
    }
    CHECK(differentiates(function_of<double>([](auto x) { return prod(x, {0}); }),
        {{xg::DType::float64, {2, 2}, {0, 1, 0, 2}}}));
}

TEST_CASE("the gradient of logsumexp is softmax, and NaN of nothing but -infinity") {
    double const e = std::exp(1);
    CHECK(holds(
        slope([](auto x) { return logsumexp(x); }, {1000, 1001}), {1 / (1 + e), e / (1 + e)}));
    CHECK(holds(slope([](auto x) { return logsumexp(x); }, {-inf, 0, 0}), {0, 0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return logsumexp(x); }, {-inf, -inf}), {NaN, NaN}));
}

TEST_CASE("every norm has gradient 0 at 0, and so have its zero elements") {
    for (double const p : {1., 1.5, 2., 3., inf}) {
        INFO("p = " << p);
        CHECK(holds(slope([=](auto x) { return norm(x, p); }, {0, 0, 0}), {0, 0, 0}));
        xg::Tensor<cd> const z = xg::zeros<cd>({2}, xg::requires_grad);
        CHECK(holds(xg::grad(norm(z, p), z), {0, 0}));
    }
    CHECK(holds(slope([](auto x) { return norm(x); }, {3, 0, -4}), {0.6, 0, -0.8}));
    CHECK(holds(slope([](auto x) { return norm(x, 1); }, {3, 0, -4}), {1, 0, -1}));
    CHECK(holds(slope([](auto x) { return norm(x, inf); }, {4, 0, -4}), {0.5, 0, -0.5}));
}

TEST_CASE("float reductions agree with those of double, in value and both derivatives") {
    Point const at{sample(xg::DType::float32, {3, 7}, 3, 0.25, 2)};
    auto const check = [&]<class F>(F) {
        CHECK(agrees_with_double(function_of<float>(F{}), function_of<double>(F{}), at));
    };
    check([](auto x) { return sum(x * x, {0}); });
    check([](auto x) { return mean(sin(x), {1}, xg::keepdims); });
    check([](auto x) { return amax(x * x, {1}); });
    check([](auto x) { return prod(x, {1}); });
    check([](auto x) { return logsumexp(x, {0}); });
    check([](auto x) { return norm(x, 2, {1}); });
    check([](auto x) { return norm(x, 3); });
}

// Operations that a program defines for itself, in its own namespace or in none.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

/// x / (1 + e^-x), in the global namespace, where C's abs(int) and log(double) live too.
struct Swish : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return x / (1 + exp(-x)); }
    auto partial(xgrad::wrt<0>, auto y, auto x) const {
        auto const s = 1 / (1 + exp(-x));
        return y + s * (1 - y);
    }
};

/// |a| log(1 + |b|^2): two arguments, real or complex, a real result.
struct Loudness : xgrad::Elementwise<xgrad::R(xgrad::R, xgrad::R), xgrad::R(xgrad::C, xgrad::C)> {
    auto value(auto a, auto b) const { return abs(a) * log(1 + abs2(b)); }
    auto partial(xgrad::wrt<0>, auto, auto a, auto b) const {
        return xgrad::gradient{sgn(a) * log(1 + abs2(b))};
    }
    auto partial(xgrad::wrt<1>, auto, auto a, auto b) const {
        return xgrad::gradient{abs(a) * 2 / (1 + abs2(b)) * b};
    }
};

namespace mine {

/// x^2 + c conj(x), with a number of its own.
struct Bent : xgrad::Elementwise<xgrad::C(xgrad::C)> {
    double c = 1;
    auto value(auto x) const { return x * x + c * conj(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return xgrad::wirtinger{2 * x, c}; }
};

/// a x + b y, with a number and a table of its own.
struct Combined : xgrad::Elementwise<xgrad::R(xgrad::R, xgrad::R), xgrad::C(xgrad::C, xgrad::C)> {
    double a = 1;
    std::vector<double> b = {1};
    auto value(auto x, auto y) const { return a * x + b.back() * y * y; }
    auto partial(xgrad::wrt<0>, auto, auto, auto) const { return a; }
    auto partial(xgrad::wrt<1>, auto, auto, auto y) const { return 2 * b.back() * y; }
};

/// x^3 for whatever a rule may be written for.
struct Cube : xgrad::Elementwise<xgrad::Z(xgrad::Z), xgrad::R(xgrad::R), xgrad::C(xgrad::C)> {
    auto value(auto x) const { return x * x * x; }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return 3 * x * x; }
};

/// A number with a name that xgrad has too.
inline double sin(double x) { return x + 1000; }

/// sin, found where its argument comes from.
struct Wave : xgrad::Elementwise<xgrad::R(xgrad::R), xgrad::C(xgrad::C)> {
    auto value(auto x) const { return sin(x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const { return cos(x); }
};

/// The real cube root of a batch of numbers: the SIMD maths of a function that xgrad does not have.
template <class P> xgrad::simd::Batch<P> cube_root(xgrad::simd::Batch<P> x) {
    auto const a = abs(x), first = exp(log(a) / 3);
    auto const y = first - (first * first * first - a) / (3 * first * first); // a step of Newton's
    return copysign(where(a == 0, a, y), x);
}
/// The function that programs and rules call, and its rule.
template <xgrad::Operand X> auto cube_root(X const& x);
struct CubeRoot : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return cube_root(x); }
    auto partial(xgrad::wrt<0>, auto y, auto) const { return 1 / (3 * y * y); }
};
template <xgrad::Operand X> auto cube_root(X const& x) { return xgrad::apply<CubeRoot>(x); }
/// A rule that calls it, in its value and in its derivative.
struct Radius : xgrad::Elementwise<xgrad::R(xgrad::R)> {
    auto value(auto x) const { return x * cube_root(1 + x * x); }
    auto partial(xgrad::wrt<0>, auto, auto x) const {
        auto const c = cube_root(1 + x * x);
        return c + 2 * x * x / (3 * c * c);
    }
};

/// An operation that is a template, and one that is a member of a class template.
template <class Tag> struct Family {
    template <int N> struct Times : xgrad::Elementwise<xgrad::R(xgrad::R)> {
        auto value(auto x) const { return x * N; }
        auto partial(xgrad::wrt<0>, auto, auto) const { return double(N); }
    };
    struct Negated : xgrad::Elementwise<xgrad::R(xgrad::R)> {
        auto value(auto x) const { return -x; }
        auto partial(xgrad::wrt<0>, auto, auto) const { return -1.; }
    };
};

} // namespace mine

using namespace support;

namespace {
Values real(unsigned seed = 1) { return sample(xg::DType::float64, {2, 5}, seed, 0.25, 2); }
Values complex(unsigned seed = 1) { return sample(xg::DType::complex128, {2, 5}, seed); }
} // namespace

TEST_CASE(
    "an operation in the global namespace is applied, fused and differentiated like any other") {
    CHECK(
        differentiates(function_of<double>([](auto x) { return xg::apply<Swish>(x); }), {real()}));
    CHECK(differentiates(function_of<double, double>(
                             [](auto x, auto y) { return xg::apply<Swish>(x * y) * sin(x) + y; }),
        {real(), real(2)}));
    CHECK(agrees_with(function_of<double>([](auto x) { return xg::apply<Swish>(x); }),
        function_of<double>([](auto x) { return x * sigmoid(x); }), {real()}));
    CHECK(agrees_with_double(function_of<float>([](auto x) { return xg::apply<Swish>(x); }),
        function_of<double>([](auto x) { return x * sigmoid(x); }),
        {sample(xg::DType::float32, {19})}));
    auto const x = leaf(real()).as<double>();
    CHECK(xg::materialize_expression(xg::apply<Swish>(x)).grad_fn()->name() == "SwishBackward");
    CHECK(has(message_of<xg::ShapeError>(
                  [&] { xg::Tensor<double> y = xg::apply<Loudness>(x, xg::ones({3})); }),
        {"Loudness", "[2, 5]", "[3]"}));
}

TEST_CASE("an operation of two arguments takes real and complex ones, numbers, and other shapes") {
    auto const loudness = [](auto a, auto b) { return xg::apply<Loudness>(a, b); };
    CHECK(differentiates(function_of<double, double>(loudness), {real(), real(2)}));
    CHECK(differentiates(function_of<cd, cd>(loudness), {complex(), complex(2)}));
    CHECK(differentiates(function_of<double, cd>(loudness), {real(), complex(2)}));
    CHECK(differentiates(function_of<double, cd>(loudness),
        {sample(xg::DType::float64, {5}, 1, 0.25, 2), complex(2)}));
    CHECK(differentiates(
        function_of<double>([](auto a) { return xg::apply<Loudness>(a, 2.5); }), {real()}));
}

TEST_CASE("an operation with numbers of its own, neither holomorphic nor real, is expressed as an "
          "object") {
    CHECK(differentiates(function_of<cd>([](auto z) {
        return xg::apply(mine::Bent{{}, 0.5}, z);
    }),
        {complex()}));
    auto const at = Point{complex()};
    CHECK(agrees_with(function_of<cd>([](auto z) {
        return xg::apply(mine::Bent{{}, 3}, z);
    }),
        function_of<cd>([](auto z) { return z * z + 3 * conj(z); }), at));
}

TEST_CASE("words in a rule mean xgrad's, whatever the namespace around it calls so") {
    CHECK(agrees_with(function_of<double>([](auto x) { return xg::apply<mine::Wave>(x); }),
        function_of<double>([](auto x) { return sin(x); }), {real()}));
    CHECK(agrees_with(function_of<cd>([](auto x) { return xg::apply<mine::Wave>(x); }),
        function_of<cd>([](auto x) { return sin(x); }), {complex()}));
}

TEST_CASE("a function with SIMD maths of its own needs that and its rule, and nothing else") {
    auto const root = [](auto x) { return mine::cube_root(x); };
    Values const negative = sample(xg::DType::float64, {2, 5}, 3, -2, -0.25);
    for (auto const& at : {real(), negative}) {
        CHECK(differentiates(function_of<double>(root), {at}));
        CHECK(differentiates(
            function_of<double>([](auto x) { return mine::cube_root(x) * sin(x) + x; }), {at}));
    }
    CHECK(agrees_with(function_of<double>([](auto x) { return xg::apply<mine::Radius>(x); }),
        function_of<double>([](auto x) { return x * pow(1 + x * x, 1. / 3); }), {real()}));
    CHECK(differentiates(
        function_of<double>([](auto x) { return xg::apply<mine::Radius>(x); }), {real()}));
    CHECK(agrees_with_double(
        function_of<float>(root), function_of<double>(root), {sample(xg::DType::float32, {19})}));
    xg::Tensor<double> const x({-27., -1e-300, -0., 0., 1e-9, 2., 1e300});
    xg::Tensor<double> const y = mine::cube_root(x);
    for (std::size_t i = 0; i < x.numel(); ++i)
        CHECK(y(i).item() == doctest::Approx(std::cbrt(x(i).item())).epsilon(1e-14));
    auto const w = leaf(real()).as<double>();
    xg::Tensor<double> const z = mine::cube_root(w * w) * 2.;
    CHECK(z.grad_fn()->formula() == "Mul(CubeRoot(Mul(a, b)), number)"); // one Node
}

TEST_CASE("an operation with state of its own is fused, differentiated and kept like any other") {
    auto const combined = [](auto x, auto y) {
        return xg::apply(mine::Combined{{}, 2.5, {7, 0.5}}, x, y);
    };
    CHECK(differentiates(function_of<double, double>(combined), {real(), real(2)}));
    CHECK(differentiates(function_of<cd, cd>(combined), {complex(), complex(2)}));
    CHECK(agrees_with(
        function_of<double, double>([=](auto x, auto y) { return sin(combined(x * y, y)) + x; }),
        function_of<double, double>(
            [](auto x, auto y) { return sin(2.5 * x * y + 0.5 * y * y) + x; }),
        {real(), real(2)}));
    CHECK(agrees_with_double(function_of<float, float>(combined),
        function_of<double, double>(combined),
        {sample(xg::DType::float32, {19}), sample(xg::DType::float32, {19}, 2)}));
    CHECK(agrees_with_double(function_of<float, double>(combined),
        function_of<double, double>(combined),
        {sample(xg::DType::float32, {19}), sample(xg::DType::float64, {19}, 2)}));
    CHECK(agrees_with_double(function_of<cf, cf>(combined), function_of<cd, cd>(combined),
        {sample(xg::DType::complex64, {19}), sample(xg::DType::complex64, {19}, 2)}));
    auto const x = leaf(real()).as<double>();
    xg::Tensor<double> y;
    {
        mine::Combined const gone{{}, 3, {4}};
        y = xg::apply(gone, x, 2.);
    }
    CHECK(y.grad_fn()->formula() == "Combined(a, number)");
    sum(y).backward();
    CHECK(holds(x.grad(), std::vector<double>(10, 3.)));
    xg::Tensor<double> z = x * 1.;
    z.apply_(mine::Combined{{}, 3, {4}}, x).apply_<Swish>();
    CHECK(holds(z, xg::Tensor<double>(xg::apply<Swish>(3. * x + 4. * x * x))));
    CHECK(holds(xg::grad(sum(z), x), xg::grad(sum(xg::apply<Swish>(3. * x + 4. * x * x)), x)));
}

TEST_CASE("an operation takes every scalar type of its domain, and each has the same values and "
          "gradients") {
    auto const cube = [](auto x) { return xg::apply<mine::Cube>(x); };
    CHECK(differentiates(function_of<double>(cube), {real()}));
    CHECK(differentiates(function_of<cd>(cube), {complex()}));
    CHECK(agrees_with_double(
        function_of<float>(cube), function_of<double>(cube), {sample(xg::DType::float32, {37})}));
    CHECK(agrees_with_double(
        function_of<cf>(cube), function_of<cd>(cube), {sample(xg::DType::complex64, {37})}));
    xg::Tensor<std::int64_t> const n({-2, 0, 3});
    CHECK(holds_exactly(xg::apply<mine::Cube>(n), {-8., 0., 27.}));
    CHECK(holds_exactly(xg::apply<mine::Cube>(n > 0) + 0, {0., 0., 1.}));
    CHECK(holds(xg::apply<mine::Cube>(xt::xarray<double>({1., 2.}) + xg::zeros({2})), {1., 8.}));
}

TEST_CASE("an operation is called by the last part of its name, without what it is a member of") {
    using Family = mine::Family<mine::Family<int>::Negated>;
    xg::Tensor<double> const x({1.}, xg::requires_grad);
    xg::Tensor<double> const y = xg::apply<Family::Negated>(xg::apply<Family::Times<3>>(x));
    CHECK(y.grad_fn()->name() == "NegatedBackward");
    CHECK(y.grad_fn()->formula() == "Negated(Times(a))");
}

namespace {
struct Blended : xgrad::Elementwise<xgrad::R(xgrad::R, xgrad::R)> {
    static constexpr std::string_view written = "blend";
    auto value(auto a, auto b) const { return a + b; }
    auto partial(xgrad::wrt<0>, auto, auto, auto) const { return xgrad::one; }
    auto partial(xgrad::wrt<1>, auto, auto, auto) const { return xgrad::one; }
};
} // namespace

TEST_CASE("an operation may say how errors call it, and its Node has the name of its class") {
    xg::Tensor<double> const two({1., 2.}, xg::requires_grad), three({1., 2., 3.});
    CHECK(message_of([&] { sum(xg::apply<Blended>(two, three)); }) ==
          "blend: shapes [2] and [3] do not broadcast");
    CHECK(xg::Tensor<double>(xg::apply<Blended>(two, two)).grad_fn()->name() == "BlendedBackward");
}

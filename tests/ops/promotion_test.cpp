// Which scalar type a result has, and which its gradients.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using xg::DType;

xg::Tensor<bool> const b({true, false});
xg::Tensor<std::int64_t> const i({1, 2});
xg::Tensor<float> const f({1.f, 2.f});
xg::Tensor<double> const d({1., 2.});
xg::Tensor<cf> const c({cf(1, 1), cf(2, 0)});
xg::Tensor<cd> const z({cd(1, 1), cd(2, 0)});

template <class X> constexpr DType type(X const&) { return xg::dtype_of<typename X::value_type>; }

} // namespace

TEST_CASE("two tensors promote to the wider precision, and to complex") {
    CHECK(type(f + f) == DType::float32);
    CHECK(type(f + d) == DType::float64);
    CHECK(type(d * f) == DType::float64);
    CHECK(type(f * c) == DType::complex64);
    CHECK(type(d * c) == DType::complex128);
    CHECK(type(c / z) == DType::complex128);
    CHECK(type(pow(f, c)) == DType::complex64);
    CHECK(type(complex(f, d)) == DType::complex128);
    CHECK(type(where(b, f, d)) == DType::float64);
    CHECK(type(where(b, f, c)) == DType::complex64);
    CHECK(holds(f * z, {{1, 1}, 4}));
}

TEST_CASE("int64 beside a floating type is computed in double, beside int64 it stays, and a "
          "quotient is real") {
    CHECK(type(i + i) == DType::int64);
    CHECK(type(i * i) == DType::int64);
    CHECK(type(i + f) == DType::float64);
    CHECK(type(i + c) == DType::complex128);
    CHECK(type(i / i) == DType::float64);
    CHECK(type(sin(i)) == DType::float64);
    CHECK(type(-i) == DType::int64);
    CHECK(type(maximum(i, i)) == DType::int64);
    CHECK(type(clamp(i, 1, 2)) == DType::int64);
    CHECK(type(clamp_min(i, 1)) == DType::int64);
    CHECK(type(clamp_max(i, 1.5)) == DType::float64);
    CHECK(holds(clamp(xg::Tensor<std::int64_t>({1, 5, 9}), 2, 6), {2, 5, 6}));
    CHECK(holds(i / 4, {0.25, 0.5}));
    CHECK(holds(i + f, {2, 4}));
    CHECK(holds(
        xg::Tensor<std::int64_t>({(std::int64_t(1) << 62) + 1}) - (std::int64_t(1) << 62), {1}));
}

TEST_CASE("numbers do not widen a tensor; a complex one makes it complex, a real one beside int64 "
          "makes it real") {
    CHECK(type(f * 2.0) == DType::float32);
    CHECK(type(2.0 + f) == DType::float32);
    CHECK(type(pow(f, 2.5)) == DType::float32);
    CHECK(type(c * 2.0) == DType::complex64);
    CHECK(type(f * cd(0, 1)) == DType::complex64);
    CHECK(type(d * cf(0, 1)) == DType::complex128);
    CHECK(type(i * 2) == DType::int64);
    CHECK(type(i * 2.5) == DType::float64);
    CHECK(type(maximum(f, 0.)) == DType::float32);
    CHECK(type(clamp(f, 0., 1)) == DType::float32);
    CHECK(holds(i * 2.5, {2.5, 5}));
    CHECK(holds(f * 0.1, {static_cast<double>(0.1f), static_cast<double>(0.2f)}, 1e-7));
}

TEST_CASE("bool gives way to every other type") {
    CHECK(type(b * f) == DType::float32);
    CHECK(type(b * d) == DType::float64);
    CHECK(type(b + i) == DType::int64);
    CHECK(type(b * c) == DType::complex64);
    CHECK(holds(b + i, {2, 2}));
}

TEST_CASE("modulus, parts and argument of a complex tensor are real tensors of its precision") {
    CHECK(type(abs(c)) == DType::float32);
    CHECK(type(abs2(z)) == DType::float64);
    CHECK(type(real(c)) == DType::float32);
    CHECK(type(imag(z)) == DType::float64);
    CHECK(type(angle(c)) == DType::float32);
    CHECK(type(conj(c)) == DType::complex64);
    CHECK(type(sgn(c)) == DType::complex64);
    CHECK(type(sum(c)) == DType::complex64);
    CHECK(type(norm(c)) == DType::float32);
}

TEST_CASE("reductions of integers and masks count exactly, and their mean is a real number") {
    CHECK(type(sum(i)) == DType::int64);
    CHECK(type(sum(b)) == DType::int64);
    CHECK(type(amax(i)) == DType::int64);
    CHECK(type(prod(i)) == DType::int64);
    CHECK(type(prod(b)) == DType::int64);
    CHECK(type(mean(i)) == DType::float64);
    CHECK(holds(mean(i), {1.5}));
    CHECK(holds(mean(b), {0.5}));
    CHECK(holds(prod(xg::Tensor<std::int64_t>({3, 4, 5})), {60}));
    CHECK(holds(prod(xg::Tensor<bool>({{true, true}, {true, false}}), {1}), {1, 0}));
    CHECK(holds(norm(xg::Tensor<std::int64_t>({3, 4})), {5}));
    CHECK(holds(logsumexp(xg::Tensor<std::int64_t>({0, 0})), {std::log(2)}));
}

TEST_CASE("each operand's gradient has that operand's type and shape") {
    auto const x = leaf_of<float>(sample(DType::float32, {3})),
               s = leaf_of<float>(sample(DType::float32, {}));
    auto const y = leaf_of<double>(sample(DType::float64, {2, 3}));
    auto const w = leaf_of<cf>(sample(DType::complex64, {2, 1}));
    xg::Tensor<cd> const result = x * y + w * s;
    for (bool const recorded : {false, true}) {
        auto const [gx, gy, gw, gs] = xg::grad(result, xg::inputs(x, y, w, s),
            {.gradients = {xg::ones<cd>({2, 3})}, .retain_graph = true, .create_graph = recorded});
        CHECK(holds(gx, xg::AnyTensor(sum(y, {0})), 1e-6));
        CHECK(gx.shape() == x.shape());
        CHECK(gy.shape() == y.shape());
        CHECK(gw.shape() == w.shape());
        CHECK(gs.shape() == s.shape());
    }
}

TEST_CASE("a number inside a formula of two precisions does not decide its type") {
    auto const f2 =
        function_of<double, float>([](auto x, auto y) { return x * sin(y + 1) + 2 * y; });
    auto const d2 =
        function_of<double, double>([](auto x, auto y) { return x * sin(y + 1) + 2 * y; });
    CHECK(agrees_with_double(
        f2, d2, {sample(DType::float64, {19}, 1), sample(DType::float32, {19}, 2)}));
}

TEST_CASE("a complex tensor beside a mask or integers has both derivatives") {
    auto const masked = [](auto x) { return x * b / (x * i); };
    auto const written_out = [](auto x) {
        return x * xg::Tensor<double>({1., 0.}) / (x * xg::Tensor<double>({1., 2.}));
    };
    CHECK(agrees_with(
        function_of<cd>(masked), function_of<cd>(written_out), {sample(DType::complex128, {2})}));
    CHECK(differentiates(function_of<cd>([](auto x) { return square(x * b) * (x - i); }),
        {sample(DType::complex128, {2})}));
    CHECK(type(c * b) == DType::complex64);
}

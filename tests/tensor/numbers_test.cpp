// Single numbers beside tensors in order: values, gradients and sums are those of the numbers
// spread out by hand.
#include "tensor/compare.hpp"

namespace {

template <class T> using Real = xg::precision_of<T>;

/// Reproducible elements near 1.
template <class T> xg::Tensor<T> elements(xg::Shape const& shape) {
    xg::Tensor<T> t = xg::Tensor<T>::empty(shape);
    for (std::size_t i = 0; i < t.numel(); ++i) {
        auto const v = static_cast<Real<T>>(1 + static_cast<double>(i * 37 % 101) / 200);
        if constexpr (xg::detail::is_complex<T>) t.mutable_data()[i] = T(v, 1 - v);
        else t.mutable_data()[i] = v;
    }
    return t.requires_grad_();
}
template <class T> xg::Tensor<T> number(xg::Shape const& shape, double value) {
    return xg::full<T>(shape, T(static_cast<Real<T>>(value)), xg::requires_grad);
}

auto formula = [](auto const& x, auto const& a, auto const& b) {
    return x * a * x + exp(b * x) - a / b;
};

/// Largest difference as a fraction of the largest element.
template <class T> double off(xg::Tensor<T> const& a, xg::Tensor<T> const& b) {
    REQUIRE(a.shape() == b.shape());
    double most = 0, scale = 0;
    for (std::size_t i = 0; i < a.numel(); ++i) {
        most = std::max(most, static_cast<double>(std::abs(a.data()[i] - b.data()[i])));
        scale = std::max(scale, static_cast<double>(std::abs(b.data()[i])));
    }
    return most / scale;
}

template <class T>
void check(xg::Shape const& shape, xg::Shape const& of_number, double tolerance) {
    CAPTURE(shape);
    auto x = elements<T>(shape), a = number<T>(of_number, 0.7), b = number<T>({}, 1.3);
    auto x2 = elements<T>(shape);
    xg::Shape const no_dimensions;
    auto a2 = number<T>(of_number, 0.7), b2 = number<T>({}, 1.3);
    auto const spread = [&](auto const& t) { return t.expand(shape).clone(); };
    auto const weights = elements<T>(shape).detach();

    xg::Tensor<T> const y = formula(x, a, b), y2 = formula(x2, spread(a2), spread(b2));
    CHECK(off(y, y2) <= tolerance);
    xg::Tensor<T>(y * weights).backward(xg::ones_like(y));
    xg::Tensor<T>(y2 * weights).backward(xg::ones_like(y));
    CHECK(off(x.grad(), x2.grad()) <= tolerance);
    CHECK(off(a.grad(), a2.grad()) <= tolerance);
    CHECK(off(b.grad(), b2.grad()) <= tolerance);

    auto const all = [](auto const& v) {
        if constexpr (xg::detail::is_complex<T>) return sum(abs2(v));
        else return sum(v);
    };
    for (int round = 0; round < 2;
         ++round) { // gradients are made with the sum, or in a pass of their own
        auto const total = all(formula(x, a, b)), total2 = all(formula(x2, spread(a2), spread(b2)));
        CHECK(static_cast<double>(total.item()) ==
              doctest::Approx(static_cast<double>(total2.item())).epsilon(tolerance));
        if (round == 0) total.backward(), total2.backward();
        else (total * Real<T>(2)).backward(), (total2 * Real<T>(2)).backward();
        CHECK(off(x.grad(), x2.grad()) <= tolerance);
        CHECK(off(a.grad(), a2.grad()) <= tolerance);
        CHECK(off(b.grad(), b2.grad()) <= tolerance);
    }
}

} // namespace

TEST_CASE("numbers beside tensors of any size, and of more elements than are added up at a time") {
    for (std::size_t const n : {1u, 3u, 8u, 511u, 512u, 513u, 1024u, 9000u, 40001u})
        check<double>({n}, {}, 1e-12);
    check<double>({7, 90}, {1, 1}, 1e-12);
    check<double>({7, 90}, {1}, 1e-12);
}
TEST_CASE("numbers beside float and complex tensors") {
    for (std::size_t const n : {5u, 1024u, 1030u, 40001u}) {
        check<float>({n}, {}, 4e-6);
        check<std::complex<double>>({n}, {}, 1e-12);
        check<std::complex<float>>({n}, {1}, 4e-6);
    }
}
TEST_CASE("a long sum of float keeps its digits in the gradient of a number") {
    std::size_t const n = 3'000'000;
    xg::Tensor<float> const x = xg::full<float>({n}, 0.1f);
    xg::Tensor<float> a(1.f, xg::requires_grad);
    sum(x * a).backward();
    CHECK(a.grad().item() ==
          doctest::Approx(static_cast<double>(n) * static_cast<double>(0.1f)).epsilon(1e-6));
    a.zero_grad();
    xg::Tensor<float>(x * a).backward(xg::ones<float>({n}));
    CHECK(a.grad().item() ==
          doctest::Approx(static_cast<double>(n) * static_cast<double>(0.1f)).epsilon(1e-6));
}
TEST_CASE("beside numbers: tensors out of order, empty ones, and second derivatives") {
    D x = xg::arange(0., 12.).reshape({3, 4}).clone().requires_grad_(), a(2., xg::requires_grad);
    D const transposed = x.transpose() * a;
    CHECK(difference(transposed, x.transpose() + x.transpose()) == "");
    transposed.backward(xg::ones({4, 3}));
    CHECK(a.grad().item() == 66.);
    D const none = xg::zeros({0, 4}, xg::requires_grad);
    a.zero_grad();
    sum(none * a).backward();
    CHECK(a.grad().item() == 0.);
    D const g = grad(sum(a * a * x), a, {.create_graph = true});
    auto const [ga, gx] = grad(g, xg::inputs(a, x));
    CHECK(ga.item() == 132.);
    CHECK(difference(gx, xg::full({3, 4}, 4.)) == "");
}

// Arrays larger than all caches: non-temporal stores write all elements and no others.
#include <doctest/doctest.h>
#include <xgrad/core/stream.hpp>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// So many that each array is written by non-temporal stores, and that the last elements fill
/// neither a batch nor a cache line.
template <class T>
constexpr std::size_t many =
    std::min(xg::detail::streamed_bytes, std::size_t{16} << 20) / sizeof(T) + 777;

/// Small whole numbers, so that nothing is rounded.
template <class T> T number(std::size_t i, std::size_t of) {
    auto const n = static_cast<xg::precision_of<T>>((i * 7 + of) % 31);
    if constexpr (xg::ComplexScalar<T>) return {n, n - static_cast<xg::precision_of<T>>(of)};
    else return n;
}
template <class T> xg::Tensor<T> numbered(std::size_t of) {
    auto t = xg::Tensor<T>::empty({many<T>});
    auto* const at = t.mutable_data();
    for (std::size_t i = 0; i < many<T>; ++i) at[i] = number<T>(i, of);
    return t;
}
template <class T> T conjugate(T x) {
    if constexpr (xg::ComplexScalar<T>) return std::conj(x);
    else return x;
}

/// Where t first differs from expected(number of a, number of b); many<T> where it does nowhere.
template <class T, class F> std::size_t first_wrong(xg::Tensor<T> const& t, F expected) {
    REQUIRE(t.numel() == many<T>);
    auto const* const at = t.data();
    std::size_t i = 0;
    while (i < many<T> && at[i] == expected(number<T>(i, 1), number<T>(i, 4))) ++i;
    return i;
}

template <class T> void check_large() {
    T const one(1);
    auto a = numbered<T>(1).requires_grad_(), b = numbered<T>(4).requires_grad_();
    xg::Tensor<T> const y = a * b - a;
    CHECK(first_wrong(y, [](T x, T z) { return x * z - x; }) == many<T>);
    y.backward(b.detach());
    CHECK(first_wrong(a.grad(), [&](T, T z) { return z * conjugate(z - one); }) == many<T>);
    CHECK(first_wrong(b.grad(), [](T x, T z) { return z * conjugate(x); }) == many<T>);
    sum(real(a * b - a)).backward(); // added to what is there
    CHECK(first_wrong(a.grad(), [&](T, T z) { return (z + one) * conjugate(z - one); }) == many<T>);
    CHECK(first_wrong(b.grad(), [&](T x, T z) { return (z + one) * conjugate(x); }) == many<T>);
    xg::NoGradGuard const guard;
    a += b * T(2);
    CHECK(first_wrong(a, [](T x, T z) { return x + z * T(2); }) == many<T>);
}

} // namespace

TEST_CASE_TEMPLATE(
    "arrays larger than caches", T, float, double, std::complex<float>, std::complex<double>) {
    check_large<T>();
}

TEST_CASE("arrays larger than caches, on several threads") {
    xg::set_num_threads(3);
    check_large<double>();
    xg::set_num_threads(1);
}

TEST_CASE("many large results at once") {
    std::size_t const count = 8;
    std::vector<xg::Tensor<double>> x;
    for (std::size_t k = 0; k < count; ++k) x.push_back(numbered<double>(1).requires_grad_());
    sum(x[0] * x[1] + x[2] * x[3] + x[4] * x[5] + x[6] * x[7] + x[0] * x[0]).backward();
    for (std::size_t k = 0; k < count; ++k)
        CHECK(first_wrong(x[k].grad(), [k](double v, double) { return k == 0 ? 3 * v : v; }) ==
              many<double>);
}

TEST_CASE("whichever parts are written past the caches, results are the same to the last bit") {
    auto const x = xg::rand({many<double>}).requires_grad_();
    auto const value = [&] {
        auto const loss = sum(sin(x) * x);
        loss.backward();
        return loss.item();
    };
    value(), value(); // from here on the sum and its gradients are computed in one pass
    double const first = value();
    for (std::size_t const threads : {1u, 1u, 1u, 2u, 3u}) {
        xg::set_num_threads(threads);
        CHECK(value() == first);
    }
    xg::set_num_threads(1);
}

TEST_CASE_TEMPLATE("masks of more elements than a part of a loop", T, double, float, std::int64_t) {
    for (std::size_t const n : {32768u, 32769u, 200003u}) {
        CAPTURE(n);
        std::vector<T> numbers(n);
        for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<T>(i % 7);
        xg::Tensor<T> const x(numbers);
        xg::Tensor<bool> mask = x < 4;
        xg::Tensor<bool> const opposite = !mask;
        std::size_t wrong = 0, count = 0;
        for (std::size_t i = 0; i < n; ++i) {
            wrong += mask.data()[i] != (i % 7 < 4);
            wrong += opposite.data()[i] == (i % 7 < 4);
            count += i % 7 < 4;
        }
        CHECK(sum(xg::cast<std::int64_t>(x < 4)).item() == static_cast<std::int64_t>(count));
        CHECK(sum(mask).item() == static_cast<std::int64_t>(count));
        mask.copy_(x > 1);
        for (std::size_t i = 0; i < n; ++i) wrong += mask.data()[i] != (i % 7 > 1);
        mask.copy_(x.view(-1, 1).expand(-1, 1).squeeze(1) > x.roll(1, 0));
        for (std::size_t i = 0; i < n; ++i)
            wrong += mask.data()[i] != (numbers[i] > numbers[i == 0 ? n - 1 : i - 1]);
        CHECK(wrong == 0);
    }
}

// Gradients of Fourier transforms, in both orders.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {
Point reals(xg::Shape const& shape) { return {sample(xg::DType::float64, shape)}; }
Point complexes(xg::Shape const& shape) { return {sample(xg::DType::complex128, shape)}; }
} // namespace

TEST_CASE("transforms along one axis have both derivatives, cut, padded, with any norm") {
    using enum xg::FftNorm;
    for (auto const norm : {backward, ortho, forward})
        for (std::size_t const n : {3u, 4u, 6u}) {
            INFO("length " << n << ", norm " << int(norm));
            CHECK(differentiates(
                function_of<cd>([=](auto z) { return fft(z, n, 0, norm); }), complexes({4, 2})));
            CHECK(differentiates(
                function_of<cd>([=](auto z) { return ifft(z, n, -1, norm); }), complexes({2, 4})));
            CHECK(differentiates(
                function_of<double>([=](auto x) { return fft(x, n, -1, norm); }), reals({2, 4})));
            CHECK(differentiates(
                function_of<double>([=](auto x) { return rfft(x, n, 0, norm); }), reals({4, 2})));
            CHECK(differentiates(
                function_of<cd>([=](auto z) { return irfft(z, n, -1, norm); }), complexes({2, 3})));
            CHECK(differentiates(
                function_of<cd>([=](auto z) { return irfft(z, n, 0, norm); }), complexes({3, 2})));
        }
}

TEST_CASE("transforms over several axes have both derivatives") {
    CHECK(
        differentiates(function_of<cd>([](auto z) { return fft2(z * z); }), complexes({2, 2, 3})));
    CHECK(differentiates(function_of<cd>([](auto z) {
        return ifftn(z, {0, 2}, {3, 2});
    }),
        complexes({2, 2, 3})));
    CHECK(differentiates(function_of<double>([](auto x) { return rfftn(sin(x)); }), reals({2, 3})));
    CHECK(differentiates(function_of<double>([](auto x) {
        return rfftn(x, {1, 0}, {2, 5});
    }),
        reals({3, 3})));
    CHECK(differentiates(function_of<cd>([](auto z) { return irfftn(z); }), complexes({2, 3})));
    CHECK(differentiates(function_of<cd>([](auto z) {
        return irfftn(z, {0, 1}, {3, 5});
    }),
        complexes({2, 3})));
}

TEST_CASE("a spectrum that is changed and transformed back has both derivatives") {
    CHECK(differentiates(
        function_of<double>([](auto x) { return irfft(rfft(x) * rfft(x * x), 5); }), reals({5})));
    CHECK(differentiates(
        function_of<double, cd>([](auto x, auto z) { return abs2(ifft(fft(x) * z)); }),
        {reals({5})[0], complexes({5})[0]}));
}

TEST_CASE(
    "the ends of a half spectrum get no imaginary gradient, and the bins between count twice") {
    auto const gradient = [](std::size_t n) {
        Point const z{sample(xg::DType::complex128, {n / 2 + 1})};
        auto const w = sample(xg::DType::float64, {n}, 8);
        return first_order(function_of<cd>([=](auto x) { return irfft(x, n); }), z, w)[0].numbers;
    };
    // by the definition: y_j = (Re z_0 + (-1)^j Re z_(n/2) + 2 sum_k Re(z_k e^(2 pi i jk/n))) / n
    auto const want = [](std::size_t n) {
        auto const w = sample(xg::DType::float64, {n}, 8).numbers;
        std::vector<cd> g(n / 2 + 1);
        for (std::size_t k = 0; k < g.size(); ++k)
            for (std::size_t j = 0; j < n; ++j)
                g[k] += w[j] *
                        std::polar(1., -2 * std::numbers::pi * static_cast<double>(j * k) /
                                           static_cast<double>(n)) /
                        static_cast<double>(n);
        for (std::size_t k = 0; k < g.size(); ++k)
            if (k == 0 || 2 * k == n) g[k] = g[k].real();
            else g[k] *= 2;
        return g;
    };
    for (std::size_t const n : {4u, 5u, 1u, 2u, 8u}) {
        INFO("length " << n);
        CHECK(holds(gradient(n), want(n)));
        CHECK(gradient(n)[0].imag() == 0);
        if (n % 2 == 0) CHECK(gradient(n)[n / 2].imag() == 0);
    }
}

TEST_CASE("bins that irfft cuts off get gradient 0") {
    auto const g = first_order(function_of<cd>([](auto z) { return irfft(z, 4); }), complexes({5}),
        sample(xg::DType::float64, {4}))[0]
                       .numbers;
    CHECK(holds({g[3], g[4]}, {0, 0}, 0));
    CHECK(std::abs(g[1]) > 0.01);
}

TEST_CASE(
    "transforms in single precision agree with those in double, in value and both derivatives") {
    auto const check = [](auto f) {
        CHECK(agrees_with_double(
            function_of<float>(f), function_of<double>(f), {sample(xg::DType::float32, {3, 9})}));
    };
    check([](auto x) { return fft(x); });
    check([](auto x) { return rfftn(x * x); });
    auto const inverse = [](auto z) { return irfft(z * z, 7); };
    CHECK(agrees_with_double(
        function_of<cf>(inverse), function_of<cd>(inverse), {sample(xg::DType::complex64, {4})}));
}

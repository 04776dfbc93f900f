// Fourier transforms against the definition: every small length, padding and cutting, axes, norms,
// real transforms.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using Z = xg::Tensor<cd>;
using D = xg::Tensor<double>;

/// n numbers of x, or x and zeros, transformed by the definition, times a factor.
std::vector<cd> naive(std::vector<cd> x, std::size_t n, int sign = -1, double factor = 1) {
    x.resize(n);
    std::vector<cd> y(n);
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t j = 0; j < n; ++j)
            y[k] +=
                x[j] * std::polar(1., sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                          static_cast<double>(n));
        y[k] *= factor;
    }
    return y;
}
std::vector<cd> first(std::vector<cd> x, std::size_t n) {
    x.resize(n);
    return x;
}
/// The full spectrum of a real signal of n numbers from its half.
std::vector<cd> mirrored(std::vector<cd> half, std::size_t n) {
    half.resize(n / 2 + 1);
    half[0] = half[0].real();
    if (n % 2 == 0) half[n / 2] = half[n / 2].real();
    half.resize(n);
    for (std::size_t k = n / 2 + 1; k < n; ++k) half[k] = std::conj(half[n - k]);
    return half;
}
/// f applied to each line of a 2 x 3 x 4 array along an axis; each line keeps its length.
std::vector<cd> along(std::vector<cd> x, std::size_t axis, std::vector<cd> (*f)(std::vector<cd>)) {
    std::size_t const n[] = {2, 3, 4}, step[] = {12, 4, 1};
    for (std::size_t start = 0; start < 24; ++start) {
        if (start / step[axis] % n[axis] != 0) continue;
        std::vector<cd> line;
        for (std::size_t i = 0; i < n[axis]; ++i) line.push_back(x[start + i * step[axis]]);
        line = f(line);
        for (std::size_t i = 0; i < n[axis]; ++i) x[start + i * step[axis]] = line[i];
    }
    return x;
}
std::vector<cd> forward(std::vector<cd> x) { return naive(x, x.size()); }
std::vector<cd> inverse(std::vector<cd> x) {
    return naive(x, x.size(), 1, 1. / static_cast<double>(x.size()));
}

std::vector<std::size_t> lengths() {
    std::vector<std::size_t> n;
    for (std::size_t i = 1; i <= 36; ++i) n.push_back(i);
    for (std::size_t const i : {45u, 49u, 64u, 97u, 100u, 121u, 127u, 128u, 143u, 169u, 210u, 243u,
             256u, 289u, 360u, 512u, 1000u, 1009u, 1024u})
        n.push_back(i);
    return n;
}

} // namespace

TEST_CASE("fft and ifft of every length are the sums that define them") {
    for (auto const n : lengths()) {
        INFO("length " << n);
        auto const x = sample(xg::DType::complex128, {n});
        double const tolerance = 1e-14 * static_cast<double>(n);
        CHECK(holds(fft(leaf(x).as<cd>()), naive(x.numbers, n), tolerance));
        CHECK(holds(
            ifft(leaf(x).as<cd>()), naive(x.numbers, n, 1, 1 / static_cast<double>(n)), tolerance));
        CHECK(holds(fft(leaf_of<cf>(x)), naive(x.numbers, n), 1e-6 * static_cast<double>(n)));
    }
}

TEST_CASE("rfft and irfft of every length are the halves of fft and ifft") {
    for (auto const n : lengths()) {
        INFO("length " << n);
        auto const x = sample(xg::DType::float64, {n});
        auto const z = sample(xg::DType::complex128, {n / 2 + 1});
        double const tolerance = 1e-14 * static_cast<double>(n), scale = 1 / static_cast<double>(n);
        CHECK(holds(rfft(leaf(x).as<double>()), first(naive(x.numbers, n), n / 2 + 1), tolerance));
        CHECK(holds(fft(leaf(x).as<double>()), naive(x.numbers, n), tolerance));
        auto const signal = irfft(leaf(z).as<cd>(), n);
        CHECK(signal.dtype() == xg::DType::float64);
        CHECK(holds(signal, naive(mirrored(z.numbers, n), n, 1, scale), tolerance));
        CHECK(holds(irfft(rfft(leaf(x).as<double>()), n), x.numbers, tolerance));
    }
    CHECK(irfft(leaf(sample(xg::DType::complex128, {5})).as<cd>()).shape() == xg::Shape{8});
}

TEST_CASE("a given length cuts the input or pads it with zeros") {
    auto const x = sample(xg::DType::complex128, {6}), r = sample(xg::DType::float64, {6});
    for (std::size_t const n : {1u, 3u, 5u, 6u, 7u, 12u}) {
        INFO("length " << n);
        CHECK(holds(fft(leaf(x).as<cd>(), n), naive(first(x.numbers, n), n)));
        CHECK(holds(ifft(leaf(x).as<cd>(), n),
            naive(first(x.numbers, n), n, 1, 1 / static_cast<double>(n))));
        CHECK(
            holds(rfft(leaf(r).as<double>(), n), first(naive(first(r.numbers, n), n), n / 2 + 1)));
        CHECK(holds(irfft(leaf(x).as<cd>(), n),
            naive(mirrored(x.numbers, n), n, 1, 1 / static_cast<double>(n))));
    }
}

TEST_CASE("the norm says which direction carries the factor") {
    using enum xg::FftNorm;
    auto const v = sample(xg::DType::complex128, {6});
    auto const x = leaf(v).as<cd>();
    auto const r = real(x);
    double const root = 1 / std::sqrt(6.), whole = 1 / 6.;
    CHECK(holds(fft(x, {}, -1, backward), naive(v.numbers, 6)));
    CHECK(holds(fft(x, {}, -1, ortho), naive(v.numbers, 6, -1, root)));
    CHECK(holds(fft(x, {}, -1, xg::FftNorm::forward), naive(v.numbers, 6, -1, whole)));
    CHECK(holds(ifft(x, {}, -1, backward), naive(v.numbers, 6, 1, whole)));
    CHECK(holds(ifft(x, {}, -1, ortho), naive(v.numbers, 6, 1, root)));
    CHECK(holds(ifft(x, {}, -1, xg::FftNorm::forward), naive(v.numbers, 6, 1)));
    for (auto const norm : {backward, ortho, xg::FftNorm::forward}) {
        CHECK(holds(ifft(fft(x, {}, -1, norm), {}, -1, norm), v.numbers));
        CHECK(holds(irfft(rfft(r, {}, -1, norm), 6, -1, norm), xg::AnyTensor(D(r))));
        CHECK(holds(ifft2(fft2(reshape(x, {2, 3}), norm), norm), v.numbers));
        CHECK(holds(irfftn(rfftn(reshape(r, {2, 3}), {}, {}, norm), {0, 1}, {2, 3}, norm),
            xg::AnyTensor(D(r))));
    }
}

TEST_CASE("a transform runs along one axis, or several, counted from either end") {
    auto const v = sample(xg::DType::complex128, {2, 3, 4});
    auto const x = leaf(v).as<cd>();
    auto const strided = strided_leaf(v).as<cd>();
    for (std::size_t axis = 0; axis < 3; ++axis) {
        auto const a = static_cast<std::ptrdiff_t>(axis);
        CHECK(holds(fft(x, {}, a), along(v.numbers, axis, forward)));
        CHECK(holds(fft(strided, {}, a - 3), along(v.numbers, axis, forward)));
        CHECK(holds(ifft(x, {}, a), along(v.numbers, axis, inverse)));
    }
    auto const last_two = along(along(v.numbers, 1, forward), 2, forward);
    CHECK(holds(fft2(x), last_two));
    CHECK(holds(fftn(x, {1, 2}), last_two));
    CHECK(holds(fftn(x, {-1, 1}), last_two));
    CHECK(holds(fftn(x), along(last_two, 0, forward)));
    CHECK(holds(ifftn(fftn(x)), v.numbers));
    CHECK(holds(ifft2(x), along(along(v.numbers, 1, inverse), 2, inverse)));
    CHECK(fftn(x, {0, 2}, {5, 2}).shape() == xg::Shape{5, 3, 2});
}

TEST_CASE("rfftn halves its last axis, and irfftn brings it back") {
    auto const v = sample(xg::DType::float64, {2, 3, 4});
    auto const x = leaf(v).as<double>();
    auto const full = values(fftn(x));
    auto const half = values(rfftn(x));
    CHECK(half.shape == xg::Shape{2, 3, 3});
    for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t k = 0; k < 3; ++k)
            CHECK(std::abs(half.numbers[i * 3 + k] - full.numbers[i * 4 + k]) < 1e-12);
    CHECK(holds(irfftn(rfftn(x), {0, 1, 2}, {2, 3, 4}), v.numbers));
    CHECK(holds(irfftn(rfftn(x, {0, 1}), {0, 1}, {2, 3}), v.numbers));
    CHECK(rfftn(x, {2, 0}).shape() == xg::Shape{2, 3, 4});
    CHECK(irfftn(rfftn(x)).shape() == xg::Shape{2, 3, 4});
}

TEST_CASE("transforms take whole numbers and masks as real ones") {
    CHECK(holds(fft(xg::Tensor<std::int64_t>({1, 2, 3})), naive({1, 2, 3}, 3)));
    CHECK(
        holds(rfft(xg::Tensor<bool>({true, false, true, true})), first(naive({1, 0, 1, 1}, 4), 3)));
    CHECK(fft(xg::Tensor<float>({1, 2})).dtype() == xg::DType::complex64);
}

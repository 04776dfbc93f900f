// The transform against its definition, summed in long double, and against the identities that make
// it a transform.
#include <cmath>
#include <complex>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/kernels/fft.hpp>
#include <xgrad/kernels/fft_plan.hpp>

using xgrad::detail::fft;
using xgrad::detail::fft_many;

namespace {

using Sizes = std::initializer_list<std::size_t>;
template <class T> using Line = std::vector<std::complex<T>>;
using Exact = std::complex<long double>;

template <class T> Line<T> random_line(std::size_t n, unsigned seed = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    Line<T> line(n);
    for (auto& z : line) z = {static_cast<T>(normal(engine)), static_cast<T>(normal(engine))};
    return line;
}

template <class T> Line<T> transform(Line<T> const& in, int sign) {
    Line<T> out(in.size());
    fft(in.data(), 1, out.data(), 1, in.size(), sign);
    return out;
}

std::vector<Exact> roots(std::size_t n, int sign) {
    std::vector<Exact> w(n);
    for (std::size_t k = 0; k < n; ++k) {
        auto const turn = static_cast<long double>(k) / static_cast<long double>(n);
        w[k] = std::polar(
            1.0L, static_cast<long double>(sign) * 2 * std::numbers::pi_v<long double> * turn);
    }
    return w;
}

/// The distance of some bins (each `step`th) from the definition, relative to their norm.
template <class T>
double error(Line<T> const& in, Line<T> const& out, int sign, std::size_t step = 1) {
    auto const n = in.size();
    auto const w = roots(n, sign);
    long double difference = 0, norm = 0;
    for (std::size_t k = 0; k < n; k += step) {
        Exact sum = 0;
        for (std::size_t j = 0, e = 0; j < n; ++j, e = (e + k) % n) sum += Exact(in[j]) * w[e];
        difference += std::norm(sum - Exact(out[k]));
        norm += std::norm(sum);
    }
    return static_cast<double>(std::sqrt(difference / norm));
}

/// What rounding may do: the error of a good transform grows with log n.
template <class T> double tolerance(std::size_t n) {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) *
           (1 + std::log2(static_cast<double>(n)));
}

template <class T> double distance(Line<T> const& a, Line<T> const& b) {
    double difference = 0, norm = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        difference += static_cast<double>(std::norm(a[k] - b[k]));
        norm += static_cast<double>(std::norm(b[k]));
    }
    return std::sqrt(difference / norm);
}

template <class T> Line<T> transposed(Line<T> const& matrix, std::size_t columns) {
    auto const rows = matrix.size() / columns;
    Line<T> image(matrix.size());
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) image[j * rows + i] = matrix[i * columns + j];
    return image;
}

} // namespace

TEST_CASE_TEMPLATE("the transform is what its definition says", T, float, double) {
    std::vector<std::size_t> lengths{
        97, 100, 121, 128, 210, 243, 256, 480, 625, 1009, 1024, 61 * 59, 2 * 1009};
    for (std::size_t n = 1; n <= 70; ++n) lengths.push_back(n);
    for (auto const n : lengths)
        for (int const sign : {-1, 1}) {
            CAPTURE(n);
            CAPTURE(sign);
            auto const in = random_line<T>(n);
            CHECK(error(in, transform(in, sign), sign, 1 + n / 128) < tolerance<T>(n));
        }
}

TEST_CASE_TEMPLATE("long lines", T, float, double) {
    for (auto const n : Sizes{4096, 10007, 32768, 44100, 65536, 98304, 131072}) {
        CAPTURE(n);
        auto const in = random_line<T>(n);
        CHECK(error(in, transform(in, -1), -1, n / 5) < tolerance<T>(n));
    }
}

TEST_CASE_TEMPLATE("an impulse anywhere becomes a wave", T, float, double) {
    for (auto const n : Sizes{12, 143, 193, 1000, 4096})
        for (auto const at : Sizes{std::size_t{1}, n / 3, n - 1}) {
            Line<T> in(n), wave(n);
            in[at] = 1;
            auto const w = roots(n, -1);
            for (std::size_t k = 0; k < n; ++k) wave[k] = std::complex<T>(w[at * k % n]);
            CHECK(distance(transform(in, -1), wave) < tolerance<T>(n));
        }
}

TEST_CASE("forward and backward make n times the line") {
    for (auto const n : Sizes{1, 2, 7, 30, 64, 97, 127, 128, 1009, 1024, 6000, 40000}) {
        auto const in = random_line<double>(n);
        auto out = transform(transform(in, -1), 1);
        for (auto& z : out) z /= static_cast<double>(n);
        CHECK(distance(out, in) < 2 * tolerance<double>(n));
    }
}

TEST_CASE("the transform is linear, and a shift becomes a phase") {
    std::complex<double> const factor(0.3, -1.7);
    for (auto const n : Sizes{5, 48, 101, 360, 2048}) {
        auto const a = random_line<double>(n, 1), b = random_line<double>(n, 2);
        Line<double> mixed(n), shifted(n), expected(n), phased(n);
        for (std::size_t j = 0; j < n; ++j)
            mixed[j] = a[j] + factor * b[j], shifted[j] = a[(j + 3) % n];
        auto const ta = transform(a, -1), tb = transform(b, -1);
        auto const w = roots(n, 1);
        for (std::size_t k = 0; k < n; ++k) {
            expected[k] = ta[k] + factor * tb[k];
            phased[k] = ta[k] * std::complex<double>(w[3 * k % n]);
        }
        CHECK(distance(transform(mixed, -1), expected) < 2 * tolerance<double>(n));
        CHECK(distance(transform(shifted, -1), phased) < 2 * tolerance<double>(n));
    }
}

TEST_CASE("any strides, and in place") {
    for (auto const n : Sizes{1, 6, 16, 67, 150, 256, 1013})
        for (std::ptrdiff_t const is : {1, 3, -2})
            for (std::ptrdiff_t const os : {1, 2, -1}) {
                auto const line = random_line<double>(n);
                auto const expected = transform(line, 1);
                auto const last = static_cast<std::ptrdiff_t>(n) - 1;
                Line<double> in(3 * n), out(2 * n, 7);
                auto* const from = in.data() + (is < 0 ? -is * last : 0);
                auto* const to = out.data() + (os < 0 ? -os * last : 0);
                for (std::size_t j = 0; j < n; ++j)
                    from[static_cast<std::ptrdiff_t>(j) * is] = line[j];
                fft(from, is, to, os, n, 1);
                fft(from, is, from, is, n, 1);
                Line<double> apart(n), in_place(n);
                for (std::size_t k = 0; k < n; ++k) {
                    apart[k] = to[static_cast<std::ptrdiff_t>(k) * os];
                    in_place[k] = from[static_cast<std::ptrdiff_t>(k) * is];
                }
                CHECK(apart == expected);
                CHECK(in_place == expected);
                if (os == 2)
                    for (std::size_t k = 0; k < n; ++k) REQUIRE(out[2 * k + 1] == 7.0);
            }
}

TEST_CASE_TEMPLATE("many lines at once are the lines one by one", T, float, double) {
    for (auto const n : Sizes{1, 2, 5, 24, 64, 89, 131, 300, 512})
        for (auto const count : Sizes{0, 1, 3, 17, 40}) {
            CAPTURE(n);
            CAPTURE(count);
            auto const lines = random_line<T>(n * count); // line i is row i
            auto const columns = static_cast<std::ptrdiff_t>(count),
                       length = static_cast<std::ptrdiff_t>(n);
            Line<T> by_rows(n * count), by_columns, from_rows(n * count), expected(n * count);
            for (std::size_t i = 0; i < count; ++i)
                fft(lines.data() + i * n, 1, expected.data() + i * n, 1, n, -1);
            if (count > 0) by_columns = transposed(lines, n);
            fft_many(lines.data(), 1, length, by_rows.data(), 1, length, n, count, -1);
            fft_many(lines.data(), 1, length, from_rows.data(), columns, 1, n, count, -1);
            fft_many(by_columns.data(), columns, 1, by_columns.data(), columns, 1, n, count, -1);
            if (count == 0) continue;
            CHECK(distance(by_rows, expected) < tolerance<T>(n));
            CHECK(distance(transposed(from_rows, count), expected) < tolerance<T>(n));
            CHECK(distance(transposed(by_columns, count), expected) < tolerance<T>(n));
        }
}

TEST_CASE("plans are kept, but not without limit, and each thread has its own") {
    auto const first = xgrad::detail::fft_plan<double>(60);
    CHECK(xgrad::detail::fft_plan<double>(60) == first);
    std::thread([&] { CHECK(xgrad::detail::fft_plan<double>(60) != first); }).join();
    for (std::size_t n = 100; n < 200; ++n) xgrad::detail::fft_plan<double>(n);
    CHECK(first.use_count() == 1);
    CHECK(xgrad::detail::fft_plan<double>(60) != first);

    auto const large = xgrad::detail::fft_plan<float>(std::size_t{1} << 20);
    for (std::size_t n = 0; n < 8; ++n) xgrad::detail::fft_plan<float>(100003 + n);
    CHECK(large->size() == 1 << 20);
}

TEST_CASE_TEMPLATE("a transpose writes the image and nothing else", T, float, double) {
    for (std::size_t rows = 1; rows < 40; ++rows)
        for (std::size_t columns = 1; columns < 40; ++columns) {
            auto const from_gap = columns + 1, to_gap = rows + 2;
            std::vector<T> from(rows * from_gap), to((columns + 1) * to_gap, -1), expected = to;
            for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < columns; ++j)
                    expected[j * to_gap + i] = from[i * from_gap + j];
            xgrad::detail::kernel::transpose(
                rows, columns, from.data(), from_gap, to.data(), to_gap);
            REQUIRE(to == expected);
        }
}

TEST_CASE("no points and no lines are no work") {
    fft<double>(nullptr, 1, nullptr, 1, 0, 1);
    fft_many<double>(nullptr, 1, 1, nullptr, 1, 1, 8, 0, 1);
}

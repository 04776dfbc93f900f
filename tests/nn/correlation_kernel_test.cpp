// The inner loops of convolutions against sums written out, for each width of registers that this
// processor has.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/nn/correlation_kernel.hpp>

namespace kernel = xgrad::detail::kernel;

namespace {

template <class T> std::vector<T> waves(std::size_t n, double k) {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i)
        all[i] = static_cast<T>(std::sin(k * static_cast<double>(i + 1)));
    return all;
}

template <class T> void check(T got, long double wanted) {
    CHECK(got == doctest::Approx(static_cast<double>(wanted))
                     .epsilon(100 * std::numeric_limits<T>::epsilon()));
}

} // namespace

TEST_CASE_TEMPLATE("sums over what windows see", T, float, double) {
    auto const numbers = waves<T>(400, 0.7);
    std::vector<std::ptrdiff_t> const offsets{0, 3, 40, 41, 90};
    for (auto const& loops : kernel::correlation_loops<T>())
        for (std::size_t const left : {1u, 2u, 5u, 20u})
            for (std::size_t const windows : {1u, 17u, 49u, 70u}) {
                std::size_t const rows = loops.rows_of(left),
                                  vectors = loops.vectors_of(rows, windows),
                                  gap = vectors * loops.lanes + 3;
                auto const factors = waves<T>(rows * offsets.size(), 1.1);
                std::vector<T> sums(rows * gap, T(7));
                loops.correlate(rows, vectors, offsets.size(), {offsets.data(), numbers.data() + 2},
                    factors.data(), gap, sums.data());
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t w = 0; w < gap; ++w) {
                        long double wanted = 0;
                        for (std::size_t p = 0; p < offsets.size(); ++p)
                            wanted += static_cast<long double>(factors[p * rows + r]) *
                                      numbers[2 + static_cast<std::size_t>(offsets[p]) + w];
                        if (w < vectors * loops.lanes) check(sums[r * gap + w], wanted);
                        else CHECK(sums[r * gap + w] == T(7));
                    }
            }
}

TEST_CASE_TEMPLATE("sums over windows", T, float, double) {
    auto const numbers = waves<T>(400, 0.7);
    std::vector<std::ptrdiff_t> const offsets{0, 3, 40, 41, 90, 90};
    kernel::WindowLines const windows{3, 19, 33};
    auto const seen = [&](std::size_t k, std::size_t line, std::size_t q) {
        return numbers[static_cast<std::size_t>(offsets[k]) + line * windows.pitch + q];
    };
    for (auto const& loops : kernel::correlation_loops<T>()) {
        for (std::size_t const left : {1u, 2u, 3u, 4u}) {
            std::size_t const vectors = loops.vectors_of_output(left),
                              gap = vectors * loops.lanes + loops.lanes;
            auto const output = waves<T>(windows.lines * windows.length * gap, 1.1);
            std::vector<T> sums(offsets.size() * gap, T(7));
            std::size_t const two = loops.taps_of_weigh(2), six = loops.taps_of_weigh(6);
            if (left == 3)
                for (std::size_t k = 0; k < offsets.size(); k += two)
                    loops.weigh(two, vectors, windows, {offsets.data() + k, numbers.data()},
                        output.data(), gap, sums.data() + k * gap);
            else
                loops.weigh(six, vectors, windows, {offsets.data(), numbers.data()}, output.data(),
                    gap, sums.data());
            for (std::size_t k = 0; k < offsets.size(); ++k)
                for (std::size_t o = 0; o < gap; ++o) {
                    long double wanted = 7;
                    for (std::size_t t = 0;
                         o < vectors * loops.lanes && t < windows.lines * windows.length; ++t)
                        wanted += static_cast<long double>(
                                      seen(k, t / windows.length, t % windows.length)) *
                                  output[t * gap + o];
                    check(sums[k * gap + o], wanted);
                }
        }
        std::size_t const gap = (windows.length + loops.lanes - 1) / loops.lanes * loops.lanes;
        auto const output = waves<T>(windows.lines * windows.length, 1.1);
        std::vector<T> lines(windows.lines * gap), sums(offsets.size(), T(7));
        for (std::size_t t = 0; t < output.size(); ++t)
            lines[t / windows.length * gap + t % windows.length] = output[t];
        for (std::size_t k = 0; k < offsets.size(); k += 3)
            loops.dot(loops.taps_of_dot(3), windows, {offsets.data() + k, numbers.data()},
                lines.data(), gap, sums.data() + k);
        for (std::size_t k = 0; k < offsets.size(); ++k) {
            long double wanted = 7;
            for (std::size_t t = 0; t < output.size(); ++t)
                wanted +=
                    static_cast<long double>(seen(k, t / windows.length, t % windows.length)) *
                    output[t];
            check(sums[k], wanted);
        }
    }
}

TEST_CASE("what no window sees adds nothing, whatever it is") {
    std::vector<std::ptrdiff_t> const offsets(9, 0);
    for (auto const& loops : kernel::correlation_loops<double>()) {
        std::vector<double> numbers(32 + loops.lanes, std::numeric_limits<double>::quiet_NaN()),
            sums(offsets.size());
        std::size_t const gap = (3 + loops.lanes - 1) / loops.lanes * loops.lanes;
        std::vector<double> lines(2 * gap);
        for (std::size_t q = 0; q < 3; ++q) {
            numbers[q] = numbers[10 + q] = 2;
            lines[q] = lines[gap + q] = 5;
        }
        loops.dot(loops.taps_of_dot(9), {2, 3, 10}, {offsets.data(), numbers.data()}, lines.data(),
            gap, sums.data());
        for (double const sum : sums) CHECK(sum == 60);
    }
}

// Values of reductions: axes, kept dimensions, ties, extremes, and sums of many numbers.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;

/// Calls f(reduced, elements) for each element of the result of a reduction: the numbers that it is
/// made of.
std::vector<std::vector<cd>> groups(Values const& x, std::vector<bool> const& reduced) {
    std::size_t out_size = 1;
    for (std::size_t d = 0; d < x.shape.size(); ++d) out_size *= reduced[d] ? 1 : x.shape[d];
    std::vector<std::vector<cd>> all(out_size);
    for (std::size_t k = 0; k < x.numbers.size(); ++k) {
        std::size_t at = 0, step = 1, rest = k;
        for (std::size_t d = x.shape.size(); d-- > 0; rest /= x.shape[d])
            if (!reduced[d]) at += rest % x.shape[d] * step, step *= x.shape[d];
        all[at].push_back(x.numbers[k]);
    }
    return all;
}

using Reduce = cd (*)(std::vector<cd> const&);

/// A reduction over every set of axes of an array, with and without keeping them, named from either
/// end.
template <class F> void check_axes(F f, xg::DType dtype, Reduce reduce) {
    for (auto const& shape :
        {xg::Shape{2, 3, 4}, xg::Shape{5}, xg::Shape{3, 1, 2}, xg::Shape{40, 3}, xg::Shape{3, 40},
            xg::Shape{2, 257}, xg::Shape{257, 2}, xg::Shape{}}) {
        auto const x = sample(dtype, shape, 7, 0.25, 2);
        for (unsigned set = 0; set < 1u << shape.size(); ++set) {
            std::vector<bool> reduced(shape.size());
            xg::Axes axes, negative;
            xg::Shape kept = shape, dropped;
            for (std::size_t d = 0; d < shape.size(); ++d)
                if ((reduced[d] = set >> d & 1)) {
                    axes.push_back(static_cast<std::ptrdiff_t>(d));
                    negative.insert(0,
                        static_cast<std::ptrdiff_t>(d) - static_cast<std::ptrdiff_t>(shape.size()));
                    kept[d] = 1;
                } else dropped.push_back(shape[d]);
            std::vector<cd> want;
            for (auto const& group : groups(x, reduced)) want.push_back(reduce(group));
            INFO(text(shape) << ", set of axes " << set);
            for (auto const& source : {leaf(x), strided_leaf(x)}) {
                CHECK(holds(f(source, axes, false), want, 1e-11));
                CHECK(holds(f(source, negative, true), want, 1e-11));
            }
            CHECK(f(leaf(x), axes, false).shape() == dropped);
            CHECK(f(leaf(x), axes, true).shape() == kept);
        }
    }
}

cd total(std::vector<cd> const& v) {
    cd s = 0;
    for (auto const x : v) s += x;
    return s;
}
std::vector<cd> mapped(std::vector<cd> v, cd (*f)(cd)) {
    for (auto& x : v) x = f(x);
    return v;
}
cd largest(std::vector<cd> const& v) {
    double best = -inf;
    for (auto const x : v) best = std::max(best, x.real());
    return best;
}

template <class T> auto reducing(auto f) {
    return [f](xg::AnyTensor const& x, xg::Axes const& axes, bool keep) -> xg::AnyTensor {
        return f(x.as<T>(), axes, keep);
    };
}

} // namespace

TEST_CASE("sum and mean reduce any set of axes") {
    check_axes(reducing<double>([](auto x, auto axes, bool keep) { return sum(x, axes, keep); }),
        xg::DType::float64, total);
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return sum(x, axes, keep); }),
        xg::DType::complex128, total);
    check_axes(reducing<double>([](auto x, auto axes, bool keep) { return mean(x, axes, keep); }),
        xg::DType::float64, [](auto const& v) { return total(v) / double(v.size()); });
    check_axes(
        reducing<double>([](auto x, auto axes, bool keep) { return sum(x * x, axes, keep); }),
        xg::DType::float64,
        [](auto const& v) { return total(mapped(v, [](cd z) { return z * z; })); });
}

TEST_CASE("amax, amin and prod reduce any set of axes") {
    check_axes(reducing<double>([](auto x, auto axes, bool keep) { return amax(x, axes, keep); }),
        xg::DType::float64, largest);
    check_axes(reducing<double>([](auto x, auto axes, bool keep) { return amin(x, axes, keep); }),
        xg::DType::float64,
        [](auto const& v) { return -largest(mapped(v, [](cd z) { return -z; })); });
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return prod(x, axes, keep); }),
        xg::DType::complex128, [](auto const& v) {
            cd p = 1;
            for (auto const x : v) p *= x;
            return p;
        });
}

TEST_CASE("logsumexp and norms reduce any set of axes") {
    check_axes(
        reducing<double>([](auto x, auto axes, bool keep) { return logsumexp(x, axes, keep); }),
        xg::DType::float64,
        [](auto const& v) { return std::log(total(mapped(v, [](cd z) { return std::exp(z); }))); });
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return norm(x, 2, axes, keep); }),
        xg::DType::complex128, [](auto const& v) {
            return std::sqrt(total(mapped(v, [](cd z) { return cd(std::norm(z)); })));
        });
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return norm(x, 1, axes, keep); }),
        xg::DType::complex128,
        [](auto const& v) { return total(mapped(v, [](cd z) { return cd(std::abs(z)); })); });
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return norm(x, 3, axes, keep); }),
        xg::DType::complex128, [](auto const& v) {
            return std::pow(
                total(mapped(v, [](cd z) { return cd(std::pow(std::abs(z), 3)); })), 1 / 3.);
        });
    check_axes(reducing<cd>([](auto x, auto axes, bool keep) { return norm(x, inf, axes, keep); }),
        xg::DType::complex128,
        [](auto const& v) { return largest(mapped(v, [](cd z) { return cd(std::abs(z)); })); });
}

TEST_CASE("ten million floats add up: the mean of 0.1f is 0.1f") {
    std::size_t const n = 10'000'000;
    auto const x = xg::full<float>({n}, 0.1f);
    CHECK(mean(x).item() == 0.1f);
    CHECK(sum(x).item() == static_cast<float>(0.1f * double(n)));
    CHECK(sum(x * 1.f).item() == static_cast<float>(0.1f * double(n)));
    CHECK(holds(mean(reshape(x, {1000, 10000}), {0}), std::vector<double>(10000, 0.1f), 1e-8));
    CHECK(holds(mean(reshape(x, {10000, 1000}), {1}), std::vector<double>(10000, 0.1f), 1e-8));
    CHECK(holds(
        mean(transpose(reshape(x, {10000, 1000})), {0}), std::vector<double>(10000, 0.1f), 1e-8));
    CHECK(norm(x).item() == doctest::Approx(0.1f * std::sqrt(double(n))).epsilon(1e-7));
    auto const z = xg::full<cf>({n}, cf(0.1f, -0.1f));
    CHECK(mean(z).item() == cf(0.1f, -0.1f));
}

TEST_CASE("millions of doubles add up without piling up errors") {
    std::size_t const n = 4'000'000;
    CHECK(std::abs(mean(xg::full({n}, 0.1)).item() / 0.1 - 1) < 1e-12);
    CHECK(std::abs(sum(sin(xg::full({n}, 1.))).item() / (std::sin(1.) * double(n)) - 1) < 1e-12);
}

TEST_CASE("extrema pass NaN on, and count infinities as numbers") {
    CHECK(holds(amax(D({1, NaN, 3})), {NaN}));
    CHECK(holds(amin(D({1, NaN, 3})), {NaN}));
    CHECK(holds(amax(D({NaN, 1, NaN})), {NaN}));
    CHECK(holds(amax(D({-inf, -inf})), {-inf}));
    CHECK(holds(amin(D({inf, inf})), {inf}));
    CHECK(holds(amax(D({{1, inf}, {NaN, 2}}), {0}), {NaN, inf}));
}

TEST_CASE("logsumexp neither overflows nor vanishes") {
    CHECK(holds(logsumexp(D({1000, 1000})), {1000 + std::log(2)}));
    CHECK(holds(logsumexp(D({-1000, -1000})), {-1000 + std::log(2)}));
    CHECK(holds(logsumexp(D({-inf, 3})), {3}));
    CHECK(holds(logsumexp(D({-inf, -inf})), {-inf}));
    CHECK(holds(logsumexp(D({inf, 3})), {inf}));
    CHECK(holds(logsumexp(D({NaN, 3})), {NaN}));
    CHECK(holds(logsumexp(xg::Tensor<cd>({cd(1000, 1), cd(1000, 1)})), {{1000 + std::log(2), 1}}));
}

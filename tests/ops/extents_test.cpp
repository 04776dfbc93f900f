// Extents that follow from others: what is larger than any memory is refused before anything is
// computed or written.
#include <doctest/doctest.h>

#include <xgrad/nn/conv.hpp>

#include <support/derivatives.hpp>

using namespace support;

namespace {
using D = xg::Tensor<double>;
constexpr std::size_t huge = std::size_t{1} << 58, half = std::size_t{1} << 32;

/// A tensor of that many elements which are all one number in memory.
D repeated(xg::Shape const& shape) { return D({1.}).expand(shape); }

void refused(auto f, std::initializer_list<std::string_view> parts) {
    CHECK(has(message_of<xg::ShapeError>(f), parts));
}
} // namespace

TEST_CASE("the parts of cat() may be more than there is") {
    // 64 times 2^58 is 2^64, which is 0 in 64 bits
    refused([] { xg::cat(std::vector<D>(64, repeated({huge}))); },
        {"cat", "more elements than any memory"});
    refused(
        [] { xg::stack(std::vector<D>(64, repeated({huge}))); }, {"more elements than any memory"});
}

TEST_CASE("operands that broadcast to more elements than there are addresses") {
    D const column = repeated({half, 1}), row = repeated({1, half});
    auto const all = [&](auto f) {
        refused([&] { f(column * row); },
            {"[4294967296, 4294967296]", "more elements than any memory"});
    };
    all([](auto const& e) { D const y = e; });
    all([](auto const& e) { sum(e); });
    all([](auto const& e) { mean(e); });
    all([](auto const& e) { prod(e); });
    all([](auto const& e) { norm(e); });
    all([](auto const& e) { amax(e); });
    all([](auto const& e) { var(e); });
    refused([&] { matmul(column, row); }, {"more elements than any memory"});
    refused([&] { repeated({1}).expand({half, half}); }, {"more elements than any memory"});
}

TEST_CASE("extents that are multiplied or added up") {
    constexpr std::size_t most = std::size_t{1} << 63;
    D const none = xg::zeros({0, 2});
    refused([&] { D const y = tile(D({1., 2.}), {most}); }, {"tile", "2 * 9223372036854775808"});
    refused([&] { D const y = tile(none, {1, most}); }, {"tile", "2 * 9223372036854775808"});
    refused([&] { D const y = repeat_interleave(none, most, 1); },
        {"repeat_interleave", "2 * 9223372036854775808"});
    refused([&] { D const y = pad(repeated({huge}), {0, std::ptrdiff_t{huge}}); }, {"pad"});
    auto const transposed = [] {
        xg::nn::functional::conv_transpose1d(
            repeated({1, 1, huge}), D({{{1.}}}), {}, {.stride = 64});
    };
    refused(transposed, {"conv_transpose1d", "* 64"});
}

TEST_CASE("a tensor whose size in bytes is no number") {
    constexpr auto all = ~std::size_t{0};
    for (auto const n : {all, all - 1, all / 8, all / 8 - 1, all / 16, all / 8 + 2}) {
        refused([&] { D::empty({n}); }, {"more elements than any memory"});
        refused([&] { xg::zeros({n}); }, {"more elements than any memory"});
        refused([&] { xg::Tensor<bool>::empty({n}); }, {"more elements than any memory"});
        refused([&] { D::empty({n, 2}); }, {"more elements than any memory"});
    }
    CHECK(D::empty({all, 0}).numel() == 0);
    CHECK(D::empty({0, all, all}).numel() == 0);
}

TEST_CASE("a slice with a step beyond the end has one position, and no step is taken") {
    constexpr auto farthest = std::numeric_limits<std::ptrdiff_t>::max();
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    D const y = x(xg::slice(1, {}, farthest), xg::slice({}, {}, farthest));
    CHECK(y.shape() == xg::Shape{1, 1});
    CHECK(y.item() == 4);
    CHECK(holds(xg::grad(y, x, {.gradients = {D({{1.}})}}), {0, 0, 0, 1, 0, 0}));
    CHECK(D(x(xg::slice(0, {}, 2))).strides()[0] == 3);
    D const none = xg::zeros({0, std::size_t{1} << 40, std::size_t{1} << 40});
    CHECK(none(xt::all(), xg::slice(5, {}, 1 << 30)).numel() == 0);
}

TEST_CASE("any strides of a tensor without elements are contiguous: its views are views") {
    D const x = xg::zeros({3, 0});
    D const t = x.transpose();
    CHECK(t.is_contiguous());
    auto const shares = [&](D const& v, xg::Shape const& shape) {
        CHECK(v.shape() == shape);
        CHECK(v.is_view());
        CHECK(v.impl().array.storage == x.impl().array.storage);
        CHECK(v.is_contiguous());
    };
    shares(t.view({2, 0}), {2, 0});
    shares(t.reshape({0, 5, 7}), {0, 5, 7});
    shares(flatten(t), {0});
    shares(squeeze(x.expand({1, 3, 0}).permute({2, 0, 1})), {0, 3});
    shares(unsqueeze(t, 1), {0, 1, 3});
    shares(x(xg::slice(0, 3, 2)).permute({1, 0}).view({4, 0}), {4, 0});
    D const wanted = xg::zeros({3, 0}, xg::requires_grad);
    D const y = wanted.t().view({2, 0});
    CHECK(xg::grad(y, wanted, {.gradients = {xg::zeros({2, 0})}}).shape() == xg::Shape{3, 0});
}

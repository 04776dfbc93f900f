// What returns several tensors is a std::tuple, a std::pair or derived from one: std::get,
// std::tie, std::apply and structured bindings take it.
#include <xgrad/linalg.hpp>
#include <xgrad/map.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/vmap.hpp>
#include <xgrad/xgrad.hpp>

#include "tensor/compare.hpp"

using I = xg::Tensor<std::int64_t>;

namespace {

/// The parts that std::get, std::apply and a copy have are the same tensors.
template <class R> bool is_like_a_tuple(R const& results) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        std::tuple<std::tuple_element_t<i, R>...> parts;
        parts = std::apply([](auto const&... each) { return std::tuple(each...); }, results);
        std::tuple<std::tuple_element_t<i, R>...> tied;
        std::tie(std::get<i>(tied)...) = R(results);
        return (std::get<i>(results).is_same(std::get<i>(parts)) && ...) &&
               (std::get<i>(R(results)).is_same(std::get<i>(tied)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<R>>());
}

} // namespace

TEST_CASE("each function of several results returns what std::get and std::tie take") {
    D const m = xg::rand({4, 4}), v = xg::rand({5}), image = xg::rand({1, 1, 4, 4}),
            series = xg::rand({5, 1, 3}), step = xg::rand({1, 3});
    auto const f = [](D const& a) { return sum(a * a); };
    CHECK(is_like_a_tuple(sort(v)));
    CHECK(is_like_a_tuple(topk(v, 2)));
    CHECK(is_like_a_tuple(median(m, 0)));
    CHECK(is_like_a_tuple(v.sort()));
    CHECK(is_like_a_tuple(v.topk(2)));
    CHECK(is_like_a_tuple(xg::linalg::svd(m)));
    CHECK(is_like_a_tuple(xg::linalg::qr(m)));
    CHECK(is_like_a_tuple(xg::linalg::eigh(m)));
    CHECK(is_like_a_tuple(xg::linalg::slogdet(m)));
    CHECK(is_like_a_tuple(xg::value_and_grad(f, v)));
    CHECK(is_like_a_tuple(xg::vjp(f, v)));
    CHECK(is_like_a_tuple(xg::jvp(f, v, v)));
    CHECK(is_like_a_tuple(xg::hvp(f, v, v)));
    CHECK(is_like_a_tuple(xg::map([](auto a) { return std::tuple(a, a * a, sin(a)); }, v)));
    CHECK(is_like_a_tuple(xg::nn::functional::max_pool2d_with_indices(image, 2)));
    CHECK(is_like_a_tuple(xg::nn::LSTM<double>(3, 2)(series)));
    CHECK(is_like_a_tuple(xg::nn::GRU<double>(3, 2)(series)));
    CHECK(is_like_a_tuple(xg::nn::LSTMCell<double>(3, 2)(step)));
    CHECK(is_like_a_tuple(xg::nn::MultiheadAttention<double>(4, 2)(
        D(m(xg::newaxis)), D(m(xg::newaxis)), D(m(xg::newaxis)))));
    CHECK(is_like_a_tuple(xg::vmap([](auto const& row) { return sort(row); })(m)));
}

TEST_CASE("what sort returns inside of vmap has names, and is a pair") {
    D const m({{3., 1., 2.}, {4., 6., 5.}});
    D const weighted = xg::vmap([](auto const& row) {
        auto const sorted = sort(row);
        auto const [values, indices] = topk(row, 1);
        return sum(std::get<0>(sorted) * row) + sum(sorted.values) + sum(values);
    })(m);
    CHECK(difference(weighted, D({3. + 2. + 6. + 6. + 3., 16. + 30. + 30. + 15. + 6.})) == "");
}

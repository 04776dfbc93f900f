// Datasets and DataLoader: order, reproducibility, collation, a thread that prefetches, and errors
// in it.
#include <atomic>
#include <set>

#include <xgrad/data.hpp>

#include "tensor/compare.hpp"

namespace data = xg::data;
using I = xg::Tensor<std::int64_t>;

namespace {

data::TensorDataset<double, std::int64_t> pairs(std::int64_t n) {
    return data::TensorDataset(
        D(xg::cast<double>(xg::arange<std::int64_t>(0, 2 * n))).reshape({n, 2}),
        xg::arange<std::int64_t>(0, n));
}

/// The second parts of all items, in the order of an epoch.
template <class Loader> std::vector<std::int64_t> epoch(Loader& loader) {
    std::vector<std::int64_t> all;
    for (auto const& [x, y] : loader) {
        for (std::size_t i = 0; i < y.numel(); ++i)
            CHECK(x(i, 1).item() == 2. * static_cast<double>(y(i).item()) + 1);
        auto const some = values(y);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

/// Numbers with a number of chance, with throws at one of them.
struct Noisy {
    std::size_t n, bad = 1000;
    std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
    std::size_t size() const { return n; }
    std::pair<int, double> operator[](std::size_t i) const {
        ++*calls;
        if (i == bad) throw std::runtime_error("item " + std::to_string(i) + " is bad");
        return {static_cast<int>(i), xg::rand({}).item()};
    }
};

} // namespace

TEST_CASE("batches in order, and what is left over") {
    for (std::size_t const prefetch : {0u, 1u, 3u}) {
        data::DataLoader all(pairs(7), {.batch_size = 3, .prefetch = prefetch});
        CHECK(all.size() == 3);
        CHECK(epoch(all) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
        data::DataLoader full(pairs(7), {.batch_size = 3, .drop_last = true, .prefetch = prefetch});
        CHECK(full.size() == 2);
        CHECK(epoch(full) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
    }
    data::DataLoader none(pairs(0));
    CHECK(epoch(none).empty());
    CHECK_THROWS_WITH_AS(data::DataLoader(pairs(1), {.batch_size = 0}),
        "DataLoader: the batch size must be positive", xg::Error);
}

TEST_CASE("a shuffled epoch is a permutation, another one each time, decided by the seed") {
    auto const epochs = [](data::LoaderOptions options) {
        options.batch_size = 4, options.shuffle = true;
        data::DataLoader loader(pairs(50), options);
        auto first = epoch(loader), second = epoch(loader);
        CHECK(first != second);
        CHECK(std::set(first.begin(), first.end()).size() == 50);
        first.insert(first.end(), second.begin(), second.end());
        return first;
    };
    CHECK(epochs({.prefetch = 0, .seed = 5}) == epochs({.prefetch = 2, .seed = 5}));
    CHECK(epochs({.seed = 5}) != epochs({.seed = 6}));
    xg::manual_seed(3);
    auto const a = epochs({}), b = epochs({});
    CHECK(a != b);
    xg::manual_seed(3);
    CHECK(epochs({.prefetch = 0}) == a);
    std::mt19937_64 generator(1);
    std::vector<int> first(6, 0);
    for (int i = 0; i < 6000; ++i) ++first[data::detail::permutation(6, generator)[0]];
    for (int const n : first) CHECK(std::abs(n - 1000) < 150); // five standard deviations
}

TEST_CASE("a dataset's own random numbers do not depend on the thread, and differ between epochs") {
    auto const noise = [](std::size_t prefetch) {
        data::DataLoader loader(Noisy{5}, {.batch_size = 2, .prefetch = prefetch, .seed = 1});
        std::vector<double> all;
        for (int e = 0; e < 2; ++e)
            for (auto const& [i, v] : loader)
                for (double const x : values(v)) all.push_back(x);
        return all;
    };
    auto const with = noise(2);
    CHECK(with == noise(0));
    CHECK(std::set(with.begin(), with.end()).size() == 10);
}

TEST_CASE("what a dataset throws comes out of the loop, after the batches before it") {
    for (std::size_t const prefetch : {0u, 2u}) {
        data::DataLoader loader(Noisy{10, 5}, {.batch_size = 2, .prefetch = prefetch});
        std::size_t batches = 0;
        auto const run = [&] {
            for ([[maybe_unused]] auto const& batch : loader) ++batches;
        };
        CHECK_THROWS_WITH_AS(run(), "item 5 is bad", std::runtime_error);
        CHECK(batches == 2);
    }
}

TEST_CASE("a loop may be left; no more is prepared than was asked for") {
    Noisy const dataset{1000};
    data::DataLoader loader(dataset, {.batch_size = 1, .prefetch = 3});
    for (int i = 0; i < 50; ++i)
        for (auto const& [n, v] : loader) {
            CHECK(n.item() == 0);
            break;
        }
    CHECK(*dataset.calls >= 50);
    CHECK(*dataset.calls <= 50 * (1 + 3 + 1)); // the first, those that wait, and one in the making
}

TEST_CASE("datasets made from others") {
    auto const doubled = data::map(pairs(6), [](D const& x, I const& y) {
        return std::tuple(D(2. * x), y, std::string(static_cast<std::size_t>(y.item()), 'a'));
    });
    data::DataLoader loader(data::subset(doubled, {4, 1}), {.batch_size = 2});
    for (auto const& [x, y, s] : loader) {
        CHECK(difference(x, {{16., 18.}, {4., 6.}}) == "");
        CHECK(difference(y, {4, 1}) == "");
        CHECK(s == std::vector<std::string>{"aaaa", "a"});
    }
    xg::manual_seed(0);
    auto const parts = data::random_split(pairs(10), {7, 3});
    std::set<std::size_t> numbers;
    for (auto const& part : parts) numbers.insert(part.indices().begin(), part.indices().end());
    CHECK(numbers.size() == 10);
    CHECK(parts[1].size() == 3);
    data::DataLoader part(parts[1], {.batch_size = 3});
    CHECK(epoch(part).size() == 3);
    CHECK_THROWS_WITH_AS(data::random_split(pairs(10), {7, 4}),
        "random_split: parts of [7, 4] are 11 items, and the dataset has 10", xg::Error);
    CHECK_THROWS_WITH_AS(data::random_split(pairs(2), {3, std::size_t(-1)}),
        "random_split: a part of 3 items is more than the dataset has, 2", xg::Error);
    CHECK_THROWS_WITH_AS(
        data::subset(pairs(10), {0}).get(4), "subset: there is no item 4 of 1", xg::IndexError);
    CHECK_THROWS_WITH_AS(data::subset(data::TensorDataset<double>(xg::zeros({10})), {0})
                             .get_batch(std::vector<std::size_t>{4}),
        "subset: there is no item 4 of 1", xg::IndexError);
    CHECK_THROWS_WITH_AS(
        data::subset(pairs(3), {3}), "subset: there is no item 3 of 3", xg::IndexError);
    CHECK_THROWS_WITH_AS(data::TensorDataset(D({1., 2.}), D({1.})),
        "TensorDataset: tensors of 2 and of 1 rows", xg::ShapeError);
}

TEST_CASE("items that a program collates itself, and tensors that require gradients") {
    D const w({{1.}, {2.}}, xg::requires_grad);
    data::DataLoader loader(std::vector<D>{w[0], w[1]}, {.batch_size = 2},
        [](std::vector<D> const& items) { return D(items[0] + items[1]); });
    for (D const& sum : loader) {
        CHECK(difference(sum, {3.}) == "");
        CHECK_FALSE(sum.requires_grad());
    }
}

TEST_CASE("a sampler decides which items an epoch has") {
    struct EverySecond : xg::data::Sampler {
        std::size_t epoch = 0;
        std::size_t size() const override { return 3; }
        std::vector<std::size_t> order() override {
            ++epoch;
            return {4 + epoch, 2, 0};
        }
    };
    xg::Tensor<double> const x({0., 1., 2., 3., 4., 5., 6.});
    auto const sampler = std::make_shared<EverySecond>();
    xg::data::DataLoader loader(
        xg::data::TensorDataset<double>(x), {.batch_size = 2, .sampler = sampler});
    CHECK(loader.size() == 2);
    for (double const first : {5., 6.}) {
        std::vector<double> seen;
        for (auto const& [batch] : loader)
            seen.insert(seen.end(), batch.data(), batch.data() + batch.numel());
        CHECK(seen == std::vector{first, 2., 0.});
    }
    CHECK_THROWS_WITH(loader.begin(), "DataLoader: a sampler gave item 7 of a dataset of 7");
    CHECK_THROWS_WITH(xg::data::DataLoader(xg::data::TensorDataset<double>(x),
                          {.shuffle = true, .sampler = sampler}),
        "DataLoader: sampler option is mutually exclusive with shuffle");
}

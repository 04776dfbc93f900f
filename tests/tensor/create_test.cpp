// Tensors made of constants, ranges and random numbers.
#include "compare.hpp"

TEST_CASE("zeros, ones and full fill a shape with one value, of the type asked for") {
    CHECK(difference(xg::zeros({2, 2}), {{0., 0.}, {0., 0.}}) == "");
    CHECK(difference(xg::ones<float>({2}), {1.f, 1.f}) == "");
    CHECK(difference(xg::full({2}, 2.5), {2.5, 2.5}) == "");
    CHECK(xg::full({}, 3.).item() == 3);
    CHECK(xg::ones<complex<double>>({}).item() == complex<double>(1, 0));
    CHECK(xg::zeros<std::int64_t>({3}).numel() == 3);
    CHECK(xg::ones<bool>({1}).item());
    CHECK(xg::zeros({2}, xg::requires_grad).requires_grad());
}

TEST_CASE("zeros_like and ones_like take shape and type, not memory or history") {
    D const x({{1., 2.}}, xg::requires_grad);
    D const z = xg::zeros_like(x), o = xg::ones_like(x);
    CHECK(difference(z, {{0., 0.}}) == "");
    CHECK(difference(o, {{1., 1.}}) == "");
    CHECK_FALSE(z.requires_grad());
    CHECK_FALSE(share_memory(z, x));
}

TEST_CASE("eye is the identity") {
    CHECK(difference(xg::eye(2), {{1., 0.}, {0., 1.}}) == "");
    CHECK(xg::eye(0).shape() == xg::Shape{0, 0});
}

TEST_CASE("arange stops before its end, in either direction, and refuses a step of 0") {
    CHECK(difference(xg::arange(0., 1., 0.25), {0., 0.25, 0.5, 0.75}) == "");
    CHECK(difference(xg::arange(0., 1.1, 0.25), {0., 0.25, 0.5, 0.75, 1.}) == "");
    CHECK(difference(xg::arange(3., 0., -1.), {3., 2., 1.}) == "");
    CHECK(xg::arange(3., 0.).numel() == 0);
    CHECK(values(xg::arange<std::int64_t>(-1, 3, 2)) == std::vector<std::int64_t>{-1, 1});
    CHECK_THROWS_AS(xg::arange(0., 1., 0.), xg::Error);
}

TEST_CASE("linspace includes both ends exactly") {
    CHECK(difference(xg::linspace(-1., 1., 5), {-1., -0.5, 0., 0.5, 1.}) == "");
    CHECK(values(xg::linspace(0., 0.3, 4)).back() == 0.3);
    CHECK(values(xg::linspace(2., 5., 1)) == std::vector<double>{2});
    CHECK(xg::linspace(0., 1., 0).numel() == 0);
}

TEST_CASE("one seed gives one sequence, another seed another") {
    xg::manual_seed(7);
    auto const a = values(xg::rand({4})), next = values(xg::rand({4}));
    auto const n = values(xg::randn({4}));
    xg::manual_seed(7);
    CHECK(values(xg::rand({4})) == a);
    CHECK(values(xg::rand({4})) == next);
    CHECK(values(xg::randn({4})) == n);
    CHECK(a != next);
    xg::manual_seed(8);
    CHECK(values(xg::rand({4})) != a);
}

TEST_CASE("rand is uniform on [0, 1)") {
    xg::manual_seed(1);
    auto const v = values(xg::rand({20000}));
    double sum = 0, squares = 0;
    for (double const u : v) {
        REQUIRE(u >= 0);
        REQUIRE(u < 1);
        sum += u;
        squares += u * u;
    }
    CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.02));
    CHECK(squares / 20000 == doctest::Approx(1. / 3).epsilon(0.02));
    for (float const u : values(xg::rand<float>({20000}))) REQUIRE(u < 1);
}

TEST_CASE("randn has mean 0 and variance 1, shared by the parts of a complex number") {
    xg::manual_seed(2);
    double sum = 0, squares = 0;
    for (double const u : values(xg::randn({20000}))) sum += u, squares += u * u;
    CHECK(std::abs(sum / 20000) < 0.03);
    CHECK(squares / 20000 == doctest::Approx(1).epsilon(0.04));
    double re = 0, im = 0;
    for (auto const z : values(xg::randn<complex<double>>({20000})))
        re += z.real() * z.real(), im += z.imag() * z.imag();
    CHECK(re / 20000 == doctest::Approx(0.5).epsilon(0.04));
    CHECK(im / 20000 == doctest::Approx(0.5).epsilon(0.04));
}

TEST_CASE("sizes that no memory has are refused") {
    std::size_t const none = 0, all = none - 1, bits = 8 * sizeof none;
    CHECK_THROWS_WITH_AS(
        xg::zeros({all}), doctest::Contains("has more elements than any memory"), xg::ShapeError);
    CHECK_THROWS_AS(xg::randn({all / 8 + 1}), xg::ShapeError);
    CHECK_THROWS_AS(xg::zeros({all / 4 + 2, 4}), xg::ShapeError);
    CHECK_THROWS_AS(D::empty({all >> bits / 3, all >> bits / 3}), xg::ShapeError);
    CHECK_THROWS_AS(reshape(xg::ones({4}), {std::ptrdiff_t(all / 4) + 2, 4}), xg::ShapeError);
    CHECK_THROWS_AS(broadcast_to(xg::ones({1}), {all / 8 + 1}), xg::ShapeError);
    CHECK(xg::zeros({none, all, all}).numel() == 0);
}

TEST_CASE("arange counts integers as such, and refuses what has no count") {
    CHECK(
        xg::arange<std::int64_t>(std::int64_t{1} << 60, (std::int64_t{1} << 60) + 3).numel() == 3);
    CHECK(xg::arange<std::int64_t>(7, 0, -3).numel() == 3);
    CHECK(xg::arange<std::int64_t>(0, 7, -3).numel() == 0);
    CHECK_THROWS_AS(xg::arange<std::int64_t>(INT64_MIN, INT64_MAX), xg::Error);
    for (double const stop : {HUGE_VAL, std::nan("")})
        CHECK_THROWS_AS(xg::arange(0., stop), xg::Error);
}

TEST_CASE("a shape, a list of axes and a list of indices take integers of any types side by side") {
    int const n = 2;
    unsigned const u = 3;
    std::int64_t const wide = 2;
    std::size_t const size = 2;
    D const y = xg::ones({size, u, n});
    CHECK(y.shape() == xg::Shape{2, 3, 2});
    CHECK(xg::zeros({n, n}).shape() == xg::Shape{2, 2});
    CHECK(reshape(y, {y.shape(0), -1}).shape() == xg::Shape{2, 6});
    CHECK(reshape(y, {y.shape(0), y.shape(1) * y.shape(2)}).shape() == xg::Shape{2, 6});
    CHECK(y.reshape({wide * u, -1}).shape() == xg::Shape{6, 2});
    CHECK(y.view({-1}).shape() == xg::Shape{12});
    CHECK(sum(y, {-1, 0u}).shape() == xg::Shape{3});
    CHECK(permute(y, {size, 0, n - 1}).shape() == xg::Shape{2, 2, 3});
    CHECK(y(n - 1, u - 1, -1).item() == 1);
    CHECK(y[size - 1].shape() == xg::Shape{3, 2});
    CHECK(xg::Shape({5}) == xg::Shape{5});
    CHECK(xg::Axes({-1}) == xg::Axes{-1});
    CHECK(xg::Shape(2, 7) == xg::Shape{7, 7});
    CHECK(xg::Shape(std::vector<int>{2, 3}) == xg::Shape{2, 3});
    CHECK(fftn(y, {0, 2}, {n, size + 1}).shape() == xg::Shape{2, 3, 3});
    auto const in_a_template = [](auto const& x) {
        return x.reshape(xg::Axes{-1}).shape() == xg::Shape{x.numel()};
    };
    CHECK(in_a_template(y));
}

TEST_CASE("a negative extent is an error, and an axis too large for its type as well") {
    int const n = -3;
    CHECK_THROWS_WITH_AS(xg::zeros({2, n}), "a shape has the negative extent -3", xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::ones(std::vector<int>{2, n}), "a shape has the negative extent -3", xg::ShapeError);
    CHECK_THROWS_AS(D({1., 2.}).reshape({xg::zeros({1}).shape(0) - 2}),
        xg::ShapeError); // an unsigned difference, not -1
    for (auto const& create : std::vector<std::function<void()>>{[&] { xg::linspace(0., 1., n); },
             [&] { xg::logspace(0., 1., n); }, [&] { xg::randperm(n); }})
        CHECK_THROWS_WITH_AS(create(),
            "an array of shape [-3] has more elements than any memory, or a negative extent",
            xg::ShapeError);
    CHECK_THROWS_WITH_AS(topk(D({1., 2.}), n),
        "topk: -3 elements were asked for along axis 0 of shape [2]", xg::IndexError);
}

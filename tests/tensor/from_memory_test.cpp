// Tensors of memory that is already there: from_blob(), borrow(), adopt(), and copies of ranges.
#include <array>
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#if __has_include(<xtensor/views/xview.hpp>)
#    include <xtensor/containers/xfixed.hpp>
#    include <xtensor/containers/xtensor.hpp>
#    include <xtensor/core/xmath.hpp>
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xfixed.hpp>
#    include <xtensor/xmath.hpp>
#    include <xtensor/xtensor.hpp>
#    include <xtensor/xview.hpp>
#endif

namespace xg = xgrad;
using D = xg::Tensor<double>;

TEST_CASE("from_blob: a tensor of a camera's buffer, with a gap at the end of each row") {
    std::vector<float> buffer(4 * 8, -1); // rows of 6 pixels, 8 apart
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t column = 0; column < 6; ++column)
            buffer[row * 8 + column] = static_cast<float>(10 * row + column);
    auto image = xg::from_blob(buffer.data(), {4, 6}, {8, 1});
    CHECK(image.strided_data() == buffer.data());
    CHECK(image.shape() == xg::Shape{4, 6});
    CHECK(image(2, 3).item() == 23);
    CHECK(sum(image).item() == 4 * 15 + 6 * (10 + 20 + 30));
    image *= 2.f; // writes to the buffer, and not to the gaps
    CHECK(buffer[2 * 8 + 3] == 46);
    CHECK(buffer[6] == -1);
    CHECK(buffer[15] == -1);

    image.requires_grad_();
    auto const loss = sum(image(0) * image(1));
    loss.backward();
    CHECK(image.grad()(0, 2).item() == buffer[8 + 2]);
    CHECK(image.grad()(3, 2).item() == 0);
    CHECK(buffer[2] == 4); // gradients did not touch the image
}

TEST_CASE("from_blob: column-major and broadcast strides") {
    std::vector<double> numbers{1, 2, 3, 4, 5, 6};
    auto const x = xg::from_blob(numbers.data(), {2, 3}, {1, 2});
    CHECK(D(x(0)).array() == xt::xarray<double>{1, 3, 5});
    auto const twice = xg::from_blob(numbers.data(), {2, 3}, {0, 1});
    CHECK(sum(twice).item() == 12);
    auto changed = twice;
    CHECK_THROWS_AS(changed += 1., xg::Error); // its elements overlap
    auto const none = xg::from_blob(static_cast<double*>(nullptr), {0, 3});
    CHECK(sum(none).item() == 0);
}

TEST_CASE("from_blob: the deleter runs once, when nothing needs the memory any more") {
    int deleted = 0;
    auto* const memory = new double[3]{1, 2, 3};
    D y;
    {
        auto x = xg::from_blob(memory, {3}, [&](double* p) {
            CHECK(p == memory);
            ++deleted;
            delete[] p;
        });
        x.requires_grad_();
        y = sum(x * x);
    }
    CHECK(deleted == 0); // saved for backward
    y.backward();
    y = D();
    CHECK(deleted == 1);
    // Nothing is taken where the call throws.
    double kept[2] = {1, 2};
    CHECK_THROWS_AS(xg::from_blob(kept, {2}, {1, 1}, [&](double*) { ++deleted; }), xg::ShapeError);
    CHECK(deleted == 1);
}

TEST_CASE("from_blob: what cannot be a tensor is refused") {
    alignas(8) char bytes[64] = {};
    auto* const odd = reinterpret_cast<double*>(bytes + 1);
    double* const null = nullptr;
    CHECK_THROWS_WITH_AS(xg::from_blob(null, {2}), "from_blob: the pointer is null", xg::Error);
    auto const bytes_needed = std::to_string(alignof(double)); // 4 on 32-bit x86
    CHECK_THROWS_WITH_AS(xg::from_blob(odd, {2}),
        ("from_blob: the pointer is not aligned to the " + bytes_needed +
            " bytes that elements of this type need")
            .c_str(),
        xg::Error);
    auto* const p = reinterpret_cast<double*>(bytes);
    CHECK_THROWS_WITH_AS(
        xg::from_blob(p, {2, 3}, {3}), "from_blob: 1 strides for shape [2, 3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::from_blob(p, {3}, {-1}),
        "from_blob: strides [-1] are negative; read the elements forwards, and reverse the tensor "
        "with flip()",
        xg::ShapeError);
    auto const huge = std::numeric_limits<std::ptrdiff_t>::max() / 4 + 1;
    CHECK_THROWS_AS(xg::from_blob(p, {3}, {huge}), xg::ShapeError);
    CHECK_THROWS_AS(xg::from_blob(p, {static_cast<std::size_t>(huge)}), xg::ShapeError);
}

TEST_CASE("from_blob: versions, views and saved tensors are those of any tensor") {
    std::vector<double> numbers{1, 2, 3, 4};
    auto x = xg::from_blob(numbers.data(), {2, 2});
    auto const before = x.version();
    auto row = x(1);
    row *= 10.;
    CHECK(x.version() == before + 1);
    CHECK(numbers == std::vector<double>{1, 2, 30, 40});
    D w = xg::ones({2, 2}).requires_grad_();
    D const y = w * x;
    x += 1.;
    CHECK_THROWS_AS(sum(y).backward(), xg::GraphError); // x was saved, and changed in place
    auto leaf = xg::from_blob(numbers.data(), {4}).requires_grad_();
    CHECK_THROWS_AS(leaf += 1., xg::GraphError);
}

TEST_CASE("a gradient of borrowed memory is not overwritten") {
    std::vector<double> weight{1, 10, 100};
    D const x = D({1., 2., 3.}, xg::requires_grad);
    D const y = x * x;
    y.backward(xg::borrow(weight));
    CHECK(x.grad().array() == xt::xarray<double>{2, 40, 600});
    CHECK(weight == std::vector<double>{1, 10, 100});
    D const z = xg::exp(x) * 1.;
    z.backward(xg::from_blob(weight.data(), {3}));
    CHECK(weight == std::vector<double>{1, 10, 100});
}

TEST_CASE("set_grad(borrow(mine)): backward() adds to the program's array") {
    xt::xarray<double> mine = {{1., 1., 1.}, {2., 2., 2.}};
    xt::xarray<double, xt::layout_type::column_major> columns = xt::ones<double>({2, 3});
    D x = D({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    for (int step = 1; step <= 2; ++step) {
        x.set_grad(xg::borrow(mine));
        sum(x * x).backward();
        CHECK(mine(1, 2) == 2 + step * 12.);
        CHECK(mine(0, 0) == 1 + step * 2.);
    }
    x.set_grad(xg::borrow(columns));
    sum(x * x * 0.5).backward();
    CHECK(columns(1, 0) == 5);
    CHECK(columns(0, 2) == 4);
}

TEST_CASE("borrow and adopt take xtensor's containers and views as they lie in memory") {
    SUBCASE("row-major") {
        xt::xarray<double> a = {{1., 2., 3.}, {4., 5., 6.}};
        auto x = xg::borrow(a);
        CHECK(x.data() == a.data());
        x(0, 1) = D(20.);
        CHECK(a(0, 1) == 20);
        a(1, 1) = 50;
        CHECK(x(1, 1).item() == 50);
    }
    SUBCASE("column-major, fixed rank, complex") {
        xt::xtensor<std::complex<double>, 2, xt::layout_type::column_major> a({2, 3});
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 3; ++j) a(i, j) = {double(i), double(j)};
        auto const* const memory = a.data();
        auto const x = xg::adopt(std::move(a));
        static_assert(std::is_same_v<decltype(x), xg::Tensor<std::complex<double>> const>);
        CHECK(x.strided_data() == memory);
        CHECK(x.shape() == xg::Shape{2, 3});
        CHECK(x(1, 2).item() == std::complex<double>(1, 2));
        CHECK(sum(abs2(x)).item() == 3 + 2 * 5);
    }
    SUBCASE("views") {
        xt::xarray<double> a = xt::arange<double>(24.).reshape({4, 6});
        auto const column = xg::borrow(xt::view(a, xt::all(), 2));
        CHECK(column.array() == xt::xarray<double>{2, 8, 14, 20});
        auto block = xg::borrow(xt::strided_view(a, {xt::range(1, 3), xt::range(0, 6, 2)}));
        CHECK(block.shape() == xg::Shape{2, 3});
        CHECK(block(1, 2).item() == 16);
        block *= -1.;
        CHECK(a(2, 4) == -16);
        CHECK(a(2, 3) == 15);
    }
    SUBCASE("the tensor keeps what it adopts") {
        D y;
        {
            xt::xarray<double> a = {1., 2., 3.};
            auto const x = xg::adopt(std::move(a)).requires_grad_();
            y = sum(x * x * x);
            y.backward();
            CHECK(x.grad().array() == xt::xarray<double>{3, 12, 27});
        }
        CHECK(y.item() == 36);
    }
}

TEST_CASE("borrow and adopt take vectors, arrays and spans") {
    std::vector<double> v{1, 2, 3, 4, 5, 6};
    CHECK(xg::borrow(v).shape() == xg::Shape{6});
    CHECK(xg::borrow(v, {2, 3})(1, 0).item() == 4);
    CHECK(xg::borrow(std::span(v).subspan(2)).array() == xt::xarray<double>{3, 4, 5, 6});
    std::array<float, 2> pair{1, 2};
    auto p = xg::borrow(pair);
    p += 1.f;
    CHECK(pair[1] == 3);
    CHECK_THROWS_WITH_AS(xg::borrow(v, {2, 4}),
        "borrow: shape [2, 4] needs 8 elements, and there are 6", xg::ShapeError);
    auto const* const memory = v.data();
    CHECK_THROWS_AS(xg::adopt(std::vector<double>(3), {2, 2}), xg::ShapeError);
    CHECK_THROWS_AS(xg::adopt(std::move(v), {4, 2}), xg::ShapeError);
    CHECK(v.size() == 6); // nothing was taken
    auto const kept = xg::adopt(std::move(v), {3, 2});
    CHECK(kept.data() == memory);
    CHECK(kept(2, 1).item() == 6);
}

TEST_CASE("borrow: what cannot be a tensor is refused") {
    alignas(8) char bytes[64] = {};
    auto* const odd = reinterpret_cast<double*>(bytes + 1);
    CHECK_THROWS_WITH_AS(xg::borrow(std::span(odd, 2)),
        doctest::Contains("borrow: the pointer is not aligned to the "), xg::Error);
    std::vector<double> numbers{1., 2., 3., 4.};
    xt::xarray<double> array = {1., 2., 3., 4.};
    auto reversed = xt::strided_view(array, {xt::range(3, xt::placeholders::_, -1)});
    CHECK_THROWS_AS(xg::borrow(reversed), xg::ShapeError);
    D x({1., 2., 3.}, xg::requires_grad);
    CHECK_THROWS_AS(x.set_grad(xg::borrow(numbers)), xg::ShapeError);
    CHECK(numbers == std::vector<double>{1., 2., 3., 4.});
}

TEST_CASE("versions, views and saved tensors of borrowed and adopted arrays") {
    auto const check = [](D x) {
        auto const before = x.version();
        auto row = x(1);
        row *= 10.;
        CHECK(x.version() == before + 1);
        CHECK(x(1, 0).item() == 30);
        D w = xg::ones({2, 2}).requires_grad_();
        D const y = w * x;
        x += 1.;
        CHECK_THROWS_AS(sum(y).backward(), xg::GraphError); // x was saved, and changed in place
        x.requires_grad_();
        CHECK_THROWS_AS(x += 1., xg::GraphError);
    };
    xt::xtensor<double, 2> mine = {{1., 2.}, {3., 4.}};
    check(xg::borrow(mine));
    CHECK(mine(1, 1) == 41);
    check(xg::adopt(xt::xarray<double>{{1., 2.}, {3., 4.}}));
    check(xg::adopt(xt::xtensor_fixed<double, xt::xshape<2, 2>>{{1., 2.}, {3., 4.}}));
    check(xg::adopt(std::vector<double>{1., 2., 3., 4.}, {2, 2}));
}

TEST_CASE("a tensor copies the numbers of a range or a pointer") {
    std::vector<int> const whole{1, 2, 3};
    D const x(whole);
    CHECK(x.array() == xt::xarray<double>{1, 2, 3});
    xg::Tensor const deduced(std::vector<float>{1, 2});
    static_assert(std::is_same_v<decltype(deduced), xg::Tensor<float> const>);
    xg::Tensor<bool> const mask(std::vector<bool>{true, false});
    CHECK(mask(0).item());
    CHECK(!mask(1).item());
    std::array<double, 2> const pair{1, 2};
    D const leaf(pair, xg::requires_grad);
    sum(leaf * leaf).backward();
    CHECK(leaf.grad().array() == xt::xarray<double>{2, 4});
    double const numbers[] = {1, 2, 3, 4, 5, 6};
    CHECK(D(numbers, {2, 3})(1, 2).item() == 6);
    CHECK(D(std::span(numbers)).shape() == xg::Shape{6});
    xg::Tensor<std::complex<double>> const z(std::vector<double>{1, 2});
    CHECK(z(1).item() == 2.);
}

TEST_CASE("a tensor copies xtensor's expressions of any layout, and lazy ones") {
    xt::xarray<double> const a = xt::arange<double>(12.).reshape({3, 4});
    auto const same = [](D const& x, xt::xarray<double> const& expected) {
        return x.array() == expected;
    };
    CHECK(same(D(xt::transpose(a)), xt::transpose(a)));
    CHECK(same(D(xt::view(a, xt::all(), xt::range(1, 4, 2))), {{1, 3}, {5, 7}, {9, 11}}));
    CHECK(same(D(xt::view(a, xt::keep(0, 2), xt::all())), {{0, 1, 2, 3}, {8, 9, 10, 11}}));
    CHECK(same(D(xt::view(a + 1., 1, xt::all())), {5, 6, 7, 8}));
    CHECK(same(D(xt::strided_view(a * 2., {xt::all(), 1})), {2, 10, 18}));
    CHECK(same(D(xt::strided_view(a, {1, xt::range(3, 0, -1)})), {7, 6, 5}));
    CHECK(same(D(xt::broadcast(a, {2, 3, 4})), xt::broadcast(a, {2, 3, 4})));
    CHECK(same(D(xt::xtensor_fixed<double, xt::xshape<2, 2>>{{1, 2}, {3, 4}}), {{1, 2}, {3, 4}}));
    xt::xarray<double, xt::layout_type::column_major> columns = xt::ones<double>({40, 50});
    for (std::size_t i = 0; i < 40; ++i)
        for (std::size_t j = 0; j < 50; ++j) columns(i, j) = double(100 * i + j);
    D const x(columns);
    CHECK(x.strides() == xg::Strides{50, 1});
    CHECK(x(39, 7).item() == 3907);
    xt::xarray<int> const whole = {{1, 2}, {3, 4}};
    CHECK(same(D(xt::transpose(whole)), {{1, 3}, {2, 4}}));
}

TEST_CASE("two tensors that share memory of the program are read before they are written") {
    std::vector<double> v(100);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = double(i);
    auto const front = xg::from_blob(v.data(), {99});
    auto back = xg::from_blob(v.data() + 1, {99});
    back += front;
    for (std::size_t i = 1; i < v.size(); ++i) CHECK(v[i] == double(i + i - 1));
}

TEST_CASE("views that lie nowhere in memory as one array, and vectors of bool, are copied") {
    xt::xarray<double> const a = {{1, 2, 3}, {4, 5, 6}};
    CHECK(D(xt::ravel(xt::transpose(a))).numel() == 6);
    CHECK(D(xt::flatten(xt::view(a, xt::all(), 1))).array() == xt::xarray<double>{2, 5});
    xt::xarray<double> b = a;
    CHECK(xg::borrow(xt::view(xt::view(b, 0), xt::range(1, 3)))(1).item() == 3);
    std::vector<double> numbers{1, 2, 3, 4};
    auto adapted = xg::borrow(xt::adapt(numbers, {2, 2}));
    adapted *= 2.;
    CHECK(numbers[3] == 8);
}

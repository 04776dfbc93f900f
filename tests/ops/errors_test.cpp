// What cannot be computed is refused with a message that names the operation and what it was given.
#include <doctest/doctest.h>

#include <support/values.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
D const v2 = xg::ones({2}), v3 = xg::ones({3}), m23 = xg::ones({2, 3}), m32 = xg::ones({3, 2}),
        cube = xg::ones({2, 3, 4});

template <class F> std::string shape_error(F f) { return message_of<xg::ShapeError>(f); }
template <class F> std::string index_error(F f) { return message_of<xg::IndexError>(f); }

} // namespace

TEST_CASE("operands that do not broadcast are named with their operation and both shapes") {
    CHECK(has(shape_error([] { D y = v2 + v3; }), {"+: ", "[2]", "[3]"}));
    CHECK(has(shape_error([] { D y = m23 * m32; }), {"*: ", "[2, 3]", "[3, 2]"}));
    CHECK(has(shape_error([] { D y = v2 / m23; }), {"/: ", "[2]", "[2, 3]"}));
    CHECK(has(shape_error([] { D y = atan2(v2, v3); }), {"atan2", "[2]", "[3]"}));
    CHECK(has(shape_error([] { xg::Tensor<bool> y = v2 < v3; }), {"<: ", "[2]", "[3]"}));
    CHECK(has(shape_error([] { D y = where(v2 > 0, v2, v3); }), {"where", "[2]", "[3]"}));
    CHECK(has(shape_error([] { D y = clamp(v3, v2, 1); }), {"clamp", "[2]", "[3]"}));
    CHECK(has(shape_error([] { D y = sin(v2) + exp(v2 * v3); }), {"*: ", "[2]", "[3]"}));
    CHECK(has(shape_error([] { sum(v2 * v3); }), {"*: ", "[2]", "[3]"}));
    CHECK(has(shape_error([] { D y = m23 + xg::ones({0, 2}); }), {"+: ", "[2, 3]", "[0, 2]"}));
}

TEST_CASE("products of matrices and vectors name both shapes") {
    CHECK(has(shape_error([] { matmul(m23, m23); }), {"matmul", "[2, 3]"}));
    CHECK(has(shape_error([] { matmul(v2, m32); }), {"matmul", "[2]", "[3, 2]"}));
    CHECK(has(shape_error([] { matmul(cube, v3); }), {"matmul", "[2, 3, 4]", "[3]"}));
    CHECK(has(shape_error([] { matmul(D(1.), v3); }), {"matmul", "[]", "[3]"}));
    CHECK(has(shape_error([] {
        matmul(cube, xg::ones({3, 4, 2}));
    }),
        {"matmul", "[2, 3, 4]", "[3, 4, 2]"}));
    CHECK(has(shape_error([] { dot(v2, v3); }), {"dot", "[2]", "[3]"}));
    CHECK(has(shape_error([] { vdot(m23, v3); }), {"vdot", "[2, 3]", "[3]"}));
    CHECK(has(shape_error([] { outer(v2, m23); }), {"outer", "[2]", "[2, 3]"}));
}

TEST_CASE("shapes that do not hold the elements, or do not fit, are named") {
    CHECK(has(shape_error([] { reshape(m23, {4, 2}); }), {"reshape", "[4, 2]", "[2, 3]"}));
    CHECK(has(shape_error([] { reshape(m23, {4, -1}); }), {"reshape", "[4, -1]", "[2, 3]"}));
    CHECK(has(shape_error([] { reshape(m23, {-1, -1}); }), {"reshape", "[-1, -1]"}));
    CHECK(has(shape_error([] { reshape(m23, {-2, 3}); }), {"reshape", "[-2, 3]"}));
    CHECK(has(index_error([] { permute(m23, {0, 1, 2}); }), {"permute", "axis 2"}));
    CHECK(has(shape_error([] { permute(m23, {0}); }), {"permute", "[0]", "2 axes"}));
    CHECK(has(index_error([] { permute(m23, {0, 0}); }), {"permute", "twice"}));
    CHECK(has(shape_error([] {
        broadcast_to(m23, {3, 3});
    }),
        {"broadcast_to", "[2, 3]", "[3, 3]"}));
    CHECK(has(shape_error([] { broadcast_to(m23, {3}); }), {"broadcast_to", "[2, 3]", "[3]"}));
    CHECK(has(shape_error([] {
        xg::cat<double>({m23, m32});
    }),
        {"cat", "[2, 3]", "[3, 2]", "axis 0"}));
    CHECK(has(shape_error([] { xg::cat<double>({m23, v3}); }), {"cat", "[2, 3]", "[3]"}));
    CHECK(has(shape_error([] { xg::cat<double>({}); }), {"cat"}));
    CHECK(has(shape_error([] { xg::stack<double>({v2, v3}); }), {"stack", "[2]", "[3]"}));
    CHECK(has(shape_error([] { xg::stack<double>({}); }), {"stack"}));
    CHECK(has(message_of<xg::ShapeError>([] { D({{1., 2.}, {3.}}); }), {"rows of 2 and of 1"}));
}

TEST_CASE("an axis out of range, or named twice, is told with the number of dimensions") {
    CHECK(has(index_error([] { sum(m23, {2}); }), {"sum", "axis 2", "2 dimensions"}));
    CHECK(has(index_error([] { mean(m23, {-3}); }), {"mean", "axis -3", "2 dimensions"}));
    CHECK(has(index_error([] { amax(m23, {0, -2}); }), {"amax", "twice"}));
    CHECK(has(index_error([] { amin(m23, {5}); }), {"amin", "axis 5"}));
    CHECK(has(index_error([] { prod(m23, {2}); }), {"prod", "axis 2"}));
    CHECK(has(index_error([] { logsumexp(m23, {2}); }), {"logsumexp", "axis 2"}));
    CHECK(has(index_error([] { norm(m23, 2, {2}); }), {"axis 2"}));
    CHECK(has(index_error([] { transpose(m23, 0, 2); }), {"transpose", "axis 2"}));
    CHECK(has(index_error([] { mT(v2); }), {"axis -2", "1 dimensions"}));
    CHECK(has(index_error([] { unsqueeze(m23, 4); }), {"unsqueeze", "axis 4"}));
    CHECK(has(index_error([] { squeeze(m23, 2); }), {"squeeze", "axis 2"}));
    CHECK(has(index_error([] { xg::cat<double>({m23}, 2); }), {"cat", "axis 2"}));
    CHECK(has(index_error([] { xg::stack<double>({m23}, 4); }), {"axis 4"}));
    CHECK(has(index_error([] { fft(m23, {}, 2); }), {"fft", "axis 2"}));
    CHECK(has(index_error([] { norm(m23, 2, {5}); }), {"norm", "axis 5"}));
    CHECK(has(index_error([] { fftn(m23, {0, 0}); }), {"fftn", "twice"}));
    CHECK(has(index_error([] { rfftn(m23, {1, -1}); }), {"rfftn", "twice"}));
    CHECK(has(index_error([] { irfftn(m23, {0, 0}); }), {"irfftn", "twice"}));
    CHECK(has(index_error([] { irfftn(m23, {0, 2}); }), {"irfftn", "axis 2"}));
    CHECK(has(index_error([] { m23.shape(2); }), {"axis 2"}));
}

TEST_CASE("transforms and norms refuse lengths and exponents that have no meaning") {
    CHECK(has(shape_error([] { fft(v3, 0); }), {"fft", "at least one point"}));
    CHECK(has(shape_error([] { rfft(v3, 0); }), {"rfft", "at least one point"}));
    CHECK(has(shape_error([] { rfft(v3, -1); }), {"rfft", "no -1 points", "fft(x, n, axis)"}));
    CHECK(has(shape_error([] { ifft(v3, -2); }), {"ifft", "no -2 points", "fft(x, n, axis)"}));
    CHECK(has(shape_error([] { irfft(xg::ones<cd>({1})); }), {"irfft", "at least one point"}));
    CHECK(has(shape_error([] { fftn(m23, {0, 1}, {4}); }), {"fftn", "1 lengths", "2 axes"}));
    CHECK(has(shape_error([] { rfftn(m23, {0, 1}, {4}); }), {"rfftn", "1 lengths", "2 axes"}));
    CHECK(has(shape_error([] { rfftn(D(1.)); }), {"rfftn", "without dimensions"}));
    CHECK(has(message_of([] { norm(v3, 0); }), {"norm", "positive"}));
    CHECK(has(message_of([] { norm(v3, -1.); }), {"norm", "positive"}));
    CHECK(has(message_of([] { norm(v3, NaN); }), {"norm", "positive"}));
}

TEST_CASE("every refusal is an xgrad::Error, and that is a std::runtime_error") {
    CHECK(message_of<xg::Error>([] { D y = v2 + v3; }) ==
          message_of<std::runtime_error>([] { D y = v2 + v3; }));
    CHECK(message_of<xg::Error>([] { sum(v2, {1}); }) != "nothing was thrown");
}

TEST_CASE("after a refusal the same tensors compute as before") {
    auto x = xg::ones({2}, xg::requires_grad);
    CHECK(shape_error([&] { D y = x * v3; }) != "nothing was thrown");
    D const y = x * 3;
    CHECK(holds(xg::grad(sum(y), x), {3, 3}));
}

TEST_CASE("sum_to takes only shapes that broadcast") {
    for (xg::Shape const& shape : {xg::Shape{2}, xg::Shape{1, 3, 1}, xg::Shape{1, 2}})
        CHECK(has(shape_error([&] { sum_to(v3, shape); }), {"sum_to", "[3]"}));
    CHECK(has(shape_error([] { sum_to(m23, {3, 3}); }), {"sum_to", "[2, 3]", "[3, 3]"}));
}

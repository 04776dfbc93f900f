// Gradients of parts of one tensor: those of views, diagonals, real and imaginary parts are summed,
// also with hooks on the Nodes between, in second order, and where the caller holds a gradient.
#include "graph/walk.hpp"

namespace {

/// Rows, overlapping and strided windows, and a column of x, each with a weight; and what each
/// element of x counts for in their sum.
D weighted_parts(D const& x) {
    D total = 0.5 * sum(x);
    for (std::ptrdiff_t i = 0; i < 4; ++i) total = total + static_cast<double>(i + 1) * sum(x(i));
    total = total + 10. * sum(x(xg::slice(1, 3))) +
            100. * sum(x(xg::slice({}, {}, 2), xg::slice(1))) + 1000. * sum(x(xt::all(), -1));
    return total + 10000. * sum(x.diagonal()) + 20000. * sum(x.diagonal(1));
}
D expected() {
    return {{10001.5, 20101.5, 1101.5}, {12.5, 10012.5, 21012.5}, {13.5, 113.5, 11113.5},
        {4.5, 4.5, 1004.5}};
}
D leaf() {
    D x = xg::arange(1., 13.).reshape({4, 3}).clone();
    return x.requires_grad_();
}

} // namespace

TEST_CASE("gradients of parts of a leaf meet in its grad") {
    D const x = leaf();
    weighted_parts(x).backward();
    CHECK(difference(x.grad(), expected()) == "");
    D const loss = weighted_parts(x);
    loss.backward({.retain_graph = true});
    loss.backward();
    CHECK(difference(x.grad(), expected() * 3.) == "");
    CHECK(difference(grad(weighted_parts(x), x), expected()) == "");
}

TEST_CASE("gradients of parts of a computed tensor meet, and its hooks see the sum once") {
    D const from = leaf();
    D x = from * 2.;
    x.retain_grad();
    std::vector<D> seen;
    x.register_hook([&](D const& g) { seen.push_back(g); });
    weighted_parts(x).backward();
    REQUIRE(seen.size() == 1);
    CHECK(difference(seen[0], expected()) == "");
    CHECK(difference(x.grad(), expected()) == "");
    CHECK(difference(from.grad(), expected() * 2.) == "");
}

TEST_CASE("hooks on parts, and on the Nodes that take them, run for each") {
    D const x = leaf();
    std::vector<std::string> calls;
    D total = sum(x);
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
        D row = x(i);
        if (i == 1)
            row.register_hook([&](D const& g) {
                calls.push_back("tensor");
                return D(g * 3.);
            });
        if (i == 2)
            row.grad_fn()->register_prehook([&](auto const&) { calls.push_back("before"); });
        if (i == 3)
            row.grad_fn()->register_hook(
                [&](std::vector<xg::AnyTensor> const& inputs, auto const&) {
                    calls.push_back("after");
                    CHECK(inputs.at(0).shape() == xg::Shape{4, 3});
                    return std::vector<xg::AnyTensor>{D(inputs[0].as<double>() * 5.)};
                });
        total = total + sum(row);
    }
    total.backward();
    CHECK(calls == std::vector<std::string>{"after", "before", "tensor"});
    CHECK(difference(x.grad(), {{2., 2., 2.}, {4., 4., 4.}, {2., 2., 2.}, {6., 6., 6.}}) == "");
}

TEST_CASE("gradients of parts can be differentiated again") {
    D const x = leaf();
    D cubes = sum(x * 0.);
    for (std::ptrdiff_t i = 0; i < 4; ++i) cubes = cubes + sum(x(i) * x(i) * x(i));
    D const first = grad(cubes, x, {.create_graph = true});
    CHECK(difference(first, D(3. * x * x).detach()) == "");
    D squares = sum(first(0));
    for (std::ptrdiff_t i = 1; i < 4; ++i)
        squares = squares + static_cast<double>(i + 1) * sum(first(i));
    D const rows({{1.}, {2.}, {3.}, {4.}});
    CHECK(difference(grad(squares, x), D(6. * x * rows).detach()) == "");
}

TEST_CASE("a gradient that somebody holds is not changed by those of parts") {
    D const from = leaf();
    D const x = from * 1.;
    D scaled = x * 2.;
    D held;
    scaled.register_hook([&](D const& g) { held = g; });
    D total = sum(scaled * expected());
    for (std::ptrdiff_t i = 0; i < 4; ++i) total = total + sum(x(i));
    total.backward();
    CHECK(difference(held, expected()) == "");
    CHECK(difference(from.grad(), expected() * 2. + 1.) == "");
}

TEST_CASE("gradients of real and imaginary parts meet in a complex one") {
    using Z = xg::Tensor<std::complex<double>>;
    Z z({{1., 2.}, {3., 4.}});
    z.requires_grad_();
    (sum(z.real()) + 2. * sum(z.imag()) + 3. * sum(z(0).real()) + 4. * sum(z.imag()(xt::all(), 1)))
        .backward();
    using c = std::complex<double>;
    CHECK(difference(z.grad(), {{c(4, 2), c(4, 6)}, {c(1, 2), c(1, 6)}}) == "");
}

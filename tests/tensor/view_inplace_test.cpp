// Changes in place through views of every kind, compared with products of the base and a selection
// matrix: value, gradient of base and operand, recorded gradient and second derivative.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;
using Tensor = xg::Tensor<double>;

namespace {

/// The matrix that takes the elements of a view out of those of its base, both in row-major order.
Tensor selection(xg::Shape const& shape, Tensor (*view)(Tensor const&)) {
    auto const n = static_cast<double>(xg::numel(shape));
    xg::NoGradGuard const off;
    Tensor const places = reshape(view(reshape(xg::arange(0., n), xg::Axes(shape))), {-1, 1});
    return xg::cast<double>(places == xg::arange(0., n));
}

/// How a view is taken, how it is changed, and the same change out of place: pointers, so that all
/// is compiled once.
using View = Tensor (*)(Tensor const&);
struct Change {
    char const* name;
    void (*in_place)(Tensor&, Tensor const&);
    Tensor (*out_of_place)(Tensor const&, Tensor const&);
};
Change const changes[] = {
    {"+=", [](Tensor& x, Tensor const& b) { x += b; },
        [](Tensor const& x, Tensor const& b) { return Tensor(x + b); }},
    {"*=", [](Tensor& x, Tensor const& b) { x *= b; },
        [](Tensor const& x, Tensor const& b) { return Tensor(x * b); }},
    {"exp_", [](Tensor& x, Tensor const&) { x.exp_(); },
        [](Tensor const& x, Tensor const&) { return Tensor(exp(x)); }},
    {"copy_", [](Tensor& x, Tensor const& b) { x.copy_(sin(b)); },
        [](Tensor const& x, Tensor const& b) { return Tensor(x * 0 + sin(b)); }},
    {"copy_ of itself", [](Tensor& x, Tensor const& b) { x.copy_(x * x * b); },
        [](Tensor const& x, Tensor const& b) { return Tensor(x * x * b); }},
    {"fill_", [](Tensor& x, Tensor const&) { x.fill_(0.5); },
        [](Tensor const& x, Tensor const&) { return Tensor(x * 0 + 0.5); }},
    {"two changes", [](Tensor& x, Tensor const& b) { x *= b, x += x; },
        [](Tensor const& x, Tensor const& b) { return Tensor(2 * x * b); }},
};

/// A tensor that is no view, with its axes in memory in reverse order.
Tensor with_axes_reversed(Tensor const& x) {
    Tensor y = xg::zeros(xg::Shape(x.shape().rbegin(), x.shape().rend())).t().detach();
    return y += x;
}

CheckResult takes(Change const& change, View view, xg::Shape const& shape, xg::Shape const& operand,
    bool reversed) {
    auto const in_place = [=](Tensor const& leaf, Tensor const& b) {
        Tensor const base = reversed ? with_axes_reversed(leaf) : leaf.clone();
        Tensor part = view(base);
        change.in_place(part, b);
        return Tensor(base * sum(view(base) * part));
    };
    auto const out_of_place = [=](Tensor const& x, Tensor const& b) {
        auto const select = selection(shape, view);
        auto const part = view(x.detach()).shape();
        Tensor const flat = reshape(x, {-1}), old = matmul(select, flat);
        Tensor const written =
            reshape(broadcast_to(change.out_of_place(reshape(old, xg::Axes(part)), b), part), {-1});
        return Tensor(reshape(Tensor(flat + matmul(transpose(select), Tensor(written - old))),
                          xg::Axes(shape)) *
                      sum(written * written));
    };
    Point const at{sample(xg::DType::float64, shape, 1, 0.25, 2),
        sample(xg::DType::float64, operand, 2, 0.5, 1.5)};
    auto const v = agrees_with(function_of<double, double>(in_place),
        function_of<double, double>(out_of_place), at, 1e-11);
    return v ? v
             : CheckResult{
                   std::string(change.name) + (reversed ? " of a strided base: " : ": ") + v.wrong};
}

CheckResult takes_changes(View view, xg::Shape const& shape = {3, 4}) {
    auto const part = view(Tensor(xg::zeros(shape))).shape();
    for (auto const& change : changes)
        for (auto const& operand :
            {part, xg::Shape{}, part.empty() ? xg::Shape{} : xg::Shape{part.back()}})
            for (bool const reversed : {false, true})
                if (auto const v = takes(change, view, shape, operand, reversed); !v) return v;
    return {};
}

} // namespace

TEST_CASE("parts by index and slice") {
    CHECK(takes_changes([](Tensor const& x) { return x[1]; }));
    CHECK(takes_changes([](Tensor const& x) { return x(xt::all(), -1); }));
    CHECK(takes_changes([](Tensor const& x) { return x(2, 1); }));
    CHECK(
        takes_changes([](Tensor const& x) { return x(xg::slice(0, 3, 2), xg::slice(1, {}, 2)); }));
    CHECK(takes_changes([](Tensor const& x) { return x(xt::all(), xt::newaxis(), xg::slice(2)); }));
    CHECK(takes_changes([](Tensor const& x) { return x(xt::ellipsis()); }));
}

TEST_CASE("axes in another order and other shapes") {
    CHECK(takes_changes([](Tensor const& x) { return x.t(); }));
    CHECK(takes_changes([](Tensor const& x) { return x.permute({2, 0, 1}); }, {2, 3, 4}));
    CHECK(takes_changes([](Tensor const& x) { return x.transpose(0, 2); }, {2, 3, 4}));
    CHECK(takes_changes([](Tensor const& x) { return x.reshape({3, 2, 1, 2}); }));
    CHECK(takes_changes([](Tensor const& x) { return x.view({3, 2, 2}); }));
    CHECK(takes_changes([](Tensor const& x) { return unsqueeze(x, 1); }));
}

TEST_CASE("diagonals") {
    CHECK(takes_changes([](Tensor const& x) { return x.diagonal(); }));
    CHECK(takes_changes([](Tensor const& x) { return x.diagonal(1); }));
    CHECK(takes_changes([](Tensor const& x) { return x.diagonal(-2); }));
    CHECK(takes_changes([](Tensor const& x) { return x.diagonal(0, 2, 0); }, {2, 3, 4}));
}

TEST_CASE("views of views") {
    CHECK(takes_changes([](Tensor const& x) { return x.t()[1]; }));
    CHECK(takes_changes([](Tensor const& x) { return x(xg::slice(1)).t()(xg::slice(0, 4, 2)); }));
    CHECK(takes_changes([](Tensor const& x) { return x.t().permute({1, 0}).diagonal(-1); }));
    CHECK(takes_changes([](Tensor const& x) { return x[1](xg::slice(1, 3)); }));
    CHECK(takes_changes([](Tensor const& x) { return unsqueeze(x, 1)(2, 0)(xg::slice(0, 4, 3)); }));
    CHECK(takes_changes([](Tensor const& x) {
        return x.expand({2, 3, 4})(1, xt::all(), xg::slice(1, 3));
    }));
}

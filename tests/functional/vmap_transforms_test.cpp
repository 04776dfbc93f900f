// vmap() and the transforms of functional/, in both orders and nested; options, structures, errors.
#include <xgrad/map.hpp>

#include "functional/vmap_check.hpp"

namespace {

struct Warnings {
    std::vector<std::string> texts;
    xg::WarningHandler before =
        xg::set_warning_handler([this](std::string const& t) { texts.push_back(t); });
    ~Warnings() { xg::set_warning_handler(before); }
};
template <class Error, class F> std::string message_of(F const& f) {
    try {
        f();
    } catch (Error const& error) { return error.what(); }
    return "no error";
}
bool near(D const& a, D const& b) {
    return a.shape() == b.shape() && xg::allclose(a, b, 1e-9, 1e-12);
}
/// f(i) for i < 3, stacked.
template <class F> D rows(F const& f) {
    return xg::stack(std::vector<D>{D(f(0)), D(f(1)), D(f(2))});
}

auto const number = [](auto const& x) { return sum(sin(x) * x * x) + prod(x); };
auto const vector = [](auto const& x) { return x(xg::slice(0, 2)) * exp(-x(xg::slice(1, 3))); };

} // namespace

TEST_CASE("vmap of derivatives of a map with several results, of which one operand broadcasts") {
    auto const f = [](auto const& v) {
        auto const [p, q] =
            xg::map([](auto a, auto b) { return std::pair(a * b * b, exp(a - b)); }, v, v(0));
        return sum(p * q * v);
    };
    D const x = some({3, 4}).detach();
    CHECK(near(xg::vmap(xg::grad(f))(x), rows([&](int i) { return xg::grad(f)(D(x(i))); })));
    CHECK(near(xg::vmap(xg::hessian(f))(x), rows([&](int i) { return xg::hessian(f, D(x(i))); })));
}
TEST_CASE("vmap of transforms") {
    D const x = some({3, 3}).detach(), v = some({3, 3}, 2.).detach();
    CHECK(near(
        xg::vmap(xg::grad(number))(x), rows([&](int i) { return xg::grad(number)(D(x(i))); })));
    CHECK(near(xg::vmap(xg::hessian(number))(x),
        rows([&](int i) { return xg::hessian(number, D(x(i))); })));
    CHECK(near(xg::vmap(xg::jacobian(vector))(x),
        rows([&](int i) { return xg::jacobian(vector, D(x(i))); })));
    CHECK(near(xg::vmap(xg::jacfwd(vector))(x),
        rows([&](int i) { return xg::jacobian(vector, D(x(i))); })));
    auto const [value, gradient] = xg::vmap(xg::value_and_grad(number))(x);
    CHECK(near(value, rows([&](int i) { return number(D(x(i))); })));
    CHECK(near(gradient, xg::vmap(xg::grad(number))(x)));
    CHECK(near(xg::vmap(xg::hvp(number))(x, v).second,
        rows([&](int i) { return xg::hvp(number, D(x(i)), D(v(i))).second; })));
    CHECK(near(xg::vmap(xg::hvp(number))(x, v).first, value));
    CHECK(near(xg::vmap(xg::vhp(number))(x, v).second, xg::vmap(xg::hvp(number))(x, v).second));
    CHECK(near(xg::vmap(xg::jvp(vector))(x, v).second,
        rows([&](int i) { return xg::jvp(vector, D(x(i)), D(v(i))).second; })));
    auto const pulled =
        xg::vmap([](auto const& a, auto const& b) { return xg::vjp(vector, a, b).second; });
    CHECK(near(pulled(x, D(v(xg::all, xg::slice(0, 2)))),
        rows([&](int i) { return xg::vjp(vector, D(x(i)), D(v(i, xg::slice(0, 2)))).second; })));
    auto const twice =
        xg::vmap(xg::grad([](auto const& a) { return sum(square(xg::grad(number)(a))); }));
    CHECK(near(twice(x), rows([&](int i) {
        D const a(x(i));
        return 2. * matmul(xg::hessian(number, a), xg::grad(number)(a));
    })));
}

TEST_CASE("inputs() of an example, a tensor and a number") {
    D const x = some({3, 3}).detach(), c = some({3}, 2.).detach();
    auto const f = [](auto const& a, auto const& b) { return sum(sin(a) * b * b); };
    auto const [a, b] = xg::vmap(
        [&](auto const& each) { return xg::value_and_grad(f, xg::inputs(each, c)).second; })(x);
    CHECK(near(a, D(cos(x) * c * c)));
    CHECK(near(b, D(2. * sin(x) * c)));
    auto const swapped = xg::vmap([&](auto const& each) {
        return std::get<0>(xg::value_and_grad(f, xg::inputs(c, each * 2.)).second);
    })(x);
    CHECK(near(swapped, D(4. * cos(c) * x * x)));
    CHECK(near(std::get<1>(xg::value_and_grad(f, xg::inputs(c, 3.)).second), D(sum(6. * sin(c)))));
}

TEST_CASE("jacobian and hessian take the examples as rows") {
    D const x = some({3, 3}).detach();
    auto const matrix = [](auto const& a) { return outer(vector(a), a) * sum(a); };
    auto const by_loop = rows([&](int i) { return xg::jacobian(matrix, D(x(i))); });
    for (auto const mode : {xg::Mode::forward, xg::Mode::reverse, xg::Mode::automatic})
        CHECK(near(
            xg::vmap([&](auto const& a) { return xg::jacobian(matrix, a, {.strategy = mode}); })(x),
            by_loop));
    auto const two = [](auto const& a, auto const& b) { return std::tuple(a * sum(b), dot(a, b)); };
    auto const blocks = xg::vmap<0, xg::unmapped>([&](auto const& a, auto const& b) {
        return xg::jacobian(two, std::tuple(a, b));
    })(x, D(x(0)));
    CHECK(near(std::get<1>(std::get<0>(blocks)), rows([&](int i) {
        return xg::broadcast_to(unsqueeze(D(x(i)), 1), {3, 3});
    })));
    CHECK(near(std::get<1>(std::get<1>(blocks)), x));
    CHECK(message_of<xg::GraphError>([&] {
        xg::vmap([&](auto const& a) { return xg::jacobian(vector, a, {.rows = true}); })(x);
    }).find("the examples are the rows") != std::string::npos);
}

TEST_CASE("transforms of vmap") {
    D const x = some({3, 3}).detach();
    auto const all = [](D const& a) { return sum(square(xg::vmap(number)(a))); };
    auto const loop = [](D const& a) {
        return sum(square(rows([&](int i) { return number(D(a(i))); })));
    };
    CHECK(near(xg::grad(all)(x), xg::grad(loop)(x)));
    CHECK(near(xg::hessian(all, x), xg::hessian(loop, x)));
    CHECK(near(xg::hvp(all, x, x).second, xg::hvp(loop, x, x).second));
    CHECK(near(xg::jacobian(xg::vmap(vector), x),
        xg::jacobian([](D const& a) { return rows([&](int i) { return vector(D(a(i))); }); }, x)));
    CHECK(near(xg::jvp(xg::vmap(vector), x, x).second, xg::vmap(xg::jvp(vector))(x, x).second));
    // gradients of gradients of examples
    auto const norms = [](D const& a) { return sum(square(xg::vmap(xg::grad(number))(a))); };
    CHECK(near(xg::grad(norms)(x), rows([&](int i) {
        D const a(x(i));
        return 2. * matmul(xg::hessian(number, a), xg::grad(number)(a));
    })));
    auto const curvature = [](D const& a) {
        return sum(square(xg::vmap(xg::jacobian(vector))(a)));
    };
    CHECK(near(xg::grad(curvature)(x), rows([&](int i) {
        return xg::grad([](D const& a) { return sum(square(xg::jacobian(vector, a))); })(D(x(i)));
    })));
    D const leaf = D(x.clone()).requires_grad_();
    auto const g = xg::vmap([](auto const& a) {
        return xg::value_and_grad(number, a, {.create_graph = true}).second;
    })(leaf);
    CHECK(near(xg::grad(sum(square(g)), leaf), xg::grad(norms)(x)));
}

TEST_CASE("gradients of each example, for shared parameters") {
    D const x = some({3, 4}).detach(), y = some({3}, 1.).detach(), w = some({4}, 2.).detach(),
            b(0.3);
    auto const loss = [](auto const& w, auto const& b, auto const& x, auto const& y) {
        return square(dot(w, x) + b - y);
    };
    auto const by_loop = [&](int i) { return xg::grad<0>(loss)(w, b, D(x(i)), D(y(i))); };
    auto const g = xg::vmap<xg::unmapped, xg::unmapped, 0, 0>(xg::grad<0>(loss))(w, b, x, y);
    CHECK(near(g, rows(by_loop)));
    auto const [to_w, to_b] =
        xg::vmap<xg::unmapped, xg::unmapped, 0, 0>(xg::grad<0, 1>(loss))(w, b, x, y);
    CHECK(near(to_w, g));
    CHECK(to_b.shape() == xg::Shape{3});
    auto const captured = xg::vmap([&](auto const& xi, auto const& yi) {
        return xg::grad([&](auto const& p) { return loss(p, b, xi, yi); })(w);
    });
    CHECK(near(captured(x, y), g));
    auto const second = xg::vmap([&](auto const& xi) {
        return xg::hessian([&](auto const& p) { return exp(dot(p, xi)); }, w);
    })(x);
    CHECK(near(second, rows([&](int i) {
        D const xi(x(i));
        return exp(dot(w, xi)) * outer(xi, xi);
    })));
}

TEST_CASE("vmap nests") {
    D const x = some({3, 4}), y = some({5, 4}, 1.), m = some({3, 2, 4});
    auto const distance = [](auto const& a, auto const& b) { return norm(a - b); };
    auto const pairs = xg::vmap(
        [&](auto const& a) { return xg::vmap([&](auto const& b) { return distance(a, b); })(y); });
    D const d = pairs(x);
    CHECK(near(d, sqrt(sum(square(x(xg::all, xg::newaxis) - y), 2))));
    auto const table = xg::vmap<0, xg::unmapped>(xg::vmap<xg::unmapped, 0>(distance));
    CHECK(near(table(x, y), d));
    CHECK(near(xg::grad(sum(square(table(x, y))), x), xg::grad(sum(square(d)), x)));
    CHECK(near(xg::vmap(xg::vmap(number))(m), sum(sin(m) * m * m, 2) + prod(m, 2)));
    D const flipped = xg::vmap([&](auto const& a) {
        return xg::vmap([&](auto const& b) { return matmul(outer(b, a), a) + b; })(y);
    })(x);
    CHECK(near(flipped, y * (1. + sum(x * x, 1))(xg::all, xg::newaxis, xg::newaxis)));
    CHECK(near(xg::vmap(xg::vmap(xg::grad(number)))(m),
        xg::grad([](D const& a) { return sum(xg::vmap(xg::vmap(number))(a)); })(m)));
    D const s = xg::vmap([&](auto const& a) {
        return xg::vmap([&](auto const& b) { return sort(b * a(0)).values; })(y);
    })(x);
    CHECK(near(s, sort(x(xg::all, 0)(xg::all, xg::newaxis, xg::newaxis) * y).values));
}

TEST_CASE("axes of arguments and results, and what is passed on") {
    D const x = some({4, 3}), w = some({4}, 1.);
    auto const f = [](auto const& a, auto const& b) { return a * b + 1.; };
    CHECK(near(xg::vmap<1, xg::unmapped>(f)(x, w), mT(x) * w + 1.));
    CHECK(near(xg::vmap<-1, xg::unmapped>(f, {.out_axes = 1})(x, w), mT(mT(x) * w + 1.)));
    CHECK(near(xg::vmap<1, xg::unmapped>(f, {.out_axes = -1})(x, w), mT(mT(x) * w + 1.)));
    CHECK(near(xg::vmap<0, 0>(f)(x, w), x * w(xg::all, xg::newaxis) + 1.));
    CHECK(near(xg::vmap([&](auto const&) { return w; })(x), xg::broadcast_to(w, {4, 4})));
    CHECK(near(xg::vmap([&](auto const&) { return w * 2.; }, {.out_axes = 1})(x),
        mT(xg::broadcast_to(w * 2., {4, 4}))));
    CHECK(near(xg::vmap([](auto const& a, double c) { return a * c; })(x, 2.), x * 2.));
    auto const [p, q] = xg::vmap([](auto const& a) { return std::tuple(sum(a), a * 2.); })(x);
    CHECK(near(p, sum(x, 1)));
    CHECK(near(q, x * 2.));
    auto const pair = xg::vmap(
        [](auto const& parts) { return std::pair(std::get<0>(parts) * std::get<1>(parts), 1.); });
    auto const [product, one] = pair(std::tuple(x, w));
    CHECK(near(product, x * w(xg::all, xg::newaxis)));
    CHECK(one.shape() == xg::Shape{4});
    auto const total =
        xg::vmap([](auto const& list) { return list[0] + list[1]; })(std::vector<D>{x, x * 2.});
    CHECK(near(total, x * 3.));
    CHECK(near(xg::vmap([](auto const& a) { return a; })(x * 2.), x * 2.));
    D const held = x.detach().clone();
    D const grown = xg::vmap([&](auto a) {
        a += w(xg::slice(0, 3));
        return a;
    })(held);
    CHECK(near(grown, held));
    CHECK(near(held, x + w(xg::slice(0, 3))));

    // a slice is a part of the examples; what an index tensor gathers is a copy
    xg::Tensor<std::int64_t> const index({2, 0});
    auto const [whole, copy] = xg::vmap([&](auto const& a) {
        auto b = a.clone();
        b(0) += 10.;
        b[1] *= 2.;
        auto c = b(index);
        c += 1.;
        return std::tuple(b, c);
    })(held);
    CHECK(near(whole, held * D({1., 2., 1.}) + D({10., 0., 0.})));
    CHECK(near(copy, whole(xg::all, index) + 1.));
}

TEST_CASE("no examples") {
    D const none = xg::zeros<double>({0, 3});
    CHECK(xg::vmap(number)(none).shape() == xg::Shape{0});
    CHECK(xg::vmap([](auto const& a) { return outer(a, a).reshape(-1); })(none).shape() ==
          xg::Shape{0, 9});
    CHECK(xg::vmap(xg::grad(number))(none).shape() == xg::Shape{0, 3});
    CHECK(xg::vmap(xg::hessian(number))(none).shape() == xg::Shape{0, 3, 3});
    CHECK(message_of<xg::ShapeError>([&] { xg::vmap(xg::looped(number))(none); }) ==
          "vmap: there are no examples (levels [0]), and only a call of a function that is looped "
          "over says the shape of its result");
}

TEST_CASE("a function of tensors is looped over with a warning") {
    D const x = some({3, 3});
    auto const of_tensors = [](D const& a) { return a(0).item() > 1. ? D(a * 2.) : D(a * a); };
    Warnings warnings;
    D const y = xg::vmap(of_tensors)(x);
    CHECK(near(y, rows([&](int i) { return of_tensors(D(x(i))); })));
    REQUIRE(warnings.texts.size() == 1);
    CHECK(warnings.texts[0] == "vmap: there is no rule for a function that takes Tensor, and not "
                               "`auto const&`, so that it is called for each of the 3 examples");
    CHECK(near(xg::grad(sum(y), x), xg::grad(sum(xg::vmap(xg::looped(of_tensors))(x)), x)));
    CHECK(near(
        xg::vmap([&](auto const& a) { return xg::looped(of_tensors)(a * 1.) + a; })(x), y + x));
    CHECK(warnings.texts.size() == 1);
    CHECK(near(xg::vmap([](auto const& a) { return median(a) * a; })(x),
        rows([&](int i) { return median(D(x(i))) * x(i); })));
    REQUIRE(warnings.texts.size() == 2);
    CHECK(warnings.texts[1] ==
          "vmap: there is no rule for median, so that it is called for each of the 3 examples");
    CHECK(near(xg::vmap(xg::vmap(of_tensors))(some({2, 3, 3})),
        xg::stack({xg::vmap(of_tensors)(D(some({2, 3, 3})(0))),
            xg::vmap(of_tensors)(D(some({2, 3, 3})(1)))})));
}

TEST_CASE("a transform of a function of tensors is looped over, too") {
    D const x = some({3, 3});
    auto const of_tensors = [](D const& a) { return D(sum(a * a * a)); };
    Warnings warnings;
    CHECK(near(xg::vmap(xg::grad(of_tensors))(x), D(3. * x * x)));
    REQUIRE(warnings.texts.size() == 1);
    CHECK(warnings.texts[0] == "vmap: there is no rule for a function that takes Tensor, and not "
                               "`auto const&`, so that it is called for each of the 3 examples");
    D const recorded = xg::vmap(xg::grad(of_tensors, {.create_graph = true}))(x);
    CHECK(near(recorded, D(3. * x * x)));
    CHECK(near(xg::vmap(xg::hessian(of_tensors))(x), rows([&](int i) { return diag(6. * x(i)); })));
    auto const squares = [](D const& a) { return D(a * a); };
    CHECK(near(xg::vmap(xg::jacobian(squares))(x), rows([&](int i) { return diag(2. * x(i)); })));
    CHECK(near(
        xg::vmap([&](auto const& a) { return xg::jvp(squares, a, a).second; })(x), D(2. * x * x)));
    auto const loss = [](D const& w, D const& a, D const& b) { return D(sum(square(w * a - b))); };
    D const w({1., 2., 3.}), b = some({3, 3}) - 1.;
    D const shared = rows([&](int i) { return 2. * x(i) * (w * x(i) - b(i)); });
    CHECK(near(xg::vmap<xg::unmapped, 0, 0>(xg::grad<0>(loss))(w, x, b), shared));
    auto const [to_w, to_b] = xg::vmap<xg::unmapped, 0, 0>(xg::grad<0, 2>(loss))(w, x, b);
    CHECK(near(to_w, shared));
    CHECK(near(to_b, rows([&](int i) { return -2. * (w * x(i) - b(i)); })));
    CHECK(near(xg::vmap(xg::grad<1>(loss))(x, x, b), D(2. * x * (x * x - b))));
}

TEST_CASE("the derivative of a holomorphic function") {
    using C = std::complex<double>;
    xg::Tensor<C> const z({{C(1, 2), C(0, 1)}, {C(3, 0), C(1, 1)}});
    auto const cubes = [](auto const& a) { return sum(a * a * a); };
    auto const derivative = xg::grad(cubes, {.holomorphic = true});
    xg::Tensor<C> const all = xg::vmap(derivative)(z), expected = 3. * z * z;
    CHECK(near(D(real(all)), D(real(expected))));
    CHECK(near(D(imag(all)), D(imag(expected))));
    D const product = xg::vmap([&](auto const& a) { return imag(derivative(a) * a); })(z);
    CHECK(near(product, D(imag(expected * z))));
}

TEST_CASE("a rule of the user's") {
    D const x = some({3, 4}), w = some({4, 4});
    auto const rule = [](D const& a, D const& b) {
        return matmul(b, unsqueeze(a, -1)).squeeze(-1);
    };
    auto const product = [&](auto const& a) { return xg::on_batch(rule, a, w); };
    CHECK(near(xg::vmap(product)(x), matmul(x, mT(w))));
    CHECK(near(xg::vmap(xg::vmap(product))(some({2, 3, 4})), matmul(some({2, 3, 4}), mT(w))));
    CHECK(near(product(D(x(0))), matmul(w, x(0))));
}

TEST_CASE("random numbers") {
    D const x = some({3, 4}).detach();
    xg::manual_seed(1);
    D const same = xg::vmap([](auto const& a) { return a * 0. + xg::rand({4}); })(x);
    CHECK(near(D(same(0)), D(same(2))));
    D const others = xg::vmap([](auto const& a) { return rand_like(a); })(x);
    CHECK_FALSE(near(D(others(0)), D(others(2))));
}

TEST_CASE("errors of vmap") {
    D const x = some({3, 2}), y = some({4});
    auto const f = [](auto const& a, auto const& b) { return a + b; };
    CHECK(message_of<xg::ShapeError>([&] { xg::vmap(f)(x, y); }) ==
          "vmap: argument 1 of shape [4] has 4 examples along axis 0, but argument 0 of shape [3, "
          "2] has 3");
    CHECK(message_of<xg::ShapeError>([&] { xg::vmap(f)(x, D(1.)); }) ==
          "vmap: argument 1 is a tensor without dimensions, which has no axis of examples; "
          "xg::unmapped says that they share it");
    CHECK(
        message_of<xg::IndexError>([&] { xg::vmap<2, xg::unmapped>(f)(x, y); }).find("vmap") == 0);
    CHECK(message_of<xg::ShapeError>([&] {
        xg::vmap(f)(x, some({3, 5}));
    }).find("[3, 2]") != std::string::npos);
    CHECK(message_of<xg::IndexError>([&] {
        xg::vmap([](auto const& a) { return sum(a, 1); })(x);
    }).find("sum") == 0);
    CHECK(message_of<xg::IndexError>([&] { xg::vmap([](auto const& a) { return a(0, 0); })(x); }) ==
          "x(index): too many indices for an array with 1 dimensions: 2 of them for shape [2] "
          "(inside vmap(), for 3 examples)");
    // shapes of all examples, and the way to know it
    CHECK(message_of<xg::ShapeError>([&] {
        xg::vmap([](auto const& a) { return a + some({4}); })(x);
    }) == "+: shapes [3, 2] and [4] do not broadcast (inside vmap(), for 3 examples)");
    CHECK(message_of<xg::ShapeError>([&] { D(x + some({4})); }) ==
          "+: shapes [3, 2] and [4] do not broadcast");
    CHECK(message_of<xg::ShapeError>([&] {
        xg::vmap(xg::grad([](auto const& a) { return a * 2.; }))(x);
    }) == "grad: the function returns shape [2] for each example, and one number is "
          "needed (inside vmap(), for 3 examples)");
}

TEST_CASE("map with several results") {
    auto const polar = [](auto r, auto phi) { return std::tuple(r * cos(phi), r * sin(phi)); };
    auto const powers = [](auto a) { return std::array{a * a, a * a * a, exp(a)}; };
    D w = some({4}, 0.7);
    w.requires_grad_();
    D x = some({3, 4}), k = some({3}, 0.4);
    x.requires_grad_();
    k.requires_grad_();
    auto const of_polar = [&](auto const& v, auto const& s) {
        auto const [a, b] = xg::map(polar, v * s, w);
        return std::tuple(a * b, b + sum(a));
    };
    check_loop("expressions, numbers and a tensor that all share", of_polar, x, k);
    check_loop(
        "an array of results",
        [&](auto const& v) {
            auto const all = xg::map(powers, v);
            return all[0] * all[2] - all[1];
        },
        x);
    check_loop(
        "branches",
        [&](auto const& v) {
            auto const [a, b] = xg::map(
                xg::with_branches,
                [](auto p) { return p > 1.5 ? std::tuple(p * p, p) : std::tuple(-p, p * p); }, v);
            return sum(a * b);
        },
        x);
    check_loop(
        "complex numbers",
        [&](auto const& v) {
            auto const [a, b] = xg::map(
                [](auto z, auto p) {
                    return std::tuple(z * z * p, z * std::complex<double>(0, 1));
                },
                xg::complex(v, v * v), v);
            return a * conj(b);
        },
        x);
    // transforms inside and outside
    auto const f = [&](auto const& v) {
        auto const [a, b] = xg::map(polar, v, sin(v));
        return a * b + w;
    };
    auto const number_of = [&](auto const& v) { return sum(f(v)) * v(0); };
    auto const row = [&](int i) { return D(x(i).detach()); };
    CHECK(near(xg::vmap(xg::jacobian(f))(x), rows([&](int i) { return xg::jacobian(f)(row(i)); })));
    CHECK(near(xg::vmap(xg::grad(number_of))(x),
        rows([&](int i) { return xg::grad(number_of)(row(i)); })));
    CHECK(near(xg::vmap(xg::hessian(number_of))(x),
        rows([&](int i) { return xg::hessian(number_of)(row(i)); })));
    CHECK(near(xg::vmap([&](auto const& v) { return xg::jvp(f, v, v).second; })(x),
        rows([&](int i) { return xg::jvp(f, row(i), row(i)).second; })));
    D const all = x.detach();
    D const dense = xg::jacobian(xg::vmap(f), all, {.strategy = xg::Mode::reverse});
    CHECK(near(xg::jacobian(xg::vmap(f), all, {.strategy = xg::Mode::forward}), dense));
    for (auto mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse})
        CHECK(near(xg::jacobian(xg::vmap(f), all, {.strategy = mode, .rows = true}),
            xg::vmap(xg::jacobian(f))(all)));
    CHECK(near(xg::vmap([&](auto const& u) {
        return xg::vmap([&](auto const& v) {
            auto const [a, b] = xg::map(polar, u, v);
            return sum(a - b);
        })(all);
    })(all),
        rows([&](int i) {
            return rows([&](int j) {
                auto const [a, b] = xg::map(polar, row(i), row(j));
                return D(sum(a - b));
            });
        })));
}

TEST_CASE("a rule of on_batch() that returns no axis of examples is refused") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    auto const with = [&](auto rule) {
        return xg::vmap([rule](auto const& v) { return xg::on_batch(rule, v); });
    };
    CHECK_THROWS_WITH_AS(with([](D const& a) { return mean(a); })(x),
        "on_batch: the rule returns shape [] for 2 examples, which are to be numbered by its first "
        "axis (inside vmap(), for 2 examples)",
        xg::ShapeError);
    CHECK_THROWS_AS(with([](D const& a) { return D(a(0)); })(x), xg::ShapeError);
    CHECK_THROWS_AS(xg::on_batch([](D const& a) { return mean(a); }, x), xg::ShapeError);
    CHECK(with([](D const& a) { return mean(a, {1}); })(x).shape() == xg::Shape{2});
}

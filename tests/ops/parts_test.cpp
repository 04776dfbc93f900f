// What is computed of a large array is what is computed of its parts, bit by bit: conversions,
// masks, changes in place and gradients. Loops cut an array of more than 32,768 elements into
// parts.
#include <cstring>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using F = xg::Tensor<float>;
using I = xg::Tensor<std::int64_t>;
using B = xg::Tensor<bool>;
using C = xg::Tensor<std::complex<double>>;
using CF = xg::Tensor<std::complex<float>>;

namespace {

template <class Op> void check(char const* name, Op op) {
    CAPTURE(name);
    constexpr std::size_t n = 100003, length = 10007;
    xg::manual_seed(1);
    D const x = xg::rand({n}) - 0.5, y = xg::rand({n}) - 0.5;
    auto const whole = op(x.clone(), y.clone());
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < n; at += length) {
        std::size_t const count = std::min(length, n - at);
        auto const part_of = [&](D const& t) { return t(xt::range(at, at + count)).clone(); };
        auto const part = op(part_of(x), part_of(y));
        for (std::size_t i = 0; i < count; ++i)
            wrong +=
                std::memcmp(&part.data()[i], &whole.data()[at + i], sizeof part.data()[0]) != 0;
    }
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a large array is computed as its parts are") {
    check("cast<float>", [](D x, D y) { return xg::cast<float>(x * y); });
    check("cast<int>", [](D x, D y) { return xg::cast<std::int64_t>(x * 10. + y); });
    check("float + double", [](D x, D y) {
        F f = xg::cast<float>(x);
        return D(f + y);
    });
    check("int * double", [](D x, D y) {
        I i = xg::cast<std::int64_t>(x * 10.);
        return D(i * y);
    });
    check("mask and", [](D x, D y) { return B((x > 0) && (y > 0)); });
    check("isnan", [](D x, D y) { return B(isnan(sqrt(x)) || isfinite(y)); });
    check("where", [](D x, D y) { return D(where(x > y, x, 2. * y)); });
    check("where ints", [](D x, D y) {
        return I(where(x > y, xg::cast<std::int64_t>(x * 9.), xg::cast<std::int64_t>(y * 7.)));
    });
    check("mask * x", [](D x, D y) {
        B m = x > y;
        return D(m * x);
    });
    check("complex", [](D x, D y) { return C(xg::complex(x, y) * 2.); });
    check("abs complex", [](D x, D y) {
        C z = xg::complex(x, y);
        return D(abs(z) + real(z));
    });
    check("complex == ", [](D x, D y) {
        C z = xg::complex(x, y);
        return B(z == xg::complex(x, -y));
    });
    check("complex float", [](D x, D y) {
        CF z = xg::complex(xg::cast<float>(x), xg::cast<float>(y));
        return F(abs(z * z));
    });
    check("float compare", [](D x, D y) {
        F a = xg::cast<float>(x), b = xg::cast<float>(y);
        return B(a < b);
    });
    check("float mask", [](D x, D y) {
        F a = xg::cast<float>(x), b = xg::cast<float>(y);
        return B((a < b) == (x < y));
    });
    check("int mask", [](D x, D y) {
        I a = xg::cast<std::int64_t>(x * 10.), b = xg::cast<std::int64_t>(y * 10.);
        return B(a == b);
    });
    check("fmod floor", [](D x, D y) { return D(floor(x * 10.) + remainder(x, y)); });
}

TEST_CASE("a large array is changed in place as its parts are") {
    check("copy_ narrow", [](D x, D y) {
        F t = xg::zeros<float>({x.numel()});
        t.copy_(xg::cast<float>(x + y));
        return t;
    });
    check("in place", [](D x, D y) {
        D t = x.clone();
        t += y;
        t *= 2.;
        t(t > 0.5) = 0.;
        return t;
    });
    check("in place strided", [](D x, D y) {
        D t = xg::zeros<double>({2, x.numel()}).transpose(0, 1);
        t(xt::all(), 0) = x + y;
        t(xt::all(), 1) = x > y;
        return D(t(xt::all(), 0) + t(xt::all(), 1));
    });
    check("mask in place", [](D x, D y) {
        B t = x > 0;
        t.copy_(y > x);
        return t;
    });
    check("int in place", [](D x, D y) {
        I t = xg::cast<std::int64_t>(x * 10.);
        t += xg::cast<std::int64_t>(y * 10.);
        t *= 3;
        return t;
    });
}

TEST_CASE("gradients of a large array are those of its parts") {
    check("gradient of where", [](D x, D y) {
        x.requires_grad_();
        sum(where(x > y, x * x, y * x)).backward();
        return D(x.grad());
    });
    check("vector gradient", [](D x, D y) {
        x.requires_grad_();
        D z = x * y + sin(x);
        z.backward(y);
        return D(x.grad());
    });
    check("float gradient", [](D x, D y) {
        F f = xg::cast<float>(x).detach();
        f.requires_grad_();
        D z = f * y;
        z.backward(y);
        return F(f.grad());
    });
    check("mask gradient", [](D x, D y) {
        x.requires_grad_();
        B m = x > y;
        D z = m * x * y;
        z.backward(y);
        return D(x.grad());
    });
    check("second", [](D x, D y) {
        x.requires_grad_();
        D g = xg::grad(sum(exp(x) * y), x, {.create_graph = true});
        return D(xg::grad(sum(g * y), x));
    });
}

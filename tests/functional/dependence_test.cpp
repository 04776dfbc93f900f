// Which elements of a result depend on which of an operand: what each operation on whole arrays
// says of itself, compared with dense Jacobians. A pattern has each derivative that is not 0, and
// `rows` is accepted where no row has one for another row.
#include <functional>
#include <string>
#include <vector>

#include <xgrad/nn.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/xgrad.hpp>

#include "tensor/compare.hpp"

namespace {

using I = xg::Tensor<std::int64_t>;
using C = xg::Tensor<std::complex<double>>;

/// An operation on an array of shape [4, 3, 4], and the number of entries of its pattern; -1 for
/// any number.
struct Case {
    char const* name;
    std::function<D(D const&)> f;
    std::ptrdiff_t entries = -1;
};

D noise(xg::Shape const& shape, double from = 0.5) {
    auto const n = static_cast<double>(xg::numel(shape));
    return reshape(D(from + abs(sin(xg::arange<double>(n) * 12.9898))), xg::Axes(shape));
}

std::vector<Case> const cases{
    {"flip", [](D const& a) { return flip(a, 1); }, 48},
    {"flip of rows", [](D const& a) { return flip(a, 0); }, 48},
    {"roll", [](D const& a) { return roll(a, 1, 2); }, 48},
    {"roll of rows", [](D const& a) { return roll(a, 1, 0); }, 48},
    {"cast", [](D const& a) { return D(xg::real(xg::cast<std::complex<double>>(a))); }, 48},
    {"reshape",
        [](D const& a) {
            return reshape(a, {4, 12});
        },
        48},
    {"reshape of rows",
        [](D const& a) {
            return reshape(a, {4, 4, 3});
        },
        48},
    {"permute",
        [](D const& a) {
            return permute(a, {0, 2, 1});
        },
        48},
    {"permute of rows",
        [](D const& a) {
            return permute(a, {2, 1, 0});
        },
        48},
    {"broadcast_to",
        [](D const& a) {
            return broadcast_to(a, {4, 4, 3, 4});
        },
        192},
    {"index_select",
        [](D const& a) {
            return index_select(a, 1, I({2, 0, 0}));
        },
        48},
    {"index_select of rows",
        [](D const& a) {
            return index_select(a, 0, I({0, 1, 3, 3}));
        },
        48},
    {"gather",
        [](D const& a) {
            return gather(a, 2, xg::zeros<std::int64_t>({4, 3, 2}));
        },
        24},
    {"index_add",
        [](D const& a) {
            return index_add(a, 1, I({1, 1}), D(a(xg::all, xg::slice(0, 2))));
        }},
    {"slice", [](D const& a) { return D(a(xg::all, xg::slice(1, 3), 2)); }, 8},
    {"writes to a slice",
        [](D const& a) {
            D b = a * 1.;
            b(xg::all, 0) = a(xg::all, 2) * 2.;
            return b;
        }},
    {"masks",
        [](D const& a) {
            return D(a(noise({4, 3, 4}) > 1.));
        }},
    {"tril", [](D const& a) { return tril(a); }, 24},
    {"diag_embed", [](D const& a) { return diag_embed(a, 1); }, 48},
    {"diagonal", [](D const& a) { return a.diagonal(0, 1, 2).clone(); }, 12},
    {"tile",
        [](D const& a) {
            return tile(a, {1, 2, 1});
        },
        96},
    {"tile of rows",
        [](D const& a) {
            return D(tile(a, {2, 1, 1})(xg::slice(2, 6)));
        },
        48},
    {"repeat_interleave", [](D const& a) { return repeat_interleave(a, 2, 1); }, 96},
    {"pad",
        [](D const& a) {
            return pad(a, {1, 2}, xg::PadMode::constant, 7.);
        },
        48},
    {"pad by reflection",
        [](D const& a) {
            return pad(a, {1, 2}, xg::PadMode::reflect);
        },
        84},
    {"cat",
        [](D const& a) {
            return xg::cat({a, D(a * 2.)}, 1);
        },
        96},
    {"stack",
        [](D const& a) {
            return xg::stack({a, D(a * 2.)}, 1);
        },
        96},
    {"split", [](D const& a) { return D(xg::split(a, 2, 2)[1] * 2.); }, 24},
    {"clone", [](D const& a) { return a.clone(); }, 48},
    {"view of complex numbers, which depend on both parts",
        [](D const& a) {
            return xg::view_as_real(xg::view_as_complex(D(a.reshape({4, 3, 2, 2}))));
        },
        96},
    {"cumsum", [](D const& a) { return cumsum(a, 1); }, 48 * 3},
    {"cumsum of rows", [](D const& a) { return cumsum(a, 0); }, 48 * 4},
    {"cumprod", [](D const& a) { return cumprod(a, 2); }, 48 * 4},
    {"logcumsumexp", [](D const& a) { return logcumsumexp(a, 1); }, 48 * 3},
    {"amax",
        [](D const& a) {
            return amax(a, {1, 2});
        },
        48},
    {"amax of rows", [](D const& a) { return amax(a, 0, xg::keepdims); }, 48},
    {"prod", [](D const& a) { return prod(a, {1}, xg::keepdims); }, 48},
    {"logsumexp", [](D const& a) { return logsumexp(a, 2); }, 48},
    {"median of all", [](D const& a) { return median(a); }, 48},
    {"sort", [](D const& a) { return sort(a, 2); }, 48},
    {"product with a matrix",
        [](D const& a) {
            return matmul(a, noise({4, 5}));
        },
        60 * 4},
    {"product with a transposed matrix",
        [](D const& a) {
            return matmul(a, transpose(noise({5, 4})));
        },
        60 * 4},
    {"product of a matrix",
        [](D const& a) {
            return matmul(noise({5, 3}), a);
        },
        80 * 3},
    {"product with a vector", [](D const& a) { return matmul(a, noise({4})); }, 48},
    {"product of a vector", [](D const& a) { return matmul(noise({3}), a); }, 48},
    {"products of matrices", [](D const& a) { return matmul(a, mT(a)); }, 4 * (3 * 4 + 6 * 8)},
    {"product of all rows",
        [](D const& a) {
            return matmul(noise({4, 4}), D(a.reshape({4, 12})));
        },
        48 * 4},
    {"fft", [](D const& a) { return D(xg::real(xg::fft(a))); }, 48 * 4},
    {"fft of rows", [](D const& a) { return D(xg::imag(xg::fft(a, std::nullopt, 0))); }, 48 * 4},
    {"rfft", [](D const& a) { return D(xg::abs(xg::rfft(a))); }, 36 * 4},
    {"irfft", [](D const& a) { return xg::irfft(xg::rfft(a)); }},
    {"convolution",
        [](D const& a) {
            return xg::nn::functional::conv1d(a, noise({2, 3, 2}));
        },
        4 * 6 * 12},
    {"convolution in groups",
        [](D const& a) {
            return xg::nn::functional::conv1d(a, noise({3, 1, 2}), {}, {.groups = 3});
        }},
    {"weight of a convolution",
        [](D const& a) {
            return xg::nn::functional::conv1d(noise({2, 3, 6}), a);
        }},
    {"transposed convolution",
        [](D const& a) {
            return xg::nn::functional::conv_transpose1d(a, noise({3, 2, 2}));
        }},
    {"mean of windows", [](D const& a) { return xg::nn::functional::avg_pool1d(a, 2); }},
    {"maximum of windows", [](D const& a) { return xg::nn::functional::max_pool1d(a, 2); }, 24},
};

/// True where no row of a result depends on another row of the operand, by a dense Jacobian.
bool keeps_rows(D const& dense, std::size_t rows) {
    std::size_t const m = dense.shape()[0] / rows, n = dense.shape()[1] / rows;
    for (std::size_t i = 0; i < dense.numel(); ++i)
        if (i / dense.shape()[1] / m != i % dense.shape()[1] / n && dense.data()[i] != 0)
            return false;
    return true;
}

} // namespace

TEST_CASE("each operation on whole arrays says on which elements its result depends") {
    D const x = noise({4, 3, 4});
    for (auto const& [name, f, entries] : cases) {
        INFO(std::string(name));
        D const y = f(x);
        D const dense = D(xg::jacobian(f, x).reshape({static_cast<std::ptrdiff_t>(y.numel()), 48}));
        auto const sparse = xg::sparse_jacobian(f, x, {.check = true});
        CHECK(difference(sparse.to_dense(), dense) == "");
        if (entries >= 0) CHECK(sparse.nonzeros() == entries);
        auto const total = [&](D const& a) { return D(sum(square(f(a)))); };
        CHECK(difference(xg::sparse_hessian(total, x, {.check = true}).to_dense(),
                  D(xg::hessian(total, x).reshape({48, 48}))) == "");
    }
}

TEST_CASE("rows are accepted where no row depends on another one, whatever the operation is") {
    D const x = noise({4, 3, 4});
    for (auto const& [name, f, entries] : cases) {
        D const y = f(x);
        if (y.dim() == 0 || y.shape()[0] != 4) continue;
        INFO(std::string(name));
        auto const m = static_cast<std::ptrdiff_t>(y.numel());
        D const dense = D(xg::jacobian(f, x).reshape({m, 48}));
        auto const g = [&](D const& a) { return D(f(D(a * a))); }; // no expression of elements
        for (auto const mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse}) {
            D rows;
            try {
                rows = xg::jacobian(g, x, {.strategy = mode, .rows = true});
            } catch (xg::GraphError const&) {}
            CHECK(rows.defined() == keeps_rows(dense, 4));
            if (!rows.defined()) continue;
            D const all = xg::jacobian(g, x).reshape({4, m / 4, 4, 12});
            for (std::ptrdiff_t r = 0; r < 4; ++r)
                CHECK(difference(D(rows(r).reshape({m / 4, 12})), D(all(r, xg::all, r))) == "");
        }
    }
}

TEST_CASE("one pair of rows among many that meets is found") {
    std::size_t const n = 300;
    D const x = noise({n, 2});
    for (auto const& [to, from] : {std::pair{0, 1}, {1, 0}, {17, 255}, {299, 298}, {128, 64}}) {
        auto const f = [&, to = to, from = from](D const& a) {
            D const b = a * a;
            D y = b.clone();
            y(to) = D(b(to) + 1e-9 * b(from));
            return y;
        };
        CHECK_THROWS_WITH_AS(xg::jacobian(f, x, {.rows = true}),
            doctest::Contains("depends on other rows: each row is a problem of its own, and "),
            xg::GraphError);
        auto const g = [&](D const& a) { return D(xg::checkpoint(f, a)); };
        CHECK_THROWS_WITH_AS(xg::jacobian(g, x, {.rows = true}),
            doctest::Contains("each row is a problem of its own"), xg::GraphError);
    }
}

TEST_CASE("a stack of matrices beside one matrix, and beside a stack of one") {
    D const stack = noise({3, 2, 2}), one = noise({1, 2, 2}), matrix = noise({2, 2});
    for (auto const& [f, x] : std::vector<std::pair<std::function<D(D const&)>, D>>{
             {[&](D const& a) { return matmul(stack, a); }, one},
             {[&](D const& a) { return matmul(a, stack); }, one},
             {[&](D const& a) { return matmul(stack, a); }, matrix},
             {[&](D const& a) { return matmul(a, one); }, stack}}) {
        auto const n = static_cast<std::ptrdiff_t>(x.numel());
        CHECK(difference(xg::sparse_jacobian(f, x, {.check = true}).to_dense(),
                  D(xg::jacobian(f, x).reshape({-1, n}))) == "");
    }
}

TEST_CASE("rows that meet are found beside NaN, and in hooks") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    D const x({{2., .5}, {4., 3.}, {1., 1.}}), m({{1., 0., 0.}, {0., nan, 1.}, {0., 0., 1.}});
    auto const refused = [](auto const& f, D const& at) {
        int count = 0;
        for (auto const mode : {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse}) try {
                xg::jacobian(f, at, {.strategy = mode, .rows = true});
            } catch (xg::GraphError const&) { ++count; }
        return count == 3;
    };
    CHECK(refused([&](D const& a) { return matmul(m, a); }, x));
    CHECK(refused([](D const& a) { return flip(cumsum(flip(D(sqrt(a)), 0), 0), 0); },
        D({{2.}, {4.}, {-1.}})));
    auto const hooked = [](D const& a) {
        D s = cumsum(a, 1);
        s.register_hook([](D const& g) { return D(g + 1e-9 * flip(g, 0)); });
        return D(s * D({{1.}, {2.}, {3.}}));
    };
    for (auto const mode : {xg::Mode::automatic, xg::Mode::reverse})
        CHECK_THROWS_WITH_AS(
            xg::jacobian(hooked, D({{2.}, {4.}, {1.}}), {.strategy = mode, .rows = true}),
            doctest::Contains("each row is a problem of its own"), xg::GraphError);
    auto const kept = [](D const& a) {
        D s = cumsum(a, 1);
        s.register_hook([](D const& g) { return D(2. * g); });
        return D(s * s);
    };
    D const y({{2.}, {4.}, {1.}});
    CHECK(difference(D(xg::jacobian(kept, y, {.rows = true}).reshape({3, 1})), D(4. * y)) == "");
}

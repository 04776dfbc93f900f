// Jacobians and Hessians of whole programs: every way to them, beside rows of vjp().
#include <algorithm>
#include <cmath>

#include <xgrad/implicit.hpp>
#include <xgrad/sparse.hpp>

#include "generate.hpp"

namespace composed {

namespace {

struct OfOne {
    Closure f;
    D operator()(D const& x) const { return std::get<D>(f({x})); }
};
D dense(Closure const& f, D const& x) {
    auto const y = std::get<D>(f({x}));
    std::vector<D> rows;
    for (std::size_t k = 0; k < y.numel(); ++k)
        rows.push_back(std::get<D>(vjp_of(f, {x}, unit_of(type_of(y), k)).second[0]));
    xg::Shape shape = y.shape();
    for (auto const n : x.shape()) shape.push_back(n);
    return reshape(xg::stack(rows), xg::Axes(shape));
}
D in_shape(D const& matrix, D const& like) { return reshape(matrix, xg::Axes(like.shape())); }
double apart(D const& a, D const& b) { return largest(xg::eval(a - b)); }

/// Whether each row and each column of a matrix has an entry that is not of the size of rounding
/// errors: `check` of sparse derivatives is relative to them.
bool is_clear(D const& matrix) {
    D const a = abs(matrix);
    for (int axis : {0, 1})
        if (!(amin(amax(a, axis)).item() > 1e-4)) return false;
    return true;
}
/// y as (rows, n) for as many rows as x has.
Closure with_rows(Closure const& f, std::size_t rows) {
    return [f, rows](Values const& x) -> Value {
        auto const y = flatten(std::get<D>(f(x)));
        auto const n = y.numel();
        std::vector<std::int64_t> index;
        for (std::size_t i = 0; i < std::max(rows, n / rows * rows); ++i)
            index.push_back(static_cast<std::int64_t>(i % n));
        return xg::eval(reshape(take(y, I(index)), {static_cast<std::ptrdiff_t>(rows), -1}));
    };
}

/// What is wrong with the option `rows`, or nothing. `whole` is the dense derivative, as a matrix.
template <class ByRows>
std::optional<std::pair<std::string, std::string>> rows_fault(
    std::string const& name, D const& whole, std::size_t rows, ByRows const& by_rows) {
    auto const m = whole.shape()[0] / rows, n = whole.shape()[1] / rows;
    double coupled = 0, size = largest(whole);
    std::vector<double> expected;
    for (std::size_t i = 0; i < whole.shape()[0]; ++i)
        for (std::size_t j = 0; j < whole.shape()[1]; ++j) {
            auto const d = whole.data()[i * whole.shape()[1] + j];
            if (i / m == j / n) expected.push_back(d);
            else coupled = std::max(coupled, std::abs(d));
        }
    try {
        D const found = by_rows();
        if (coupled > 1e-6 * size && coupled > 1e-9)
            return std::pair(name + " by rows", "rows meet: an entry off the diagonal blocks is " +
                                                    std::to_string(coupled) +
                                                    ", and {.rows = true} does not see it");
        D const right(expected, found.shape());
        if (!(apart(right, found) <= 1e-8 * std::max(1., size)))
            return std::pair(name + " by rows", "wrong numbers");
    } catch (xg::GraphError const& error) {
        if (coupled == 0 && size > 0 && // all 0: terms cancel, up to rounding errors
            std::string(error.what()).find("depends on other rows") != std::string::npos)
            return std::pair(
                name + " by rows", "no rows meet, and it says: " + std::string(error.what()));
    }
    return std::nullopt;
}

} // namespace

std::optional<std::pair<std::string, std::string>> structure_fault(Closure const& f, D const& x,
    D const& other, bool reads_values, std::uint64_t seed, Counts& counts) {
    using Fault = std::optional<std::pair<std::string, std::string>>;
    auto const whole = dense(f, x);
    auto const size = std::max(1., largest(whole));
    auto const equal = [&](std::string const& name, D const& expected, D const& found) -> Fault {
        ++counts.comparisons;
        // No number on either side: a second derivative of the root of 0, say.
        if (!std::isfinite(largest(expected)) && !std::isfinite(largest(found)))
            return std::nullopt;
        auto const here = largest(expected); // a plan may be used where derivatives are larger
        if (found.numel() == expected.numel() && std::isfinite(here) &&
            apart(expected, in_shape(found, expected)) <= 1e-8 * std::max(size, here))
            return std::nullopt;
        std::ostringstream text;
        text << "expected " << expected << ", found " << found;
        return std::pair(name, text.str());
    };
    OfOne const g{f};
    auto const n = static_cast<std::ptrdiff_t>(x.numel());
    auto const modes = {xg::Mode::automatic, xg::Mode::forward, xg::Mode::reverse};
    // In any order: where the work is limited, each of them is done for some of the programs.
    std::vector<std::function<Fault()>> all;
    for (auto const mode : modes)
        all.push_back(
            [&, mode] { return equal("jacobian", whole, xg::jacobian(g, x, {.strategy = mode})); });
    all.push_back([&] { return equal("jacobian", whole, xg::jacfwd(g)(x)); });
    all.push_back([&] { return equal("jacobian", whole, xg::jacrev(g)(x)); });
    all.push_back([&] {
        bool const clear = is_clear(reshape(whole, {-1, n}));
        return equal(
            "sparse_jacobian", whole, xg::sparse_jacobian(g, x, {.check = clear}).to_dense());
    });
    all.push_back([&]() -> Fault {
        auto const plan = xg::sparsity(g, x);
        if (auto wrong = equal("plan of sparsity()", whole, plan.jacobian(x).to_dense()))
            return wrong;
        try {
            auto const there = dense(f, other);
            auto const found = plan.jacobian(other).to_dense();
            if (!reads_values) return equal("plan of sparsity() at another x", there, found);
        } catch (xg::ConvergenceError const&) { // there is no solution at `other`
        } catch (xg::GraphError const&) {
            if (!reads_values) throw;
        }
        return std::nullopt;
    });
    bool const number = g(x).dim() == 0, has_rows = x.dim() > 0 && x.shape()[0] > 1;
    D h;
    if (number) {
        Closure const gradient = [f](Values const& at) { return vjp_of(f, at, D(1.)).second[0]; };
        h = dense(gradient, x);
        for (auto const mode : modes)
            all.push_back(
                [&, mode] { return equal("hessian", h, xg::hessian(g, x, {.strategy = mode})); });
        all.push_back([&] {
            bool const clear = is_clear(reshape(h, {n, n}));
            return equal(
                "sparse_hessian", h, xg::sparse_hessian(g, x, {.check = clear}).to_dense());
        });
        all.push_back([&] {
            return equal("hessian of a plan", h, xg::sparsity(g, x).hessian(x).to_dense());
        });
        if (has_rows)
            all.push_back([&] {
                return rows_fault("hessian", reshape(h, {n, n}), x.shape()[0],
                    [&] { return xg::hessian(g, x, {.rows = true}); });
            });
    }
    if (has_rows)
        all.push_back([&] {
            auto const k = with_rows(f, x.shape()[0]);
            return rows_fault("jacobian", reshape(dense(k, x), {-1, n}), x.shape()[0],
                [&] { return xg::jacobian(OfOne{k}, x, {.rows = true}); });
        });
    std::shuffle(all.begin(), all.end(), std::mt19937_64(seed));
    for (auto const& each : all)
        if (auto wrong = each()) return wrong;
    return std::nullopt;
}

} // namespace composed

// Solutions of equations whose function is itself composed at random. Their alternative is the
// solution and its residual, which must be 0.
#include "program.hpp"

#include <xgrad/implicit.hpp>

namespace composed {

namespace {

template <class T> struct InnerOf {
    Closure f;
    template <class... X>
        requires((std::same_as<X, D> || std::same_as<X, Z>) && ...)
    auto operator()(X const&... x) const {
        return std::get<T>(f({Value(x)...}));
    }
};
std::size_t parameter_count(Call const& c) { return c.arguments(); }

/// Calls todo(x0, theta): x0 has the type of the first parameter, theta is a tuple.
template <class Do> Value with_theta(Call const& c, Do const& todo) {
    auto const n = parameter_count(c);
    auto const& x = c.operands;
    auto const theta = [&](auto const& x0) -> Value {
        using T = std::remove_cvref_t<decltype(x0)>;
        if (n == 0) return todo(x0, std::tuple<>());
        if (n == 1) {
            if (is_complex(x[0])) return todo(x0, std::tuple(std::get<Z>(x[0])));
            return todo(x0, std::tuple(std::get<D>(x[0])));
        }
        return todo(x0, std::tuple(std::get<T>(x[0]), std::get<T>(x[1])));
    };
    auto const& type = c.at.inner->parameters[0];
    if (type.is_complex) return theta(xg::full(type.shape, std::complex(0.3, 0.1)));
    return theta(xg::full(type.shape, 0.3));
}
/// F(x, theta) of the inner function.
Value residual_at(Call const& c, Value const& x) {
    Values all{x};
    for (std::size_t i = 0; i < parameter_count(c); ++i) all.push_back(c.operands[i]);
    return c.inner()(all);
}
xg::ImplicitOptions solver_options(Call const& c) {
    xg::ImplicitOptions o;
    o.max_iterations = 60;
    if (c.at.numbers[0] == 1) o.linear = "gmres";
    if (c.at.numbers[0] == 2) o.linear = "lsmr";
    return o;
}
/// x + k y, recorded.
Value sum_of(Value const& x, double k, Value const& y) {
    if (is_complex(x)) return xg::eval(std::get<Z>(x) + k * std::get<Z>(y));
    return xg::eval(std::get<D>(x) + k * std::get<D>(y));
}
/// x where the residual is 0, else x and the residual.
Value checked(Value const& x, Value const& residual) { return sum_of(x, 1, residual); }

std::string start_text(Instruction const& at) {
    auto const& type = at.inner->parameters[0];
    return "xg::full(xg::Shape" + braces(type.shape) +
           (type.is_complex ? ", std::complex<double>(0.3, 0.1))" : ", 0.3)");
}
std::string theta_text(Instruction const& at, std::vector<std::string> const& x) {
    auto const n = at.inner->parameters.size() - 1;
    if (n == 0) return "";
    std::string text = ", std::tuple(" + x[0];
    for (std::size_t i = 1; i < n; ++i) text += ", " + x[i];
    return text + ")";
}
std::string options_text(Instruction const& at) {
    return at.numbers[0] == 1   ? ", {.linear = \"gmres\"}"
           : at.numbers[0] == 2 ? ", {.linear = \"lsmr\"}"
                                : "";
}

/// The real numbers of a value, in order; and the value with one of them moved.
D reals_of(Value const& v) {
    if (is_complex(v)) return flatten(view_as_real(std::get<Z>(v).detach().clone()));
    return flatten(std::get<D>(v).detach().clone());
}
Value moved(Value const& v, std::size_t i, double by) {
    D reals = reals_of(v);
    reals.mutable_data()[i] += by;
    auto const& shape = std::visit([](auto const& t) -> xg::Shape { return t.shape(); }, v);
    if (!is_complex(v)) return xg::eval(reshape(reals, xg::Axes(shape)));
    xg::Shape pairs = shape;
    pairs.push_back(2);
    return view_as_complex(xg::eval(reshape(reals, xg::Axes(pairs)))).clone();
}
/// Whether the derivative of a residual at x has an inverse, by central differences and Gauss'
/// elimination: where it has none, as of sum(square(x - conj(x))), the solution has no derivative.
template <class Residual> bool has_regular_derivative(Residual const& residual, Value const& x) {
    std::size_t const n = reals_of(x).numel();
    double const h = 1e-5;
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < n; ++i) {
        D const column =
            (reals_of(residual(moved(x, i, h))) - reals_of(residual(moved(x, i, -h)))) / (2 * h);
        rows.push_back(std::vector<double>(column.data(), column.data() + n));
    }
    double largest = 0;
    for (auto const& row : rows)
        for (double const v : row) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < n; ++k) {
        auto const at = [&](auto const& row) { return std::abs(row[k]); };
        std::swap(rows[k], *std::ranges::max_element(
                               rows.begin() + static_cast<std::ptrdiff_t>(k), rows.end(), {}, at));
        if (!(at(rows[k]) > 1e-4 * largest)) return false;
        for (std::size_t i = k + 1; i < n; ++i)
            for (std::size_t j = n; j-- > k;) rows[i][j] -= rows[i][k] / rows[k][k] * rows[k][j];
    }
    return true;
}

template <class Solve, class Residual>
void add_solution(Catalogue& all, std::string name, Solve solve, Residual residual,
    std::function<std::string(Instruction const&, std::vector<std::string> const&)> print) {
    Operation o{name, name};
    o.call = solve;
    o.alternative = [solve, residual](Call const& c) {
        auto const x = solve(c);
        return checked(x, residual(c, x));
    };
    o.is_regular = [solve, residual](Call const& c) {
        xg::NoGradGuard const off;
        return has_regular_derivative([&](Value const& x) { return residual(c, x); }, solve(c));
    };
    o.tolerance = 1e-7;
    o.print = std::move(print);
    o.group = "solution";
    o.takes_batches = false;
    o.given = 1;
    all.add(std::move(o));
}
std::string solution_text(
    std::string const& name, Instruction const& at, std::vector<std::string> const& x) {
    return name + "(" + print_inner(at, x) + ", " + start_text(at) + theta_text(at, x) +
           options_text(at) + ")";
}

} // namespace

void add_solutions(Catalogue& all) {
    using Names = std::vector<std::string>;
    add_solution(
        all, "root",
        [](Call const& c) {
            return with_theta(c, [&]<class T>(T const& x0, auto const& theta) -> Value {
                return xg::root(InnerOf<T>{c.inner()}, x0, theta, solver_options(c));
            });
        },
        [](Call const& c, Value const& x) { return residual_at(c, x); },
        [](Instruction const& at, Names const& x) { return solution_text("xg::root", at, x); });
    add_solution(
        all, "fixed_point",
        [](Call const& c) {
            return with_theta(c, [&]<class T>(T const& x0, auto const& theta) -> Value {
                return xg::fixed_point(InnerOf<T>{c.inner()}, x0, theta, solver_options(c));
            });
        },
        [](Call const& c, Value const& x) { return sum_of(residual_at(c, x), -1, x); },
        [](Instruction const& at, Names const& x) {
            return solution_text("xg::fixed_point", at, x);
        });
    add_solution(
        all, "argmin",
        [](Call const& c) {
            return with_theta(c, [&]<class T>(T const& x0, auto const& theta) -> Value {
                return xg::argmin(InnerOf<D>{c.inner()}, x0, theta, solver_options(c));
            });
        },
        [](Call const& c, Value const& x) {
            auto const cost = [&](Values const& at) { return residual_at(c, at[0]); };
            return vjp_of(cost, {x}, D(1.)).second[0];
        },
        [](Instruction const& at, Names const& x) { return solution_text("xg::argmin", at, x); });
    add_solution(
        all, "implicit",
        [](Call const& c) {
            return with_theta(c, [&]<class T>(T const& x0, auto const& theta) -> Value {
                InnerOf<T> const f{c.inner()};
                auto const solver = [&](auto const&... t) {
                    return xg::root(f, x0, std::tuple(t...), {.max_iterations = 60});
                };
                return std::apply(
                    [&](auto const&... t) -> Value {
                        return xg::implicit(f, solver_options(c))(solver, t...);
                    },
                    theta);
            });
        },
        [](Call const& c, Value const& x) { return residual_at(c, x); },
        [](Instruction const& at, Names const& x) {
            auto const f = print_inner(at, x), theta = theta_text(at, x);
            auto const n = at.inner->parameters.size() - 1;
            std::string list;
            for (std::size_t i = 0; i < n; ++i) list += ", " + x[i];
            return "[=](auto const& f) { return xg::implicit(f" + options_text(at) +
                   ")([=](auto const&... t) { return xg::root(f, " + start_text(at) +
                   ", std::tuple(t...)); }" + list + "); }(" + f + ")";
        });
    // The first operand is b, which has the type of x.
    auto const system = [](Call const& c) {
        return with_theta(c, [&]<class T>(T const&, auto const& theta) -> Value {
            return xg::linear_solve(
                InnerOf<T>{c.inner()}, std::get<T>(c.extra(0)), theta, solver_options(c));
        });
    };
    add_solution(
        all, "linear_solve", system,
        [](Call const& c, Value const& x) { return sum_of(residual_at(c, x), -1, c.extra(0)); },
        [](Instruction const& at, Names const& x) {
            auto const n = at.inner->parameters.size() - 1 + at.inner->captured.size();
            return "xg::linear_solve(" + print_inner(at, x) + ", " + x[n] + theta_text(at, x) +
                   options_text(at) + ")";
        });

    // What the inner functions end with, of x and a value of its shape. b may depend on x, but not
    // in linear_solve.
    std::string group = "end of fixed_point";
    REAL2("*", "*", 0.3 * sin(b) + 0.2 * a);
    REAL2("*", "*", 0.4 * tanh(a * b) + 0.5);
    group = "end of root";
    REAL2("*", "*", a - b);
    REAL2("*", "*", a + 0.3 * a * a * a - 0.4 * sin(b));
    group = "end of argmin";
    REAL2("*", "*", sum(square(a - b)));
    REAL2("*", "*", sum(cosh(a - 0.5 * sin(b))) + 0.1 * sum(a * a * a * a));
    group = "end of linear_solve";
    REAL2("*", "*", a * (1.5 + 0.4 * sin(b)));
    REAL2_T("+", "+", 2. * a + 0.3 * sin(b) * roll(a, 1));
    group = "complex end of fixed_point";
    COMPLEX2("*", "*", 0.3 * b / (1. + abs2(b)) + 0.1 * conj(a));
    group = "complex end of root";
    COMPLEX2("*", "*", a - b);
    COMPLEX2("*", "*", a + 0.2 * conj(a) * a - 0.3 * b / (1. + abs2(b)));
    group = "complex end of argmin";
    COMPLEX2("*", "*", sum(abs2(a - b)));
    COMPLEX2("*", "*", sum(abs2(a - 0.5 * b) + 0.2 * abs2(a * a)));
    group = "complex end of linear_solve";
    COMPLEX2("*", "*", a * (2. + b / (1. + abs2(b))) + 0.2 * conj(a));
}

} // namespace composed

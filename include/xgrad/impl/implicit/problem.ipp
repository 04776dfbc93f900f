// Bodies of problem.hpp.
// Solvers: Newton's method with a line search, Anderson acceleration, Newton's method with
// truncated conjugate gradients, and linear systems. Rows are independent problems: each has its
// own step lengths.
#pragma once

#include <xgrad/impl/implicit/implicit_node.ipp>
#include <xgrad/implicit/problem.hpp>

namespace xgrad::detail {

/// The state of a solver: x, and how far its rows are from a solution.
struct Search {
    Search(ImplicitProblem const& p, Tensors const& x0, std::size_t most)
        : problem(p), parts(p.name, x0, p.options.rows), x(parts.pack(x0)),
          max_iterations(p.options.max_iterations ? p.options.max_iterations : most),
          tol(tolerance(p.options.tol, parts.eps, 2. / 3)) {}

    Tensors tensors() const { return parts.unpack(x); }
    /// Values of a function, row after row.
    Reals values(ImplicitProblem::Function const& f, Reals const& at, Tensors const& theta) const {
        Tensors const arguments = parts.unpack(at), images = f(arguments, theta);
        check_fits(problem.name, images, arguments);
        return parts.pack(images);
    }
    /// Compares the rows. Counts an iteration where one is no solution; throws after the last one.
    bool is_solution(LocalResidual& local) {
        if (!std::exchange(are_rows_checked, true)) local.check_rows();
        std::tie(norm, scale) = local.distance(problem.options.x_scale);
        bool all = true;
        for (std::size_t r = 0; r < parts.rows; ++r) all &= is_solution(r);
        if (!all) count();
        return all;
    }
    /// Ends where a row is not finite, or after the last iteration.
    void count() {
        bool const is_last = iterations++ == max_iterations;
        for (double const each : norm)
            if (is_last || !std::isfinite(each)) fail_here();
    }
    bool is_solution(std::size_t r) const {
        return std::isfinite(norm[r]) && norm[r] <= tol * scale[r];
    }
    [[noreturn]] void fail_here(std::string_view reason = "") const {
        std::size_t worst = 0;
        for (std::size_t r = 0; r < parts.rows; ++r)
            if (!is_solution(r) &&
                (is_solution(worst) || norm[r] > norm[worst] || std::isnan(norm[r])))
                worst = r;
        std::string const after = " after " + std::to_string(iterations - 1) + " iterations",
                          size = size_text(norm[worst], tol * scale[worst], worst, parts.rows);
        if (std::isfinite(norm[worst]))
            fail<ConvergenceError>(problem.name, ": no solution", after, ": ", size, reason);
        fail<ConvergenceError>(problem.name, ": ", size, iterations == 1 ? " at the start" : after);
    }
    /// The solution of a linear system; where it has none, the search ends.
    Reals solved(LinearSystem const& a, Reals const& b, double min_tol) const {
        try {
            return solve_linear(problem, a, b, min_tol);
        } catch (ConvergenceError const& e) {
            fail_here(", and " + std::string(e.what() + problem.name.size() + 2));
        }
    }
    /// Sets the rows of solutions to zeros.
    void clear_solutions(Reals& v) const {
        for (std::size_t r = 0; r < parts.rows; ++r)
            if (is_solution(r))
                std::fill_n(
                    v.begin() + static_cast<std::ptrdiff_t>(r * parts.size), parts.size, 0.);
    }
    /// Adds the direction to x, each row times the first of 1, 1/2, 1/4, ... that
    /// is_better(row, step, at) accepts, where before(at) prepares a trial. Throws where none is.
    template <class Prepare, class Better>
    void move(Reals const& direction, Prepare const& prepare, Better const& is_better) {
        Reals steps(parts.rows, 1.);
        for (int halvings = 0; halvings < 50; ++halvings) {
            Reals at = x;
            add_rows(steps, direction, at);
            auto const trial = prepare(at);
            bool all = true;
            for (std::size_t r = 0; r < parts.rows; ++r)
                if (!is_solution(r) && !is_better(r, steps[r], trial)) {
                    steps[r] /= 2.;
                    all = false;
                }
            if (!all) continue;
            x = std::move(at);
            return;
        }
        fail_here();
    }

    ImplicitProblem const& problem;
    RealParts const parts;
    Reals x, norm = {}, scale = {};
    std::size_t max_iterations, iterations = 0;
    double tol;
    bool are_rows_checked = false;
};

XGRAD_LAZY_BODY ImplicitProblem root_problem(std::string_view name, ImplicitProblem::Function f,
    ImplicitOptions const& options, bool is_given) {
    if (!(options.tol >= 0) || !(options.linear_tol >= 0) || !(options.x_scale > 0) ||
        options.restart == 0)
        fail(name, ": tol and linear_tol must not be negative, and x_scale and restart must be "
                   "positive");
    ImplicitProblem p{name};
    p.function = p.residual = std::move(f);
    p.options = options;
    p.is_checked = true;
    p.check_tol = is_given ? options.tol : std::sqrt(options.tol);
    return p;
}
/// f(x, theta) for an x that requires gradients, on which it must depend.
inline Tensors dependent_values(std::string_view name, ImplicitProblem::Function const& f,
    Tensors const& x, Tensors const& theta) {
    auto const before = next_sequence;
    Tensors y = f(x, theta);
    check_defined(name, "the function's output", y);
    Evaluation{name, true, false, x, y, before}.check_depends();
    return y;
}
XGRAD_LAZY_BODY ImplicitProblem fixed_point_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options) {
    auto p = root_problem("fixed_point", std::move(f), options);
    p.residual = [f = p.function](Tensors const& x, Tensors const& theta) {
        auto values = dependent_values("fixed_point", f, x, theta);
        check_fits("fixed_point", values, x);
        return with_added(std::move(values), -1., x);
    };
    return p;
}
XGRAD_LAZY_BODY ImplicitProblem argmin_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options) {
    auto p = root_problem("argmin", std::move(f), options);
    p.is_symmetric = true;
    p.residual = [f = p.function, rows = options.rows](Tensors const& x, Tensors const& theta) {
        EnableGradGuard const on;
        Tensors inputs = x;
        become_inputs("argmin", true, inputs);
        Tensors const y = dependent_values("argmin", f, inputs, theta);
        if (rows ? y[0].shape() != Shape{x[0].shape()[0]} : y[0].numel() != 1)
            fail<ShapeError>("argmin: the function returns one number, and with .rows = true one "
                             "for each row of x: not shape ",
                y[0].shape());
        return recorded_gradient({"argmin", true, false, inputs, y}, rows);
    };
    return p;
}
XGRAD_LAZY_BODY ImplicitProblem linear_problem(
    ImplicitProblem::Function f, ImplicitOptions const& options) {
    auto p = root_problem("linear_solve", std::move(f), options);
    p.residual = [f = p.function](Tensors const& x, Tensors const& theta) {
        auto image = f(x, slice_of(theta, x.size(), theta.size() - x.size()));
        check_fits("linear_solve", image, x);
        return with_added(std::move(image), -1., slice_of(theta, 0, x.size()));
    };
    return p;
}

XGRAD_LAZY_BODY Tensors find_root(
    ImplicitProblem const& p, Tensors const& x0, Tensors const& theta) {
    Search search(p, x0, 100);
    for (;;) {
        LocalResidual local(p, search.tensors(), theta);
        if (search.is_solution(local)) return search.tensors();
        Reals b = search.parts.pack(local.residual());
        search.clear_solutions(b);
        Reals step = search.solved(local.system("a Newton step", false), b, 1e-3);
        for (auto& number : step) number = -number;
        search.move(
            step,
            [&](Reals const& at) {
                return row_norms(search.values(p.residual, at, theta), search.parts.rows);
            },
            [&](std::size_t r, double t, Reals const& norm) {
                return norm[r] <= (1. - 1e-4 * t) * search.norm[r];
            });
    }
}

XGRAD_LAZY_BODY Tensors find_fixed_point(
    ImplicitProblem const& p, Tensors const& x0, Tensors const& theta) {
    Search search(p, x0, 1000);
    std::size_t const rows = search.parts.rows, size = search.parts.size;
    Reals const ones(rows, 1.), minus(rows, -1.);
    std::vector<Reals> image_changes, residual_changes; // Anderson's, the newest last
    Reals last_image, last_residual;
    for (;;) {
        Reals image = search.values(p.function, search.x, theta), residual = image;
        add_rows(minus, search.x, residual);
        search.norm = row_norms(residual, rows);
        search.scale.assign(rows, 0.);
        bool all = true;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t i = r * size; i < (r + 1) * size; ++i)
                search.scale[r] =
                    std::hypot(search.scale[r], p.options.x_scale + std::abs(search.x[i]));
            all &= search.is_solution(r);
        }
        if (all) { // J is worth a pass now
            LocalResidual local(p, search.tensors(), theta);
            if (search.is_solution(local)) return search.tensors();
        } else search.count();
        if (p.options.anderson && !last_image.empty()) {
            add_rows(ones, image, last_image, minus);
            add_rows(ones, residual, last_residual, minus);
            image_changes.push_back(std::move(last_image));
            residual_changes.push_back(std::move(last_residual));
            if (image_changes.size() > p.options.anderson) {
                image_changes.erase(image_changes.begin());
                residual_changes.erase(residual_changes.begin());
            }
        }
        last_image = image;
        last_residual = residual;
        // The combination of the last residuals that is least: for each row.
        std::size_t const m = image_changes.size();
        std::vector<Reals> products;
        for (auto const& a : residual_changes) {
            for (auto const& b : residual_changes) products.push_back(row_products(a, b, rows));
            products.push_back(row_products(a, residual, rows));
        }
        search.x = std::move(image);
        std::vector<Reals> weights(m, Reals(rows, 0.));
        for (std::size_t r = 0; r < rows; ++r) {
            Reals matrix, right;
            for (std::size_t k = 0; k < products.size(); ++k)
                (k % (m + 1) == m ? right : matrix).push_back(products[k][r]);
            for (std::size_t k = 0; k < m; ++k) matrix[k * (m + 1)] *= 1. + 1e-13;
            if (m == 0 || !eliminate(matrix, right.data(), m, 1e-300)) continue;
            for (std::size_t k = 0; k < m; ++k) weights[k][r] = -right[k];
        }
        for (std::size_t k = 0; k < m; ++k) add_rows(weights[k], image_changes[k], search.x);
    }
}

XGRAD_LAZY_BODY Tensors find_minimum(
    ImplicitProblem const& p, Tensors const& x0, Tensors const& theta) {
    Search search(p, x0, 100);
    auto const& parts = search.parts;
    auto const heights = [&](Reals const& at) {
        Tensors const y = p.function(parts.unpack(at), theta);
        return RealParts(p.name, y, p.options.rows).pack(y);
    };
    double first = 0.;
    for (;;) {
        LocalResidual local(p, search.tensors(), theta);
        if (search.is_solution(local)) return search.tensors();
        Reals downhill = parts.pack(local.residual());
        for (auto& number : downhill) number = -number;
        search.clear_solutions(downhill);
        double norm = 0.;
        for (double const x : row_norms(downhill, parts.rows)) norm = std::max(norm, x);
        if (first == 0.) first = norm;
        auto const system = local.system("a Newton step", false);
        Reals const step =
            LinearSolver(system, downhill, p.options, std::min(0.1, norm / first)).cg(true);
        Reals const slope = row_products(step, downhill, parts.rows);
        Reals const height = heights(search.x);
        search.move(step, heights, [&](std::size_t r, double t, Reals const& y) {
            double const rounding = 8. * parts.eps * std::abs(height[r]);
            return y[r] <= height[r] - 1e-4 * t * slope[r] + rounding;
        });
    }
}

XGRAD_LAZY_BODY Tensors solve_system(
    ImplicitProblem const& p, Tensors const& b, Tensors const& theta) {
    RealParts const parts(p.name, b, p.options.rows);
    auto const product = [&](Reals const& v) {
        Tensors const image = p.function(parts.unpack(v), theta);
        check_fits(p.name, image, b);
        return parts.pack(image);
    };
    Reals const zeros(parts.rows * parts.size, 0.);
    for (double const number : product(zeros))
        if (number != 0.)
            fail<Error>(p.name, ": the operator is not linear: it does not map 0 to 0");
    Tensors all = b;
    append_tensors(all, theta);
    std::optional<LocalResidual> local;
    auto const at_zero = [&]() -> LocalResidual& {
        return local ? *local : local.emplace(p, parts.unpack(zeros), all);
    };
    if (parts.rows > 1) at_zero().check_rows();
    auto const adjoint = [&](Reals const& v) { return at_zero().adjoint(v); };
    LinearSystem const system{
        p.name, "the solution", parts.rows, parts.size, parts.eps, product, adjoint};
    auto const wanted = parts.pack(b);
    for (double const number : wanted)
        if (!std::isfinite(number)) fail(p.name, ": b is not finite");
    auto const x = solve_linear(p, system, wanted);
    // The solver has seen A only as a linear function: then A(-x/2) is -A(x)/2.
    auto difference = product(x), half = x;
    for (auto& number : half) number *= -0.5;
    half = product(half);
    add_rows(Reals(parts.rows, 0.5), difference, half);
    auto const norm = row_norms(wanted, parts.rows), image = row_norms(difference, parts.rows),
               bend = row_norms(half, parts.rows);
    add_rows(Reals(parts.rows, -1.), wanted, difference);
    auto const distance = row_norms(difference, parts.rows);
    double const tol = std::cbrt(parts.eps);
    for (std::size_t r = 0; r < norm.size(); ++r) {
        if (distance[r] <= tol * norm[r]) continue;
        std::string const how = number_text(distance[r], {3}) + in_row(r, parts.rows);
        if (bend[r] <= tol * image[r])
            fail<ConvergenceError>(p.name,
                ": the linear system for the solution is singular up to rounding: |A(x) - b| is ",
                how);
        fail<Error>(p.name, ": the operator is not linear: |A(x) - b| is ", how,
            " at the solution of a linear one");
    }
    return parts.unpack(x);
}

} // namespace xgrad::detail

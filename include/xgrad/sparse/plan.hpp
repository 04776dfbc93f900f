// Sparse Jacobians and Hessians: sparsity(), which finds the pattern and colours it once, and
// sparse_jacobian() and sparse_hessian().
//
// Shapes: a row for each element of the results, in row-major order, one result after the other; a
// column for each element of the inputs. Later inputs have the shapes of the first ones.
// Gradients: those of jacobian() and hessian(): for complex x the entries of one row are the
// gradient of Re y, d Re y/d Re x + i d Re y/d Im x. The results are not recorded.
// Errors: ShapeError for inputs and results of other shapes than those of the plan, for a given
// pattern that does not fit or is no symmetric one of a Hessian, and for a Hessian of several
// elements; GraphError where f records another graph than the plan was made for, and where `check`
// finds an entry outside of the pattern; Error for a pattern with too many entries. Inputs and
// results of several scalar types, and a Hessian of complex inputs, do not compile.
#pragma once

#include <optional>

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/sparse/coloring.hpp>
#include <xgrad/sparse/pattern.hpp>

namespace xgrad {

/// Options of sparsity(), sparse_jacobian() and sparse_hessian().
struct SparsityOptions {
    std::optional<SparsePattern> jacobian = {}; // where it is known; found otherwise
    std::optional<SparsePattern> hessian = {};  // likewise
    /// Each evaluation compares one random product with the entries, and throws GraphError where
    /// one is missing in the pattern. That costs one pass more. docs/many.md says which entries
    /// are too small to be seen.
    bool check = false;
    /// An evaluation for which the function records other Nodes, indices or masks makes the plan
    /// anew, where it would throw GraphError. A pattern that is given stays.
    bool replan = false;
};

namespace detail {

/// A fused Node of a gradient whose operands consist of elements of the inputs: the second
/// derivatives of its expression, one for each element and pair of operands, are entries.
struct AssembledNode {
    struct Part {
        std::size_t push, output, size; // the edge that has a tangent of 1, and what is read
    };
    std::vector<Shape> shapes; // of the operands, by edges
    std::vector<Part> parts;
};

/// How the entries of a pattern are computed: which elements share a tangent or a grad_output, and
/// where its product has which entries.
struct CompressedPasses {
    enum class By { columns, rows, symmetric };
    std::string_view transform;
    std::shared_ptr<SparsePattern const> pattern;
    By by = By::columns;
    std::vector<Shape> inputs, outputs; // of the function, or of its gradient
    Coloring coloring;                  // of the inputs, or of the outputs for rows
    // Of each entry, the colour whose product has it, times 2^shift, plus the element there.
    std::vector<std::uint32_t> from;
    int shift = 0, assembled_shift = 0;
    // A Hessian that is assembled without passes: of each entry the elements that are added up, in
    // sources[begin[entry]] and so on, as for `from`, with parts in the place of colours.
    std::vector<AssembledNode> assembled;
    std::vector<std::uint32_t> begin, sources;
    // For which the pattern was found: of the function, or of its gradient.
    std::optional<GraphStructure> graph;
    bool compares_gradients = false;
};

XGRAD_LAZY CompressedPasses jacobian_passes(Evaluation const& e, SparsePattern const* given);
XGRAD_LAZY CompressedPasses hessian_passes(Evaluation const& e, SparsePattern const* given);
/// The entries, in a vector. With `replan` p may become another plan.
XGRAD_LAZY AnyTensor sparse_entries(
    CompressedPasses& p, Evaluation const& e, bool check, bool replan = false);

/// The derivatives that a plan is for.
enum class Planned {
    jacobian, // of any function
    hessian,  // of a function that returns one real number
    both      // the Hessian, too, where the function has one
};
inline constexpr std::string_view makers_of[] = {"sparse_jacobian", "sparse_hessian", "sparsity"};
/// The scalar type of all tensors of a function, if it is one.
template <class S> struct SameScalars;
template <class T, class... More> struct SameScalars<std::tuple<T, More...>> {
    using type = T;
    static constexpr bool fits = (std::same_as<T, More> && ...) && Differentiable<T>;
};

} // namespace detail

/// A function together with the patterns and colourings of its derivatives, which sparsity() made.
/// They hold for other inputs as long as the function records the same graph for them. Where a
/// branch, an index or a mask depends on values, an evaluation throws GraphError, or makes the plan
/// anew with `replan`: then no two threads may use it at once.
template <class F, class In> class Sparsity {
    using Of = detail::Transform<F&, In>;

public:
    using scalar = typename detail::SameScalars<detail::scalars_of<In>>::type;

    Sparsity(F f, In const& x, SparsityOptions options, detail::Planned planned)
        : f_(std::move(f)), check_(options.check), replan_(options.replan) {
        auto const given = [](auto const& pattern) { return pattern ? &*pattern : nullptr; };
        run(detail::makers_of[static_cast<std::size_t>(planned)], x,
            [&](detail::Evaluation const& e) {
                if (planned != detail::Planned::hessian)
                    jacobian_ = detail::jacobian_passes(e, given(options.jacobian));
                if constexpr (is_function_of_reals)
                    if (planned == detail::Planned::hessian ||
                        (planned == detail::Planned::both && e.outputs[0].numel() == 1))
                        hessian_ = detail::hessian_passes(e, given(options.hessian));
            });
    }

    /// The derivatives of all elements of f(x).
    SparseMatrix<scalar> jacobian(In const& x) const { return entries(jacobian_, x); }
    /// The second derivatives of f(x), which is one real number.
    SparseMatrix<scalar> hessian(In const& x) const {
        static_assert(is_function_of_reals, "hessian: the function should return a single Tensor "
                                            "of real numbers, and have real inputs");
        return entries(planned_hessian("hessian"), x);
    }
    SparsePattern const& jacobian_pattern() const { return *jacobian_.pattern; }
    /// Of a function that returns one real number.
    SparsePattern const& hessian_pattern() const {
        return *planned_hessian("hessian_pattern").pattern;
    }
    /// The number of colours: of columns that go into one tangent, or of rows that go into one
    /// grad_output.
    int jacobian_colors() const noexcept { return jacobian_.coloring.count; }
    int hessian_colors() const noexcept { return hessian_.coloring.count; }

private:
    static constexpr bool is_function_of_reals = Of::returns_real && detail::all_real<In>;

    detail::CompressedPasses& planned_hessian(std::string_view name) const {
        if (!hessian_.pattern)
            detail::fail<ShapeError>(
                name, ": the function given to sparsity() does not return one real number");
        return hessian_;
    }
    template <class Body> void run(std::string_view name, In const& x, Body const& body) const {
        Of::run(name, f_, x, {.create_graph = false}, [&](auto const& e, auto const&, auto const&) {
            body(e);
            return 0;
        });
    }
    SparseMatrix<scalar> entries(detail::CompressedPasses& passes, In const& x) const {
        AnyTensor values;
        detail::CachedVector<Edge> captured;
        bool const is_nested = detail::differentiated && detail::recording();
        run(passes.transform, x, [&](detail::Evaluation const& e) {
            values = detail::sparse_entries(passes, e, check_, replan_);
            if (is_nested) captured = e.captured();
        });
        if (is_nested)
            detail::forbid_derivatives(passes.transform, captured, detail::erased(x), {&values, 1},
                "take jacobian() or hessian()");
        return {passes.pattern, values.as<scalar>()};
    }

    mutable F f_;
    bool check_, replan_;
    mutable detail::CompressedPasses jacobian_, hessian_;
};

namespace detail {

/// Calls use(plan, x).
template <class F, class X, class Use>
auto with_plan(F&& f, X const& x, SparsityOptions options, Planned which, Use use) {
    using Of = Transform<F, X>;
    if constexpr (Of::fits) {
        using All = SameScalars<decltype(std::tuple_cat(
            std::declval<scalars_of<X>>(), std::declval<scalars_of<typename Of::Result>>()))>;
        static_assert(All::fits, "sparsity: all inputs and results have one scalar type, real or "
                                 "complex: cast them, or let the function return view_as_real(y)");
        if constexpr (All::fits) {
            structure<X> const at(StructureOf<X>::make(x));
            return use(Sparsity<KeptCallable<F>, structure<X>>(
                           std::forward<F>(f), at, std::move(options), which),
                at);
        }
    }
}

} // namespace detail

detail::no_such_option_or_wrong_arguments sparsity(...) = delete;        // f, inputs(a), options
detail::no_such_option_or_wrong_arguments sparse_jacobian(...) = delete; // f, inputs(a), options
detail::no_such_option_or_wrong_arguments sparse_hessian(...) = delete;  // f, inputs(a), options

/// A plan for the Jacobian of f, and for its Hessian where f returns one real number. Tangents, or
/// grad_outputs, are compressed by a colouring of the columns or of the rows, whichever needs fewer
/// (distance-2), and of the Hessian by a star colouring: sparse/coloring.hpp has the sources. `x`
/// is a Tensor or a structure of tensors.
template <class F, class X> auto sparsity(F&& f, X const& x, SparsityOptions options = {}) {
    return detail::with_plan(std::forward<F>(f), x, std::move(options), detail::Planned::both,
        [](auto plan, auto const&) { return plan; });
}
/// The Jacobian of f at x. For several x make a plan: sparsity().
template <class F, class X> auto sparse_jacobian(F&& f, X const& x, SparsityOptions options = {}) {
    return detail::with_plan(std::forward<F>(f), x, std::move(options), detail::Planned::jacobian,
        [](auto const& plan, auto const& at) { return plan.jacobian(at); });
}
/// The Hessian of f, which returns one real number, at x. For several x make a plan: sparsity().
template <class F, class X> auto sparse_hessian(F&& f, X const& x, SparsityOptions options = {}) {
    return detail::with_plan(std::forward<F>(f), x, std::move(options), detail::Planned::hessian,
        [](auto const& plan, auto const& at) { return plan.hessian(at); });
}

} // namespace xgrad

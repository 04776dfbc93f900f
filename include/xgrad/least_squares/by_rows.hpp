// by_rows(): residuals of many observations, each of a few rows of the parameters, which an index
// names: camera i sees point j. least_squares() solves their normal equations in blocks.
//
// Shapes: m observations have residuals of the shape (m) or (m, r). A parameter is (n, ...), and
// its index (m), or (m, c) where an observation has c rows of it.
// Gradients: as in least_squares(). The residual as a function of the parameters is recorded.
// Errors: ShapeError for indices of other shapes; IndexError for an index that names a row that
// its parameter does not have; GraphError where rows of the residual meet; Error for linear_solver
// qr, and for a covariance of very many parameters. Parameters that are no tensors, and indices
// that are no integers, do not compile.
#pragma once

#include <xgrad/least_squares/fit.hpp>
#include <xgrad/tensor/index_select.hpp>

namespace xgrad {

namespace detail {

using RowIndex = Tensor<std::int64_t>;

/// The rows of a parameter that an index names: (m, ...), or (m, c, ...).
template <class X> X indexed_rows(X const& x, RowIndex const& index) {
    if (index.dim() == 1) return X(index_select(x, 0, index));
    Shape shape = index.shape();
    for (std::size_t axis = 1; axis < x.dim(); ++axis) shape.push_back(x.shape()[axis]);
    return reshape(X(index_select(x, 0, index.reshape({-1}))), shape);
}
/// The solver for these indices, of one parameter each; throws where they do not fit.
XGRAD_LAZY std::shared_ptr<RowSolver> row_solver(
    std::span<RowIndex const> indices, TensorSpan x0, NormalSolver solver);

/// Throws where a residual has not a row for each observation.
XGRAD_LAZY void check_observations(AnyTensor const& residual, RowIndex const& index);

} // namespace detail

/// What by_rows() returns.
template <class F, std::size_t n> class ByRows {
public:
    ByRows(F f, std::array<detail::RowIndex, n> indices)
        : f_(std::move(f)), indices_(std::move(indices)) {}

    /// The rows of each parameter that its index names.
    template <detail::TensorLike... X>
        requires(sizeof...(X) == n)
    auto rows(X const&... x) const {
        return [&]<std::size_t... k>(std::index_sequence<k...>) {
            return std::tuple(detail::indexed_rows(x, indices_[k])...);
        }(std::make_index_sequence<n>());
    }
    /// The residuals for these parameters, as a function like any other.
    template <detail::TensorLike... X>
        requires(sizeof...(X) == n)
    auto operator()(X const&... x) const {
        return std::apply(f_, rows(x...));
    }
    F const& function() const noexcept { return f_; }
    std::array<detail::RowIndex, n> const& indices() const noexcept { return indices_; }

private:
    F f_;
    std::array<detail::RowIndex, n> indices_;
};

namespace detail {
template <class F> inline constexpr std::size_t rows_taken = 0;
template <class F, std::size_t n> inline constexpr std::size_t rows_taken<ByRows<F, n>> = n;
template <class X> inline constexpr std::size_t parameters_in = TensorLike<X>;
template <class... X>
inline constexpr std::size_t parameters_in<std::tuple<X...>> =
    (TensorLike<X> && ...) ? sizeof...(X) : 0;
} // namespace detail

/// A residual of m observations for least_squares(): f gets, for each parameter, the rows that its
/// index names, and returns what the m observations leave, (m) or (m, r). A row of that depends on
/// the same row of each argument only.
template <class F, class... I> auto by_rows(F&& f, I const&... indices) {
    constexpr bool are_indices = (std::same_as<I, detail::RowIndex> && ...) && sizeof...(I) > 0;
    static_assert(are_indices,
        "by_rows: after the function comes an index for each parameter, a Tensor<std::int64_t>");
    if constexpr (are_indices)
        return ByRows<std::decay_t<F>, sizeof...(I)>(std::forward<F>(f), {indices...});
    else return std::forward<F>(f); // so that there is one error
}

/// least_squares() of a residual by rows. `x0` is a Tensor, or a std::tuple with one for each
/// index. The Jacobian is computed by rows, and the normal equations in blocks: first the parameter
/// with the most numbers of which an observation has one row is eliminated (Schur's complement, as
/// all points of a bundle adjustment), then the rest in an order that keeps the factors sparse. A
/// loss is that of a whole row, with |r|^2 of its numbers. Complex numbers are solved for by their
/// parts.
template <class F, class X>
    requires(detail::rows_taken<std::remove_cvref_t<F>> > 0)
auto least_squares(F&& residual, X const& x0, LeastSquaresOptions const& options = {}) {
    constexpr std::size_t n = detail::rows_taken<std::remove_cvref_t<F>>;
    constexpr bool fits = detail::parameters_in<X> == n;
    static_assert(fits, "least_squares: the parameters of a residual by rows are a Tensor, or a "
                        "std::tuple with one for each index");
    if constexpr (fits) {
        using In = detail::structure<X>;
        using Function = std::remove_reference_t<decltype(residual.function())>;
        auto const rows_of = [&](In const& x) {
            NoGradGuard const off;
            if constexpr (detail::TensorLike<In>) return residual.rows(x);
            else return std::apply([&](auto const&... each) { return residual.rows(each...); }, x);
        };
        using Rows = decltype(rows_of(x0));
        using Of = detail::Transform<Function, Rows>;
        if constexpr (Of::fits) {
            using Result = detail::structure<typename Of::Result>;
            constexpr bool is_tensor =
                detail::TensorLike<Result> && detail::all_differentiable<Result>;
            static_assert(
                is_tensor, "by_rows: the function must return a tensor of real or complex numbers");
            if constexpr (is_tensor) {
                In const like(x0);
                auto const parameters = detail::erased(like);
                auto const call = [&](detail::TensorSpan x) {
                    return Of::run("by_rows", residual.function(),
                        rows_of(detail::with_tensors(like, x)), {.create_graph = false},
                        [&](auto const& e, auto const&, Result const& out) {
                            detail::check_observations(out, residual.indices()[0]);
                            detail::Tensors outputs{out};
                            if constexpr (ComplexScalar<typename Result::scalar>)
                                outputs[0] = view_as_real(out);
                            return detail::ResidualCall{
                                detail::listed(e.inputs), outputs, e.before};
                        });
                };
                auto s = detail::minimize_squares(call, parameters, options,
                    detail::row_solver(residual.indices(), parameters, options.linear_solver));
                auto const fun = [&] {
                    using T = typename Result::scalar;
                    if constexpr (ComplexScalar<T>)
                        return view_as_complex(s.fun[0].template as<precision_of<T>>());
                    else return s.fun[0].template as<T>();
                };
                return LeastSquaresResult<In, Result>{detail::with_tensors(like, s.x), fun(),
                    detail::with_tensors(like, s.grad), s.cost, s.optimality, s.nfev, s.njev, s.nit,
                    s.success, std::move(s.message), std::move(s.covariance)};
            }
        }
    }
}

} // namespace xgrad

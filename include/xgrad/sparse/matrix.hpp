// SparsePattern and SparseMatrix: where a matrix has entries, and the entries, row by row (CSR).
//
// Shapes: outer() has rows() + 1 numbers, inner() and values() one for each entry. Row i has the
// entries outer()[i] to outer()[i + 1], whose columns inner() tells, in increasing order. They are
// the arrays of a row-major Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor> const>.
// Gradients: values() is a leaf that requires none.
// Errors: ShapeError for arrays that are no pattern, and for more than 2^31 - 1 rows, columns or
// entries.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <xgrad/tensor/create.hpp>

namespace xgrad {

/// The places of a matrix that may have an entry other than 0.
class SparsePattern {
public:
    SparsePattern() = default;
    /// Of the arrays of a compressed matrix: the columns of each row in increasing order.
    SparsePattern(
        std::size_t rows, std::size_t cols, std::vector<int> outer, std::vector<int> inner);
    /// Of places (row, column) in any order; one may occur several times.
    static SparsePattern of_entries(std::size_t rows, std::size_t cols,
        std::vector<std::pair<std::size_t, std::size_t>> entries);

    /// The number of rows.
    std::ptrdiff_t rows() const noexcept { return static_cast<std::ptrdiff_t>(outer_.size()) - 1; }
    /// The number of columns.
    std::ptrdiff_t cols() const noexcept { return cols_; }
    /// The number of entries.
    std::ptrdiff_t nonzeros() const noexcept { return outer_.back(); }
    /// The number of the first entry of each row, and the number of all entries.
    std::vector<int> const& outer() const noexcept { return outer_; }
    /// The column of each entry.
    std::vector<int> const& inner() const noexcept { return inner_; }
    /// The columns of a row.
    std::span<int const> row(std::size_t i) const noexcept {
        return {inner_.data() + outer_[i], inner_.data() + outer_[i + 1]};
    }
    /// The pattern of the transposed matrix.
    SparsePattern transposed() const;
    bool operator==(SparsePattern const&) const = default;

private:
    std::ptrdiff_t cols_ = 0;
    std::vector<int> outer_{0}, inner_;
};

/// An entry of a sparse matrix, as Eigen's setFromTriplets() takes them.
template <class T> class Triplet {
public:
    Triplet(int row, int col, T const& value) : row_(row), col_(col), value_(value) {}
    int row() const noexcept { return row_; }          // from 0 on
    int col() const noexcept { return col_; }          // likewise
    T const& value() const noexcept { return value_; } // the entry

private:
    int row_, col_;
    T value_;
};

/// A sparse matrix by rows. Its pattern is shared with the plan that made it, and with the other
/// matrices of that plan.
template <Differentiable T> class SparseMatrix {
public:
    SparseMatrix(std::shared_ptr<SparsePattern const> pattern, Tensor<T> values)
        : pattern_(std::move(pattern)), values_(std::move(values)) {}

    /// The number of rows.
    std::ptrdiff_t rows() const noexcept { return pattern_->rows(); }
    /// The number of columns.
    std::ptrdiff_t cols() const noexcept { return pattern_->cols(); }
    /// The number of entries that are stored.
    std::ptrdiff_t nonzeros() const noexcept { return pattern_->nonzeros(); }
    /// rows() + 1 numbers: where each row begins, and the number of entries.
    int const* outer() const noexcept { return pattern_->outer().data(); }
    /// The column of each entry.
    int const* inner() const noexcept { return pattern_->inner().data(); }
    /// The entries, one row after the other.
    Tensor<T> const& values() const noexcept { return values_; }
    /// The first of the entries.
    T const* data() const noexcept { return values_.data(); }
    SparsePattern const& pattern() const noexcept { return *pattern_; }

    /// All entries, one row after the other.
    std::vector<Triplet<T>> triplets() const {
        std::vector<Triplet<T>> list;
        list.reserve(static_cast<std::size_t>(nonzeros()));
        for (int i = 0; i < rows(); ++i)
            for (int const j : pattern_->row(static_cast<std::size_t>(i)))
                list.emplace_back(i, j, data()[list.size()]);
        return list;
    }
    /// All elements, in a tensor of two axes.
    Tensor<T> to_dense() const {
        auto const n = static_cast<std::size_t>(cols());
        detail::Array<T> dense(Shape{static_cast<std::size_t>(rows()), n}, T(0));
        for (std::size_t i = 0, at = 0; i < dense.shape[0]; ++i)
            for (int const j : pattern_->row(i))
                dense.begin()[i * n + static_cast<std::size_t>(j)] = data()[at++];
        return Tensor<T>(std::move(dense));
    }

private:
    std::shared_ptr<SparsePattern const> pattern_;
    Tensor<T> values_;
};

} // namespace xgrad

// Bodies of linalg.hpp.
#pragma once

#include <xgrad/ops/linalg.hpp>

namespace xgrad {

XGRAD_FUNCTION auto Matmul::result_form() const noexcept -> Form {
    return a_is.is_row() ? Form::row : b_is.is_column() ? Form::column : Form::matrix;
}

XGRAD_FUNCTION Matmul::Matrix::Matrix(Shape const& shape, Strides const& strides, MatmulFactor is) {
    if (is.form != Form::column) {
        columns = shape.back();
        column_step = strides.back();
    } else {
        rows = shape.back();
        row_step = strides.back();
    }
    if (is.form == Form::matrix) {
        rows = *(shape.end() - 2);
        row_step = *(strides.end() - 2);
    }
    if (!is.transposed) return;
    std::swap(rows, columns);
    std::swap(row_step, column_step);
}

} // namespace xgrad

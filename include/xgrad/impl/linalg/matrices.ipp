// Bodies of matrices.hpp and einsum.hpp.
#pragma once

#include <xgrad/linalg/einsum.hpp>
#include <xgrad/linalg/matrices.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION MatrixSizes::MatrixSizes(Shape const& s)
    : rows(lapack::count(s[s.size() - 2])), columns(lapack::count(s.back())) {
    for (std::size_t d = 0; d + 2 < s.size(); ++d) count *= s[d];
}

XGRAD_FUNCTION std::size_t MatrixSizes::elements() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

XGRAD_FUNCTION Shape without_last(Shape const& s, std::size_t n) {
    return Shape(s.begin(), s.end() - static_cast<std::ptrdiff_t>(n));
}

XGRAD_FUNCTION std::string at_matrix(std::string_view name, Shape const& shape, std::size_t i) {
    return std::string(name) + ": " +
           (shape.size() > 2 ? "(Batch element " + std::to_string(i) + "): " : "");
}

XGRAD_FUNCTION Axes joined(std::initializer_list<Axes> parts) {
    Axes all;
    for (auto const& part : parts)
        for (auto const n : part) all.push_back(n);
    return all;
}

XGRAD_FUNCTION Subscripts::Subscripts(std::string_view equation, std::vector<Shape> const& shapes)
    : equation_(equation) {
    auto const arrow = equation.find("->");
    auto left = equation.substr(0, arrow);
    auto const named = static_cast<std::size_t>(std::ranges::count(left, ',')) + 1;
    if (named != shapes.size())
        fail<ShapeError>("einsum: the equation \"", equation, "\" has subscripts for ", named,
            " operands, but there are ", shapes.size());
    for (std::size_t i = 0; i < named; ++i) {
        auto const end = std::min(left.find(','), left.size());
        operands_.push_back(of_operand(left.substr(0, end), shapes[i], i));
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    if (arrow == equation.npos) implicit_output();
    else explicit_output(equation.substr(arrow + 2));
}

XGRAD_FUNCTION bool Subscripts::is_needed(int index, std::size_t next) const {
    return has(output_, index) ||
           std::any_of(operands_.begin() + static_cast<std::ptrdiff_t>(next), operands_.end(),
               [&](auto const& o) { return has(o, index); });
}

XGRAD_FUNCTION Indices Subscripts::of_operand(
    std::string_view text, Shape const& shape, std::size_t number) {
    std::size_t labels = 0;
    bool has_ellipsis = false;
    read(
        text, [&](char) { ++labels; }, [&] { has_ellipsis = true; });
    if (labels > shape.size() || (labels < shape.size() && !has_ellipsis))
        fail<ShapeError>("einsum: the subscripts \"", text, "\" name ", labels,
            " axes, and operand ", number, " has shape ", shape);
    auto const under = static_cast<int>(shape.size() - labels);
    ellipsis_ = std::max(ellipsis_, under);
    Indices indices;
    auto const add = [&](int index) {
        auto const n = shape[indices.size()];
        for (std::size_t i = 0; i < indices.size(); ++i)
            if (indices[i] == index && shape[i] != n)
                fail<ShapeError>("einsum: subscript ", std::string(1, static_cast<char>(index)),
                    " is repeated for operand ", number, " of shape ", shape,
                    " but the sizes don't match, ", n, " != ", shape[i]);
        auto& known = extents_.try_emplace(index, n).first->second;
        if (known == 1) known = n;
        if (n != known && n != 1)
            fail<ShapeError>("einsum: subscript ",
                index < 0 ? std::string("...") : std::string(1, static_cast<char>(index)),
                " has size ", n, " for operand ", number, " of shape ", shape,
                " which does not broadcast with previously seen size ", known);
        indices.push_back(index);
    };
    read(
        text, [&](char c) { add(c); },
        [&] {
            for (int i = -under; i < 0; ++i) add(i);
        });
    return indices;
}

XGRAD_FUNCTION void Subscripts::implicit_output() {
    std::map<int, int> times;
    for (auto const& operand : operands_)
        for (int const index : operand) ++times[index];
    for (auto const& [index, n] : times)
        if (index < 0 || n == 1) output_.push_back(index);
}

XGRAD_FUNCTION void Subscripts::explicit_output(std::string_view text) {
    read(
        text,
        [&](char c) {
            if (has(output_, c))
                fail<Error>("einsum: output subscript ", std::string(1, c),
                    " appears more than once in the output of \"", equation_, "\"");
            if (!extents_.contains(c))
                fail<Error>("einsum: output subscript ", std::string(1, c),
                    " does not appear in the equation for any input operand");
            output_.push_back(c);
        },
        [&] {
            for (int i = -ellipsis_; i < 0; ++i) output_.push_back(i);
        });
}

} // namespace xgrad::detail

// A formula that a person types, computed with xgrad. No compiler sees it as a whole, so each of
// its operations is recorded as a Node of its own.
//
//   sum     = product { ("+" | "-") product }
//   product = factor { ("*" | "/") factor }      2x and 2(x + 1) are products, too
//   factor  = ("+" | "-") factor | operand ["^" factor]
//   operand = number | name | name "(" sum {"," sum} ")" | "(" sum ")"
#pragma once

#include <complex>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace playground {

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<std::complex<double>>;
using Value = std::variant<Real, Complex>; // of shape []

/// Says in one sentence what is wrong with a formula.
struct FormulaError : std::runtime_error {
    std::size_t position; // in bytes, from the first character of the formula
    FormulaError(std::size_t at, std::string const& what)
        : std::runtime_error(what), position(at) {}
};

/// The value of a part of the formula that stands for a variable or for a recorded operation.
struct Step {
    std::string text;
    Value value;
};

/// The names in a formula that are neither functions nor constants, in the order of their first
/// use. Throws a FormulaError where the formula has a character or a number that means nothing.
std::vector<std::string> variables_of(std::string const& formula);

/// Computes a formula at the given values of its variables. Appends what it computes to `steps`:
/// first the variables, then each operation after those that it uses. Throws a FormulaError.
Value evaluate(std::string const& formula, std::map<std::string, Value> const& variables,
    std::vector<Step>& steps);
/// The same of a formula without variables.
Value evaluate(std::string const& formula);

/// The names of all functions, sorted.
std::vector<std::string> function_names();

} // namespace playground

// Random programs on tensors, in a form that xgrad and libtorch can both run. Read Program, then
// make_program() in program.cpp.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

using Extents = std::vector<std::int64_t>;
using Number = std::complex<double>;

enum class Op {
    // elementwise, of one tensor
    sine,
    tangent_h,
    exponential,
    square,
    negative,
    logistic,
    absolute,
    relu,
    softplus,
    conjugate,
    real_part,
    imaginary_part,
    squared_modulus,
    from_real,
    scaled,
    // elementwise, of two, broadcast
    add,
    subtract,
    multiply,
    divide,
    maximum,
    select_larger,
    make_complex,
    // along axes
    sum,
    mean,
    largest,
    product,
    log_sum_exp,
    variance,
    cumulative_sum,
    cumulative_product,
    sorted,
    // views
    transposed,
    slice,
    element,
    row_added,
    row_removed,
    diagonal,
    reshaped,
    expanded,
    parts_of_complex,
    // copies
    flipped,
    rolled,
    lower_triangle,
    joined,
    stacked,
    picked,
    padded,
    matrix_product,
    dot,
    cloned,
    // in place: the result is the first argument itself
    add_in_place,
    multiply_in_place,
    sine_in_place,
    copy_in_place,
    fill_in_place,
};

struct Type {
    Extents shape;
    bool is_complex = false;
    bool operator==(Type const&) const = default;
};

/// One operation. Its result is a register; `of` are the registers that it takes.
struct Instruction {
    Op op;
    std::vector<std::size_t> of;
    std::vector<std::int64_t> numbers = {}; // axes, positions, extents: see describe()
    double factor = 0;
    Type type = {}; // of the result
};

/// Registers are the leaves, then the results. The loss is the sum of all elements of the outputs,
/// each times a weight.
struct Program {
    std::vector<Type> leaves;
    std::vector<Instruction> code;
    std::vector<std::size_t> outputs;
    std::uint64_t seed = 0;

    Type const& type(std::size_t r) const {
        return r < leaves.size() ? leaves[r] : code[r - leaves.size()].type;
    }
};

/// What running a program gives: the outputs' values, the loss's gradients for the leaves, and
/// those of a weighted sum of these gradients. `error` where it cannot be differentiated, because a
/// value that is needed was changed in place.
struct Outcome {
    std::vector<std::vector<Number>> values, first, second;
    std::string error;
};

Program make_program(std::uint64_t seed);
/// Without the instructions that no output depends on.
Program without_dead_code(Program const& p);
std::string describe(Program const& p);

/// The numbers of a leaf, or the weights of an output or of a gradient (purpose): the same for both
/// libraries.
std::vector<Number> numbers_for(
    Program const& p, std::size_t index, std::size_t count, int purpose);

Outcome run_by_torch(Program const& p);
Outcome run_by_xgrad(Program const& p);

/// "" where both agree, or what differs. A program that either cannot differentiate, or whose
/// numbers are not finite or too large to be compared, gives "skipped".
std::string compare(Outcome const& xgrad, Outcome const& torch);

} // namespace oracle

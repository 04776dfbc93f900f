// Random compositions of everything differentiable, put together at run time from functions that
// are compiled once. README.md tells how the parts fit, and how to add an operation.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <xgrad/vmap.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

namespace composed {

using D = xg::Tensor<double>;
using Z = xg::Tensor<std::complex<double>>;
using I = xg::Tensor<std::int64_t>;

/// What vmap() calls here: one type for all functions, so that there is one level of examples.
struct Body;
using Level =
    xg::detail::FunctionLevel<xg::detail::KeptCallable<Body> const, xg::detail::Levels<>>::type;
using BD = xg::Batched<D, Level>;
using BZ = xg::Batched<Z, Level>;
/// What an operation takes and returns: a tensor, or those of all examples of a vmap().
using Value = std::variant<D, Z, BD, BZ>;
using Values = std::vector<Value>;

inline bool is_batched(Value const& v) { return v.index() > 1; }
inline bool is_complex(Value const& v) { return v.index() % 2 == 1; }
xg::Shape shape_of(Value const& v); // of an example
/// The same for all examples, where vmap() calls a function with others.
Value as_batched(Value const& v);

struct Type {
    bool is_complex = false;
    xg::Shape shape = {};
    bool operator==(Type const&) const = default;
};
Type type_of(Value const& v);

struct Function;
struct Instruction;
using FunctionRef = std::shared_ptr<Function const>;

using Closure = std::function<Value(Values)>;
/// One instruction of a program that runs in another way.
struct Variation {
    Instruction const* at = nullptr;
    /// What is added to its result, of the size of rounding errors; 0: it runs its `alternative`.
    double added = 0;
};
/// One call of an operation while a program runs.
struct Call {
    /// Of a transform: arguments of the inner function, then what it captures, then vectors.
    Values operands;
    Instruction const& at;
    Variation variation = {};

    Closure inner() const; // with what it captures
    std::size_t arguments() const;
    bool returns_complex() const;
    bool has_batches() const;
    /// The vector k behind the arguments and what is captured.
    Value const& extra(std::size_t k) const;
};

/// What an operand of an operation has to be.
struct Slot {
    char kind = 'R';            // R, C, or A for either
    std::string shape = "*";    // "*": any; "+": with an axis; "n,3": these extents, n is random
    std::string domain = "any"; // the name of an operation that brings numbers there
};

/// An operation of a program: a line of a table, or a transform of an inner function.
struct Operation {
    std::string name;
    std::string text; // C++ with a, b, c for the operands
    std::vector<Slot> slots = {};
    std::function<Value(Call const&)> call = {};
    std::function<Value(Call const&)> alternative = {}; // the same value, found in another way
    std::function<bool(Call const&)> is_regular = {};   // whether an equation has one solution here
    double tolerance = 1e-9;                            // of the alternative
    bool is_plain = false;                              // the alternative is not recorded
    bool reads_values = false; // a plan of sparsity() holds for these values only
    bool takes_batches = true; // runs inside of vmap()
    std::string group = {};    // a group is drawn, and then one of it
    std::size_t given = 0;     // leading parameters of the inner function that are no operands
    std::function<std::string(Instruction const&, std::vector<std::string> const&)> print = {};
};

struct Instruction {
    Operation const* op = nullptr;
    std::vector<std::size_t> operands = {}; // registers
    FunctionRef inner = nullptr;
    std::vector<std::int64_t> numbers = {};
    Type type = {}; // of the result
};

/// A function in static single assignment: registers are parameters, captured values, results.
struct Function {
    std::vector<Type> parameters = {};
    std::vector<Type> captured = {};
    std::vector<Instruction> code = {};
    std::size_t result = 0; // a register

    std::size_t first() const { return parameters.size() + captured.size(); }
    Type const& type(std::size_t r) const {
        return r < parameters.size() ? parameters[r]
               : r < first()         ? captured[r - parameters.size()]
                                     : code[r - first()].type;
    }
};

Value run(Function const& f, Values registers, Variation variation = {});
struct TooDear {};
/// In its scope run() throws TooDear after so much work. Work is counted in Nodes that are recorded
/// and operations that are run, so that it is the same on each machine: about 100 in a millisecond.
class Budget {
public:
    explicit Budget(std::uint64_t work);
    Budget(Budget const&) = delete;
    Budget& operator=(Budget const&) = delete;
    ~Budget();

private:
    std::uint64_t before_;
};
/// A lambda for C++, whose parameters have these names.
std::string print(Function const& f, std::vector<std::string> const& names, int indent);
std::string print_inner(Instruction const& at, std::vector<std::string> const& operands);
/// A list as C++ has it: {2, 3}.
std::string braces(xg::Shape const& shape);

/// The value and the vector-Jacobian product of a function, and its Jacobian-vector product.
std::pair<Value, Values> vjp_of(Closure const& f, Values const& x, Value const& v);
std::pair<Value, Value> jvp_of(Closure const& f, Values const& x, Values const& tangents);
/// Re <a, b>.
double product(Value const& a, Value const& b);
Value zeros_of(Type const& type);
/// The zeros with 1, or i, at one element.
Value unit_of(Type const& type, std::size_t element, bool imaginary = false);
double largest(Value const& v); // of absolute values; NaN counts as infinity
Value combine(double p, Value const& a, double q, Value const& b); // p a + q b

/// A function with the values at which it is tried.
struct Program {
    FunctionRef function;
    Values inputs;
    std::uint64_t seed = 0;
};

std::size_t size_of(Function const& f); // instructions, those of inner functions included

/// All operations: the tables of operations_*.cpp, and transforms.cpp.
struct Catalogue {
    std::vector<std::unique_ptr<Operation>> all;

    Operation& add(Operation o) {
        all.push_back(std::make_unique<Operation>(std::move(o)));
        return *all.back();
    }
    Operation const* find(std::string const& name) const;
};
void add_elementwise(Catalogue&);
void add_arrays(Catalogue&);
void add_numbers(Catalogue&);
void add_matrices(Catalogue&);
void add_layers(Catalogue&);
void add_transforms(Catalogue&);
void add_solutions(Catalogue&);
void add_functions(Catalogue&);
std::vector<std::string> planted_names();
/// An operation with an error in its rule.
void add_planted(Catalogue&, std::string const& name);

// -- tables

/// The operands as tensors of these kinds, or all as Batched where one is.
template <char... kinds, class F, std::size_t... i>
Value call_typed(F const& f, Call const& c, bool takes_batches, std::index_sequence<i...>) {
    auto const& x = c.operands;
    auto const value = [](auto const& y) { return Value(xg::eval(y)); };
    (void)takes_batches;
    if constexpr (requires { F::tensors_only; })
        return value(f(std::get<std::conditional_t<kinds == 'C', Z, D>>(x[i])...));
    else {
        if (!(is_batched(x[i]) || ...))
            return value(f(std::get<std::conditional_t<kinds == 'C', Z, D>>(x[i])...));
        return value(f(std::get<std::conditional_t<kinds == 'C', BZ, BD>>(as_batched(x[i]))...));
    }
}
template <char... kinds, class F>
Operation operation(std::string group, std::string text, std::vector<Slot> slots, F f) {
    char const list[] = {kinds...};
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].kind = list[i];
    Operation o{text, text, std::move(slots)};
    o.group = std::move(group);
    o.takes_batches = !requires { F::tensors_only; };
    o.call = [f](Call const& c) {
        return call_typed<kinds...>(f, c, true, std::make_index_sequence<sizeof...(kinds)>());
    };
    return o;
}
template <class F> struct TensorsOnly : F {
    static constexpr bool tensors_only = true;
};

/// A slot from "shape domain", of which the domain may be left out.
Slot slot(std::string const& text);

// A line of a table: the slots of the operands, and an expression of them. REAL of one real
// operand, COMPLEX2 of two complex ones, MIXED of a real and a complex one. Those with _T do not
// run inside of vmap().
template <class F> TensorsOnly<F> tensors_only(F f) { return {f}; }
// clang-format off
#define REAL(p, ...) all.add(operation<'R'>(group, #__VA_ARGS__, {slot(p)}, [](auto const& a) { return __VA_ARGS__; }))
#define REAL_T(p, ...) all.add(operation<'R'>(group, #__VA_ARGS__, {slot(p)}, tensors_only([](auto const& a) { return __VA_ARGS__; })))
#define REAL2(p, q, ...) all.add(operation<'R', 'R'>(group, #__VA_ARGS__, {slot(p), slot(q)}, [](auto const& a, auto const& b) { return __VA_ARGS__; }))
#define REAL2_T(p, q, ...) all.add(operation<'R', 'R'>(group, #__VA_ARGS__, {slot(p), slot(q)}, tensors_only([](auto const& a, auto const& b) { return __VA_ARGS__; })))
#define REAL3(p, q, r, ...) all.add(operation<'R', 'R', 'R'>(group, #__VA_ARGS__, {slot(p), slot(q), slot(r)}, [](auto const& a, auto const& b, auto const& c) { return __VA_ARGS__; }))
#define REAL3_T(p, q, r, ...) all.add(operation<'R', 'R', 'R'>(group, #__VA_ARGS__, {slot(p), slot(q), slot(r)}, tensors_only([](auto const& a, auto const& b, auto const& c) { return __VA_ARGS__; })))
#define COMPLEX(p, ...) all.add(operation<'C'>(group, #__VA_ARGS__, {slot(p)}, [](auto const& a) { return __VA_ARGS__; }))
#define COMPLEX_T(p, ...) all.add(operation<'C'>(group, #__VA_ARGS__, {slot(p)}, tensors_only([](auto const& a) { return __VA_ARGS__; })))
#define COMPLEX2(p, q, ...) all.add(operation<'C', 'C'>(group, #__VA_ARGS__, {slot(p), slot(q)}, [](auto const& a, auto const& b) { return __VA_ARGS__; }))
#define COMPLEX2_T(p, q, ...) all.add(operation<'C', 'C'>(group, #__VA_ARGS__, {slot(p), slot(q)}, tensors_only([](auto const& a, auto const& b) { return __VA_ARGS__; })))
#define MIXED(p, q, ...) all.add(operation<'R', 'C'>(group, #__VA_ARGS__, {slot(p), slot(q)}, [](auto const& a, auto const& b) { return __VA_ARGS__; }))
#define MIXED_T(p, q, ...) all.add(operation<'R', 'C'>(group, #__VA_ARGS__, {slot(p), slot(q)}, tensors_only([](auto const& a, auto const& b) { return __VA_ARGS__; })))
// clang-format on

} // namespace composed

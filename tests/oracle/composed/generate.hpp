// Makes random programs, tries them, and makes those that fail smaller.
#pragma once

#include <map>
#include <optional>

#include "program.hpp"

namespace composed {

/// How often an operation was drawn and could run.
struct Tally {
    std::size_t drawn = 0, used = 0;
    std::string refused; // what it last said
};
using Tallies = std::map<Operation const*, Tally>;

struct Settings {
    int depth = 3;             // of transforms within transforms
    std::uint64_t work = 5000; // of each operation, in the units of Budget
    std::string only = {};     // one operation in each program
};
Program make_program(std::uint64_t seed, Catalogue const&, Tallies&, Settings const& = {});

/// What is wrong with a program.
struct Fault {
    std::string kind;      // "reverse mode", ...
    std::string message;   // what was expected and found
    std::size_t input = 0; // that was moved
    Value direction = D(0.), v = D(0.);
    Instruction const* instruction = nullptr; // that has another value than its alternative
};
/// What was compared in all programs.
struct Counts {
    std::size_t programs = 0, comparisons = 0, differences = 0, undecided = 0, limits = 0;
    std::size_t transforms = 0, deepest = 0;
    std::size_t cut = 0; // comparisons that ended before the last one

    /// Compares until that takes too much work.
    template <class F> void within_budget(F const& compare) {
        try {
            Budget const budget(40'000);
            compare();
        } catch (TooDear) { ++cut; }
    }
};
std::optional<Fault> try_program(Program const&, Counts&);
/// Compares every way to the Jacobian and the Hessian of a function of one real tensor, and what
/// the option `rows` says; returns a kind and a message. Where the function reads values, a plan
/// may be another one at `other`.
std::optional<std::pair<std::string, std::string>> structure_fault(Closure const& f, D const& x,
    D const& other, bool reads_values, std::uint64_t seed, Counts& counts);
/// The same of least_squares() and minimize() of a function of one real tensor.
std::optional<std::pair<std::string, std::string>> fit_fault(
    Closure const& f, D const& x, std::size_t choice, Counts& counts);
/// A smaller program that fails in the same way.
std::pair<Program, Fault> shrink(Program, Fault);
/// A program of C++ that shows both numbers.
std::string source(Program const&, Fault const&);
/// A block of C++ that adds the difference to the value found here to `worst`.
std::string source_of_value(Program const&);

} // namespace composed

// Compares everything that a program computes with something independent.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <xgrad/implicit.hpp>

#include "generate.hpp"

namespace composed {

namespace {

using Random = std::mt19937_64;

Value random_direction(Type const& type, Random& random) {
    auto v = zeros_of(type);
    auto const number = [&] { return static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1; };
    for (std::size_t k = 0; k < xg::numel(type.shape); ++k) {
        if (auto* t = std::get_if<D>(&v)) t->mutable_data()[k] = number();
        else {
            double const re = number();
            std::get<Z>(v).mutable_data()[k] = {re, number()};
        }
    }
    return v;
}
std::string text_of(Value const& v) {
    std::ostringstream text;
    text.precision(8);
    std::visit(
        [&](auto const& t) {
            if constexpr (requires { t.stacked(); }) text << t.stacked();
            else text << t.detach();
        },
        v);
    return text.str();
}

/// A central difference of the largest step below a bound that decides, with the size of its error.
struct Difference {
    bool decided = false;
    Value value = D(0.);
    double error = 0, h = 0;
};
Difference difference(Closure const& f, Values const& x, std::size_t input, Value const& u,
    double scale, double noise, double below = 1) {
    auto const at = [&](double t) {
        auto moved = x;
        moved[input] = combine(1, x[input], t, u);
        return std::visit([](auto const& y) -> Value { return y.detach(); }, f(moved));
    };
    auto const central = [&](double h) { return combine(0.5 / h, at(h), -0.5 / h, at(-h)); };
    Difference d;
    for (double const h : {1e-3, 1e-4, 2e-5}) {
        if (h >= below) continue;
        Value first, second;
        try {
            first = central(h);
            second = central(h / 2);
        } catch (xg::Error const&) {
            continue; // a solver that does not converge there
        }
        auto const best = combine(4. / 3, second, -1. / 3, first);
        auto const error = largest(combine(1, second, -1, first)) + noise / h;
        auto const size = std::max(largest(best), scale);
        if (error < 1e-4 * size) {
            d.decided = true;
            d.value = best;
            d.error = error;
            d.h = h;
            return d;
        }
    }
    return d;
}
/// The size of rounding errors of f: how much it changes where x hardly moves.
double rounding(Closure const& f, Values const& x, std::size_t input, Value const& u) {
    auto const y = f(x);
    double most = 0;
    for (double const t : {1e-13, -1e-13, 2e-13, -2e-13}) {
        auto moved = x;
        moved[input] = combine(1, x[input], t, u);
        try {
            most = std::max(most, largest(combine(1, f(moved), -1, y)));
        } catch (xg::ConvergenceError const&) {} // a function that jumps may have no solution there
    }
    return most;
}

/// How much a program's value y changes where one of its instructions runs in another way; infinite
/// where an equation that follows has no solution then.
double change_by(Program const& p, Value const& y, Variation variation) {
    try {
        auto const other = run(*p.function, p.inputs, variation);
        return type_of(other) == type_of(y) ? largest(combine(1, other, -1, y)) : HUGE_VAL;
    } catch (xg::ConvergenceError const&) { return HUGE_VAL; }
}
/// Whether rounding errors in the result of an instruction change y as much: what comes after it
/// jumps, or chooses between elements that are equal without them.
bool rounding_decides(Program const& p, Value const& y, Instruction const& at, double change) {
    for (double const added : {1e-12, -1e-12, 3e-12, -3e-12})
        if (6 * change_by(p, y, {&at, added}) >= change) return true;
    return false;
}

void list_instructions(Function const& f, std::vector<Instruction const*>& all) {
    for (auto const& at : f.code) {
        all.push_back(&at);
        if (at.inner) list_instructions(*at.inner, all);
    }
}
/// How much a derivative of first or second order at x changes by small errors in the results of
/// instructions, in their size. It is infinite at a kink that the program keeps, as the standard
/// deviation of equal numbers has one.
double sensitivity(Program const& p, Values const& x, std::size_t input, int order) {
    Random random(p.seed * 31 + 3);
    Values tangents;
    for (auto const& each : x) tangents.push_back(zeros_of(type_of(each)));
    tangents[input] = random_direction(type_of(x[input]), random);
    auto const v = random_direction(type_of(run(*p.function, x)), random);
    auto const derivative = [&](Variation const& variation) {
        Closure const f = [&](Values const& at) { return run(*p.function, at, variation); };
        Closure const gradient = [&](Values const& at) { return vjp_of(f, at, v).second[input]; };
        return jvp_of(order == 1 ? f : gradient, x, tangents).second;
    };
    auto const without = derivative({});
    std::vector<Instruction const*> all;
    list_instructions(*p.function, all);
    double most = 0;
    for (auto const* at : all)
        for (double const added : {1e-13, -1e-13}) try {
                auto const change = largest(combine(1, derivative({at, added}), -1, without));
                most = std::max(most, change / 1e-13 / std::max(1., largest(without)));
            } catch (xg::ConvergenceError const&) { return HUGE_VAL; }
    return most;
}

struct Failed {
    Fault fault;
};
[[noreturn]] void disagree(std::string kind, std::string message, std::size_t input = 0,
    Value direction = D(0.), Value v = D(0.), Instruction const* at = nullptr) {
    throw Failed{
        {std::move(kind), std::move(message), input, std::move(direction), std::move(v), at}};
}
void compare(std::string const& kind, Value const& expected, Value const& found, double tolerance,
    std::size_t input = 0, Value const& direction = D(0.), Value const& v = D(0.),
    Instruction const* at = nullptr) {
    if (!(type_of(expected) == type_of(found)))
        disagree(kind,
            "expected shape " + braces(shape_of(expected)) + ", found " + braces(shape_of(found)),
            input, direction, v, at);
    if (!(largest(combine(1, expected, -1, found)) <= tolerance))
        disagree(kind, "expected " + text_of(expected) + ", found " + text_of(found), input,
            direction, v, at);
}

void list_alternatives(
    Function const& f, std::vector<Instruction const*>& all, bool differentiated = false) {
    for (auto const& at : f.code) {
        if (at.op->alternative && !(differentiated && at.op->is_plain)) all.push_back(&at);
        if (at.inner) list_alternatives(*at.inner, all, true);
    }
}
void count_depth(Function const& f, std::size_t depth, Counts& counts) {
    for (auto const& at : f.code)
        if (at.inner) {
            ++counts.transforms;
            counts.deepest = std::max(counts.deepest, depth + 1);
            count_depth(*at.inner, depth + 1, counts);
        }
}

bool reads_values(Function const& f) {
    for (auto const& at : f.code)
        if (at.op->reads_values || (at.inner && reads_values(*at.inner))) return true;
    return false;
}
/// Whether derivatives have the error of a linear system that is solved by iterations.
bool is_iterative(Function const& f) {
    for (auto const& at : f.code)
        if ((at.op->group == "solution" && (at.numbers[0] == 1 || at.numbers[0] == 2)) ||
            (at.inner && is_iterative(*at.inner)))
            return true;
    return false;
}
/// The function of one of the inputs.
void check_structure(Program const& p, std::size_t i, Counts& counts) {
    Random random(p.seed * 91 + 7);
    Closure const f = [&p, i](Values const& at) {
        auto all = p.inputs;
        all[i] = at[0];
        return run(*p.function, all);
    };
    auto const& x = std::get<D>(p.inputs[i]);
    auto const other = combine(1, x, 0.3, random_direction(type_of(x), random));
    counts.within_budget([&] {
        auto moved = p.inputs;
        moved[i] = other;
        auto const sensitive = [&](std::string_view what, double least) {
            int const order = what.find("hessian") == what.npos ? 1 : 2;
            return sensitivity(p, p.inputs, i, order) > least ||
                   sensitivity(p, moved, i, order) > least;
        };
        try {
            auto const wrong = structure_fault(
                f, x, std::get<D>(other), reads_values(*p.function), p.seed, counts);
            if (wrong && sensitive(wrong->first, 1e6)) ++counts.undecided;
            else if (wrong) disagree(wrong->first, wrong->second, i);
        } catch (xg::GraphError const& error) {
            // `check` takes an error of 2e-12 for a missing entry
            std::string_view const what = error.what();
            if (what.find("outside of the pattern") == what.npos ||
                !(is_iterative(*p.function) || sensitive(what, 10)))
                throw;
            ++counts.undecided;
        }
    });
    if (x.numel() > 6 || p.seed % 4) return;
    counts.within_budget([&] {
        try {
            if (auto const wrong = fit_fault(f, x, random() % 4, counts))
                disagree(wrong->first, wrong->second, i);
        } catch (xg::ConvergenceError const&) {} // a solver in f, where the fit has moved x
    });
}
/// First derivatives of the whole, by both modes and by differences, one input after the other.
void check_derivatives(
    Program const& p, Closure const& f, Value const& y, Random& random, Counts& counts) {
    auto const& x = p.inputs;
    auto const size = std::max(1e-3, largest(y));
    auto const v = random_direction(type_of(y), random);
    auto const [value, gradients] = vjp_of(f, x, v);
    compare("value while recorded", y, value, 1e-9 * std::max(1., size));
    for (std::size_t i = 0; i < x.size(); ++i) {
        auto const u = random_direction(type_of(x[i]), random);
        Values tangents;
        for (std::size_t k = 0; k < x.size(); ++k)
            tangents.push_back(k == i ? u : zeros_of(type_of(x[k])));
        auto const along = jvp_of(f, x, tangents).second;
        double const forward = product(v, along), reverse = product(gradients[i], u);
        auto const difference_below = [&](double h) {
            return difference(
                f, x, i, u, std::max(largest(along), 1e-2 * size), 1e-15 * std::max(1., size), h);
        };
        counts.comparisons += 2;
        auto const first = difference_below(1);
        ++(first.decided ? counts.differences : counts.undecided);
        // The error of a difference is an estimate: where a smaller step agrees, it was too small.
        for (auto d = first; d.decided;) {
            auto const scale = std::max({largest(d.value), largest(along), 1e-3 * size});
            auto const expected = product(v, d.value);
            auto const n = static_cast<double>(1 + xg::numel(shape_of(y)));
            auto tolerance = 1e-5 * scale + 2 * d.error;
            auto const agree = [&] {
                return std::abs(expected - reverse) <= tolerance * n &&
                       type_of(d.value) == type_of(along) &&
                       largest(combine(1, d.value, -1, along)) <= tolerance;
            };
            if (agree()) break;
            tolerance += 6 * rounding(f, x, i, u) / d.h;
            if (agree()) break;
            auto const smaller = difference_below(d.h);
            if (!smaller.decided) {
                compare("forward mode", d.value, along, tolerance, i, u, v);
                disagree("reverse mode",
                    "expected " + text_of(D(expected)) + ", found " + text_of(D(reverse)), i, u, v);
            }
            d = smaller;
        }
        auto const scale =
            std::max({std::abs(forward), std::abs(reverse), largest(along), 1e-3 * size});
        // where the derivative is 0, what cancels has left its rounding
        if (!(std::abs(forward - reverse) <= std::max(1e-6 * scale, 1e-10)))
            disagree("forward and reverse mode",
                "forward " + text_of(D(forward)) + ", reverse " + text_of(D(reverse)), i, u, v);
    }
}

void check(Program const& p, Counts& counts) {
    Random random(p.seed * 77 + 5);
    auto const& x = p.inputs;
    Closure const f = [function = p.function](Values const& at) { return run(*function, at); };
    auto const y = f(x);
    auto const size = std::max(1e-3, largest(y));
    if (!(size < 1e6)) disagree("value", "found " + text_of(y));

    // Values: one operation after the other in another way.
    std::vector<Instruction const*> all;
    list_alternatives(*p.function, all);
    std::shuffle(all.begin(), all.end(), random);
    if (all.size() > 3) all.resize(3);
    counts.within_budget([&] {
        for (auto const* at : all) {
            auto const tolerance = std::max(at->op->tolerance, 1e-8) * std::max(1., size);
            ++counts.comparisons;
            if (auto const change = change_by(p, y, {at});
                change > tolerance && rounding_decides(p, y, *at, change))
                ++counts.undecided;
            else
                compare(at->op->name, run(*p.function, x, {at}), y, tolerance, 0, D(0.), D(0.), at);
        }
    });

    counts.within_budget([&] { check_derivatives(p, f, y, random, counts); });
    auto const i = random() % x.size();
    if (!is_complex(y) && !is_complex(x[i])) check_structure(p, i, counts);
}

/// All functions with one thing less, whose parameters and result are the same.
void smaller(Function const& f, std::function<void(Function)> const& found, bool top) {
    for (std::size_t k = f.code.size(); k-- > 0;) {
        auto const r = f.first() + k;
        // An earlier register of the same type in its place.
        for (std::size_t o = 0; o < r; ++o)
            if (f.type(o) == f.type(r)) {
                auto g = f;
                auto const rename = [&](std::size_t& n) { n = n == r ? o : n > r ? n - 1 : n; };
                g.code.erase(g.code.begin() + static_cast<std::ptrdiff_t>(k));
                for (auto& at : g.code)
                    for (auto& n : at.operands) rename(n);
                rename(g.result);
                found(std::move(g));
            }
        if (top && r != f.result) {
            auto g = f;
            g.result = r;
            g.code.resize(k + 1);
            found(std::move(g));
        }
        if (f.code[k].inner)
            smaller(
                *f.code[k].inner,
                [&](Function inner) {
                    auto g = f;
                    g.code[k].inner = std::make_shared<Function const>(std::move(inner));
                    found(std::move(g));
                },
                false);
    }
    // Without what nothing needs.
    std::vector<char> used(f.first() + f.code.size());
    used[f.result] = true;
    for (std::size_t k = f.code.size(); k-- > 0;)
        if (used[f.first() + k])
            for (auto const o : f.code[k].operands) used[o] = true;
    for (std::size_t k = f.code.size(); k-- > 0;)
        if (!used[f.first() + k]) {
            auto g = f;
            auto const r = f.first() + k;
            g.code.erase(g.code.begin() + static_cast<std::ptrdiff_t>(k));
            for (auto& at : g.code)
                for (auto& n : at.operands) n -= n > r;
            g.result -= g.result > r;
            found(std::move(g));
            return;
        }
}
/// Inputs that nothing needs are left out.
Program without_unused_inputs(Program p) {
    auto const& f = *p.function;
    for (std::size_t i = f.parameters.size(); i-- > 0;) {
        if (p.inputs.size() < 2) break;
        bool used = f.result == i;
        for (auto const& at : p.function->code)
            used |= std::count(at.operands.begin(), at.operands.end(), i) > 0;
        if (used) continue;
        auto g = *p.function;
        g.parameters.erase(g.parameters.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto& at : g.code)
            for (auto& n : at.operands) n -= n > i;
        g.result -= g.result > i;
        p.inputs.erase(p.inputs.begin() + static_cast<std::ptrdiff_t>(i));
        p.function = std::make_shared<Function const>(std::move(g));
        return without_unused_inputs(p);
    }
    return p;
}
/// The inner functions as programs, at the values that they get.
void inner_programs(Program const& p, std::function<void(Program)> const& found) {
    auto registers = p.inputs;
    auto const& f = *p.function;
    for (auto const& at : f.code) {
        Values operands;
        for (auto const r : at.operands) operands.push_back(registers[r]);
        Call const call{operands, at};
        registers.push_back(at.op->call(call));
        if (!at.inner || at.op->given || at.op->group == "vmap") continue;
        auto g = *at.inner;
        Values x;
        // Parameters are real ones before complex ones; so are inputs.
        for (std::size_t i = 0; i < g.parameters.size() + g.captured.size(); ++i)
            x.push_back(operands[i]);
        bool sorted = true;
        for (std::size_t i = 1; i < x.size(); ++i)
            sorted &= is_complex(x[i]) || !is_complex(x[i - 1]);
        if (!sorted) continue;
        g.parameters.insert(g.parameters.end(), g.captured.begin(), g.captured.end());
        g.captured.clear();
        found({std::make_shared<Function const>(std::move(g)), x, p.seed});
    }
}

} // namespace

std::optional<Fault> try_program(Program const& p, Counts& counts) {
    ++counts.programs;
    count_depth(*p.function, 0, counts);
    try {
        check(p, counts);
    } catch (Failed const& failed) {
        if (failed.fault.kind.ends_with("mode") &&
            sensitivity(p, p.inputs, failed.fault.input, 1) > 1e6) {
            ++counts.undecided;
            return std::nullopt;
        }
        return failed.fault;
    } catch (std::exception const& error) {
        std::string const what = error.what();
        for (auto const* limit : {"there are derivatives up to the", "once_differentiable",
                 "does not depend on its argument"})
            if (what.find(limit) != what.npos) {
                ++counts.limits;
                return std::nullopt;
            }
        return Fault{"an exception", what};
    }
    return std::nullopt;
}

std::pair<Program, Fault> shrink(Program p, Fault fault) {
    Counts counts;
    auto const start = std::chrono::steady_clock::now();
    auto const same = [&](Fault const& other) {
        if ((fault.kind == "an exception") != (other.kind == "an exception")) return false;
        return fault.kind != "an exception" ||
               fault.message.substr(0, 20) == other.message.substr(0, 20);
    };
    for (bool again = true; again;) {
        again = false;
        auto const consider = [&](Program q) {
            if (again || std::chrono::steady_clock::now() - start > std::chrono::seconds(6)) return;
            try {
                q = without_unused_inputs(std::move(q));
                auto const other = try_program(q, counts);
                if (!other || !same(*other)) return;
                p = std::move(q);
                fault = *other;
                again = true;
            } catch (std::exception const&) {}
        };
        auto const now = p;
        try {
            inner_programs(now, consider);
        } catch (std::exception const&) {}
        if (!again)
            smaller(
                *now.function,
                [&](Function g) {
                    consider(
                        {std::make_shared<Function const>(std::move(g)), now.inputs, now.seed});
                },
                true);
    }
    return {p, fault};
}

namespace {

std::string literal(Value const& v) {
    std::ostringstream text;
    text.precision(17);
    auto const write = [&](auto const& t) {
        for (std::size_t i = 0; i < t.numel(); ++i) {
            auto const n = t.data()[i];
            text << (i ? ", " : "");
            if constexpr (requires { n.real(); })
                text << "{" << n.real() << ", " << n.imag() << "}";
            else text << n;
        }
    };
    auto const shape = braces(shape_of(v));
    if (is_complex(v)) {
        text << "(std::vector<std::complex<double>>{";
        write(xg::eval(std::get<Z>(v)).contiguous());
    } else {
        text << "(std::vector<double>{";
        write(xg::eval(std::get<D>(v)).contiguous());
    }
    text << "}, xg::Shape" << shape << ")";
    return text.str();
}

} // namespace

std::string source_of_value(Program const& p) {
    std::ostringstream text;
    std::vector<std::string> names;
    std::string list;
    text << "    { // seed " << p.seed << '\n';
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
        names.push_back("x" + std::to_string(i));
        list += (list.empty() ? "" : ", ") + names[i];
        text << "        " << (is_complex(p.inputs[i]) ? "Z " : "D ") << names[i]
             << literal(p.inputs[i]) << ";\n";
    }
    auto const y = run(*p.function, p.inputs);
    text << "        auto const f = " << print(*p.function, names, 8) << ";\n        "
         << (is_complex(y) ? "Z const y" : "D const y") << literal(y)
         << ";\n        worst = std::max(worst, apart(f(" << list << "), y));\n    }\n";
    return text.str();
}

std::string source(Program const& p, Fault const& fault) {
    std::ostringstream text;
    std::vector<std::string> names;
    auto const tuple_of = [](std::vector<std::string> const& list) {
        std::string all;
        for (auto const& n : list) all += (all.empty() ? "" : ", ") + n;
        return "std::tuple(" + all + ")";
    };
    text << "// seed " << p.seed << ", " << fault.kind << ": " << fault.message << '\n'
         << "#include \"oracle/composed/example.hpp\"\n\nint main() {\n";
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
        names.push_back("x" + std::to_string(i));
        text << "    " << (is_complex(p.inputs[i]) ? "Z " : "D ") << names[i]
             << literal(p.inputs[i]) << ";\n";
    }
    text << "    auto const f = " << print(*p.function, names, 4) << ";\n";
    auto const call = [&](std::string const& f) {
        std::string all;
        for (auto const& n : names) all += (all.empty() ? "" : ", ") + n;
        return f + "(" + all + ")";
    };
    bool const structure = fault.kind.find("jacobian") != fault.kind.npos ||
                           fault.kind.find("hessian") != fault.kind.npos ||
                           fault.kind.find("plan") != fault.kind.npos;
    bool const derivative =
        xg::numel(shape_of(fault.direction)) && fault.kind.find("mode") != fault.kind.npos;
    if (structure && fault.direction.index() == 0 && std::get<D>(fault.v).numel() == 1 &&
        !fault.instruction) {
        bool const second = fault.kind.find("hessian") != fault.kind.npos,
                   rows = fault.kind.find("rows") != fault.kind.npos,
                   sparse = fault.kind.find("spars") != fault.kind.npos ||
                            fault.kind.find("plan") != fault.kind.npos;
        auto given = names;
        given[fault.input] = "x";
        std::string list;
        for (auto const& n : given) list += (list.empty() ? "" : ", ") + n;
        std::string const name = second ? "hessian" : "jacobian", x = names[fault.input],
                          g = "[=](D const& x) { return " +
                              std::string(rows && !second ? "rows_of(f(" + list + "), x)"
                                                          : "f(" + list + ")") +
                              "; }";
        text << "    auto const g = " << g << ";\n"
             << "    std::cout << xg::" << name << "(g, " << x
             << ", {.strategy = xg::Mode::reverse}) << '\\n'";
        for (auto const* mode : {"automatic", "forward"})
            if (!rows && !sparse)
                text << "\n              << xg::" << name << "(g, " << x
                     << ", {.strategy = xg::Mode::" << mode << "}) << '\\n'";
        if (rows) text << " << xg::" << name << "(g, " << x << ", {.rows = true}) << '\\n'";
        if (sparse) text << " << xg::sparse_" << name << "(g, " << x << ").to_dense() << '\\n'";
        text << ";\n";
    } else if (!derivative) text << "    std::cout << " << call("f") << " << '\\n';\n";
    else {
        text << "    " << (is_complex(fault.direction) ? "Z u" : "D u") << literal(fault.direction)
             << ";\n    " << (is_complex(fault.v) ? "Z v" : "D v") << literal(fault.v) << ";\n";
        auto tangents = names;
        for (std::size_t i = 0; i < names.size(); ++i)
            tangents[i] = i == fault.input ? "u" : "xg::eval(0. * " + names[i] + ")";
        auto moved = names;
        moved[fault.input] = "xg::eval(" + names[fault.input] + " + h * u)";
        std::string arguments;
        for (auto const& n : moved) arguments += (arguments.empty() ? "" : ", ") + n;
        text << "    auto const at = [=](double h) { return inner(v, f(" << arguments << ")); };\n"
             << "    std::cout << inner(std::get<" << fault.input << ">(xg::vjp(f, "
             << tuple_of(names) << ", v).second), u) << \" by reverse mode, \"\n"
             << "              << inner(v, xg::jvp(f, " << tuple_of(names) << ", "
             << tuple_of(tangents) << ").second) << \" by forward mode, \"\n"
             << "              << (at(1e-4) - at(-1e-4)) / 2e-4 << \" by differences\\n\";\n";
    }
    text << "}\n";
    return text.str();
}

} // namespace composed

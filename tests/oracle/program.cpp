#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <utility>

namespace oracle {

namespace {

constexpr char const* names[] = {"sin", "tanh", "exp", "square", "neg", "sigmoid", "abs", "relu",
    "softplus", "conj", "real", "imag", "abs2", "cast<complex>", "scaled", "add", "sub", "mul",
    "div by 2 + square", "maximum", "where a > b", "complex", "sum", "mean", "amax", "prod",
    "logsumexp", "var", "cumsum", "cumprod", "sort", "transpose", "slice", "element", "unsqueeze",
    "squeeze", "diagonal", "reshape", "expand", "view_as_real", "flip", "roll", "tril", "cat",
    "stack", "index_select", "pad", "matmul", "dot", "clone", "add_", "mul_", "sin_", "copy_",
    "fill_"};

/// The shape of two broadcast together; false where they do not fit.
bool broadcast(Extents const& a, Extents const& b, Extents& result) {
    result.assign(std::max(a.size(), b.size()), 1);
    for (auto const* shape : {&a, &b})
        for (std::size_t d = 0; d < shape->size(); ++d) {
            auto& extent = result[result.size() - shape->size() + d];
            auto const n = (*shape)[d];
            if (extent != 1 && n != 1 && extent != n) return false;
            if (n != 1) extent = n;
        }
    return true;
}

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) { program_.seed = seed; }

    Program make() {
        for (std::size_t i = 0, n = 2 + below(2); i < n; ++i) {
            static Extents const shapes[] = {
                {}, {3}, {4}, {2, 3}, {3, 1}, {3, 4}, {2, 3, 4}, {1, 4}, {4, 4}};
            program_.leaves.push_back({shapes[below(std::size(shapes))], below(3) == 0});
            memory_.push_back(i);
            can_change_.push_back(false);
        }
        leaves_ = program_.leaves.size();
        for (std::size_t target = 4 + below(12), tries = 0;
             program_.code.size() < target && tries < 400; ++tries)
            try_one();
        std::size_t const all = leaves_ + program_.code.size();
        program_.outputs.push_back(all - 1);
        for (std::size_t i = 0; i < 2; ++i)
            if (auto const r = leaves_ + below(all - leaves_); r != all - 1)
                program_.outputs.push_back(r);
        return program_;
    }

private:
    std::size_t below(std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
    }
    std::int64_t less_than(std::int64_t n) {
        return static_cast<std::int64_t>(below(static_cast<std::size_t>(n)));
    }
    std::size_t any_register() {
        auto const all = leaves_ + program_.code.size();
        return below(2) && all > 3 ? all - 1 - below(3) : below(all);
    }

    void add(Op op, std::vector<std::size_t> of, Type type, std::vector<std::int64_t> numbers = {},
        double factor = 0) {
        std::size_t const result = leaves_ + program_.code.size();
        bool const in_place = op >= Op::add_in_place,
                   is_view = op >= Op::transposed && op <= Op::parts_of_complex;
        memory_.push_back(in_place || is_view ? memory_[of[0]] : result);
        // Elements of an expanded view share their memory.
        can_change_.push_back(in_place             ? true
                              : op == Op::expanded ? false
                              : is_view            ? bool(can_change_[of[0]])
                                                   : true);
        if (op == Op::reshaped) // what it shares with its argument is not the same in both
            for (std::size_t r = 0; r < memory_.size(); ++r)
                if (memory_[r] == memory_[result]) can_change_[r] = false;
        program_.code.push_back({op, std::move(of), std::move(numbers), factor, std::move(type)});
    }

    void try_one() {
        auto const op = static_cast<Op>(below(static_cast<std::size_t>(Op::fill_in_place) + 1));
        std::size_t const a = any_register(), b = any_register();
        Type const x = program_.type(a), y = program_.type(b);
        std::size_t const dims = x.shape.size();
        Type result = x;
        auto const axis = dims ? less_than(static_cast<std::int64_t>(dims)) : 0;
        auto const at = static_cast<std::size_t>(axis);
        switch (op) {
        case Op::sine:
        case Op::tangent_h:
        case Op::square:
        case Op::negative:
        case Op::exponential:
            return add(op, {a}, x);
        case Op::logistic:
        case Op::relu:
        case Op::softplus:
            if (!x.is_complex) add(op, {a}, x);
            return;
        case Op::absolute:
        case Op::squared_modulus:
            result.is_complex = false;
            return add(op, {a}, result);
        case Op::conjugate:
            return add(op, {a}, x);
        case Op::real_part:
        case Op::imaginary_part:
            result.is_complex = false;
            if (x.is_complex) add(op, {a}, result);
            return;
        case Op::from_real:
            result.is_complex = true;
            if (!x.is_complex) add(op, {a}, result);
            return;
        case Op::scaled:
            return add(op, {a}, x, {}, 0.25 * static_cast<double>(1 + below(6)));
        case Op::add:
        case Op::subtract:
        case Op::multiply:
        case Op::divide:
            if (!broadcast(x.shape, y.shape, result.shape)) return;
            result.is_complex = x.is_complex || y.is_complex;
            return add(op, {a, b}, result);
        case Op::maximum:
        case Op::select_larger:
        case Op::make_complex:
            if (x.is_complex || y.is_complex || !broadcast(x.shape, y.shape, result.shape)) return;
            result.is_complex = op == Op::make_complex;
            return add(op, {a, b}, result);
        case Op::sum:
        case Op::mean:
        case Op::largest:
        case Op::product:
        case Op::log_sum_exp:
        case Op::variance: {
            if (!dims || (x.is_complex && op >= Op::largest && op != Op::product) ||
                (op == Op::variance && x.shape[at] < 2))
                return;
            bool const keep = below(2);
            if (keep) result.shape[at] = 1;
            else result.shape.erase(result.shape.begin() + axis);
            return add(op, {a}, result, {axis, keep});
        }
        case Op::cumulative_sum:
        case Op::cumulative_product:
            if (dims) add(op, {a}, x, {axis});
            return;
        case Op::sorted:
            if (dims && !x.is_complex) add(op, {a}, x, {axis});
            return;
        case Op::transposed: {
            if (dims < 2) return;
            auto const other = less_than(static_cast<std::int64_t>(dims));
            std::swap(result.shape[at], result.shape[static_cast<std::size_t>(other)]);
            return add(op, {a}, result, {axis, other});
        }
        case Op::slice: {
            if (!dims || x.shape[at] < 2) return;
            auto const from = less_than(x.shape[at] - 1), step = 1 + less_than(2);
            auto const to = from + 1 + less_than(x.shape[at] - from);
            result.shape[at] = (to - from + step - 1) / step;
            return add(op, {a}, result, {axis, from, to, step});
        }
        case Op::element:
            if (!dims) return;
            result.shape.erase(result.shape.begin() + axis);
            return add(op, {a}, result, {axis, less_than(x.shape[at])});
        case Op::row_added: {
            if (dims > 3) return;
            auto const where = less_than(static_cast<std::int64_t>(dims) + 1);
            result.shape.insert(result.shape.begin() + where, 1);
            return add(op, {a}, result, {where});
        }
        case Op::row_removed:
            if (!dims || x.shape[at] != 1) return;
            result.shape.erase(result.shape.begin() + axis);
            return add(op, {a}, result, {axis});
        case Op::diagonal:
            if (dims != 2) return;
            result.shape = {std::min(x.shape[0], x.shape[1])};
            return add(op, {a}, result);
        case Op::reshaped: {
            auto const n = std::accumulate(
                x.shape.begin(), x.shape.end(), std::int64_t{1}, std::multiplies<>());
            result.shape = n % 2 == 0 && below(2) ? Extents{2, n / 2} : Extents{n};
            return add(op, {a}, result);
        }
        case Op::expanded:
            if (dims > 2) return;
            if (dims && x.shape[0] == 1) result.shape[0] = 3;
            else result.shape.insert(result.shape.begin(), 2);
            return add(op, {a}, result);
        case Op::parts_of_complex:
            if (!x.is_complex || dims > 2) return;
            result.is_complex = false;
            result.shape.push_back(2);
            return add(op, {a}, result);
        case Op::flipped:
            if (dims) add(op, {a}, x, {axis});
            return;
        case Op::rolled:
            if (dims) add(op, {a}, x, {1 + less_than(2), axis});
            return;
        case Op::lower_triangle:
            if (dims >= 2) add(op, {a}, x, {less_than(3) - 1});
            return;
        case Op::joined:
        case Op::stacked: {
            if (!dims || !(x == y) || dims > 2) return;
            if (op == Op::joined) result.shape[at] *= 2;
            else result.shape.insert(result.shape.begin() + axis, 2);
            return add(op, {a, b}, result, {axis});
        }
        case Op::picked:
            if (!dims) return;
            result.shape[at] = 3;
            return add(op, {a}, result,
                {axis, less_than(x.shape[at]), less_than(x.shape[at]), less_than(x.shape[at])});
        case Op::padded:
            if (!dims) return;
            result.shape.back() += 3;
            return add(op, {a}, result);
        case Op::matrix_product:
            if (dims != 2 || y.shape.size() != 2 || x.shape[1] != y.shape[0]) return;
            result.shape = {x.shape[0], y.shape[1]};
            result.is_complex = x.is_complex || y.is_complex;
            if (x.is_complex == y.is_complex) add(op, {a, b}, result);
            return;
        case Op::dot:
            if (dims != 1 || !(x == y)) return;
            result.shape = {};
            return add(op, {a, b}, result);
        case Op::cloned:
            return add(op, {a}, x);
        case Op::add_in_place:
        case Op::multiply_in_place:
        case Op::copy_in_place: {
            Extents shape;
            bool const fits = broadcast(x.shape, y.shape, shape) && shape == x.shape &&
                              (x.is_complex || !y.is_complex);
            // An operand that shares memory with the target, but is another view of it, is refused
            // or undefined in both.
            if (fits && can_change_[a] && (memory_[a] != memory_[b])) add(op, {a, b}, x);
            return;
        }
        case Op::sine_in_place:
            if (can_change_[a]) add(op, {a}, x);
            return;
        case Op::fill_in_place:
            if (can_change_[a]) add(op, {a}, x, {}, 0.5);
            return;
        }
    }

    std::mt19937_64 random_;
    Program program_;
    std::size_t leaves_ = 0;
    std::vector<std::size_t> memory_; // whose memory a register has
    std::vector<char> can_change_;
};

} // namespace

Program make_program(std::uint64_t seed) { return Maker(seed).make(); }

Program without_dead_code(Program const& p) {
    std::size_t const leaves = p.leaves.size();
    // Whatever touches memory that a used register shares must stay, so memory is what is used or
    // not.
    std::vector<std::size_t> memory(leaves);
    std::iota(memory.begin(), memory.end(), std::size_t{0});
    for (auto const& i : p.code) {
        bool const shares =
            i.op >= Op::add_in_place || (i.op >= Op::transposed && i.op <= Op::parts_of_complex);
        memory.push_back(shares ? memory[i.of[0]] : memory.size());
    }
    std::vector<char> is_used(memory.size());
    for (auto const r : p.outputs) is_used[memory[r]] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t k = 0; k < p.code.size(); ++k)
            if (is_used[memory[leaves + k]])
                for (auto const r : p.code[k].of)
                    if (!std::exchange(is_used[memory[r]], true)) changed = true;
    }
    Program result{p.leaves, {}, {}, p.seed};
    std::vector<std::size_t> renamed(memory.size());
    for (std::size_t r = 0; r < leaves; ++r) renamed[r] = r;
    for (std::size_t k = 0; k < p.code.size(); ++k) {
        if (!is_used[memory[leaves + k]]) continue;
        renamed[leaves + k] = leaves + result.code.size();
        result.code.push_back(p.code[k]);
        for (auto& r : result.code.back().of) r = renamed[r];
    }
    for (auto const r : p.outputs) result.outputs.push_back(renamed[r]);
    return result;
}

std::string describe(Program const& p) {
    std::ostringstream text;
    auto const type = [&](Type const& t) {
        text << (t.is_complex ? " : complex [" : " : real [");
        for (std::size_t d = 0; d < t.shape.size(); ++d) text << (d ? ", " : "") << t.shape[d];
        text << "]\n";
    };
    text << "program " << p.seed << '\n';
    for (std::size_t r = 0; r < p.leaves.size(); ++r) {
        text << "  r" << r << " = leaf";
        type(p.leaves[r]);
    }
    for (std::size_t k = 0; k < p.code.size(); ++k) {
        auto const& i = p.code[k];
        text << "  r" << p.leaves.size() + k << " = " << names[static_cast<std::size_t>(i.op)]
             << '(';
        for (std::size_t n = 0; n < i.of.size(); ++n) text << (n ? ", r" : "r") << i.of[n];
        for (auto const n : i.numbers) text << ", " << n;
        if (i.factor != 0) text << ", " << i.factor;
        text << ')';
        type(i.type);
    }
    text << "  outputs";
    for (auto const r : p.outputs) text << " r" << r;
    return text.str();
}

std::vector<Number> numbers_for(
    Program const& p, std::size_t index, std::size_t count, int purpose) {
    std::mt19937_64 random(
        p.seed * 1000003 + index * 31 + static_cast<std::uint64_t>(purpose) * 7919);
    std::uniform_real_distribution<double> uniform(-1.2, 1.2);
    std::vector<Number> all(count);
    for (auto& z : all) {
        double const re = uniform(random);
        z = {re, uniform(random)};
    }
    return all;
}

std::string compare(Outcome const& xgrad, Outcome const& torch) {
    // An expression saves the operands of its condition, and libtorch saves a mask that was
    // computed before.
    bool const saves_condition = xgrad.error.find("saved by WhereBackward") != xgrad.error.npos;
    if (!xgrad.error.empty() && torch.error.empty() && !saves_condition)
        return "libtorch can differentiate it, and xgrad says: " + xgrad.error;
    if (!xgrad.error.empty() || !torch.error.empty()) return "skipped";
    double largest = 1;
    std::pair<char const*, std::vector<std::vector<Number>> Outcome::*> const parts[] = {
        {"value", &Outcome::values}, {"gradient", &Outcome::first},
        {"second derivative", &Outcome::second}};
    for (auto const& [what, part] : parts)
        for (auto const& tensor : torch.*part)
            for (auto const& z : tensor)
                largest = std::max(largest, std::isfinite(std::abs(z)) ? std::abs(z) : 1e300);
    if (largest > 1e6) return "skipped";
    for (auto const& [what, part] : parts)
        for (std::size_t i = 0; i < (torch.*part).size(); ++i) {
            auto const& got = (xgrad.*part)[i];
            auto const& wanted = (torch.*part)[i];
            std::ostringstream text;
            text << what << ' ' << i;
            if (got.size() != wanted.size()) {
                text << " has " << got.size() << " elements by xgrad, and " << wanted.size()
                     << " by libtorch";
                return text.str();
            }
            for (std::size_t k = 0; k < got.size(); ++k) {
                if (std::abs(got[k] - wanted[k]) <= 1e-9 * largest) continue;
                text.precision(12);
                text << " at " << k << ": " << got[k] << " by xgrad, and " << wanted[k]
                     << " by libtorch";
                return text.str();
            }
        }
    return "";
}

} // namespace oracle

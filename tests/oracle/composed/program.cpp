#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace composed {

xg::Shape shape_of(Value const& v) {
    return std::visit([](auto const& x) { return x.shape(); }, v);
}
Type type_of(Value const& v) { return {is_complex(v), shape_of(v)}; }

Value as_batched(Value const& v) {
    using Lv = xg::detail::Levels<Level>;
    auto const wide = [](auto const& t) {
        return xg::detail::batched<Lv>(
            xg::eval(xg::detail::stacked_over<Lv>(t, xg::detail::level_sizes(Lv()))));
    };
    if (auto const* t = std::get_if<D>(&v)) return wide(*t);
    if (auto const* t = std::get_if<Z>(&v)) return wide(*t);
    return v;
}

std::size_t Call::arguments() const { return at.inner->parameters.size() - at.op->given; }
bool Call::returns_complex() const { return at.inner->type(at.inner->result).is_complex; }
bool Call::has_batches() const { return std::any_of(operands.begin(), operands.end(), is_batched); }
Value const& Call::extra(std::size_t k) const {
    return operands[arguments() + at.inner->captured.size() + k];
}
Closure Call::inner() const {
    auto const from = operands.begin() + static_cast<std::ptrdiff_t>(arguments());
    Values captured(from, from + static_cast<std::ptrdiff_t>(at.inner->captured.size()));
    return [f = at.inner, captured = std::move(captured), variation = variation](Values x) {
        x.insert(x.end(), captured.begin(), captured.end());
        return run(*f, std::move(x), variation);
    };
}

namespace {
thread_local std::uint64_t operations_run = 0, work_limit = ~std::uint64_t(0);
std::uint64_t work() { return xg::detail::next_sequence + 2 * operations_run; }
} // namespace

Budget::Budget(std::uint64_t more)
    : before_(std::exchange(work_limit, std::min(work_limit, work() + more))) {}
Budget::~Budget() { work_limit = before_; }

namespace {
/// Adds numbers up to `by` in size, another one to each element of an example.
Value with_errors(Value const& v, double by) {
    auto const shape = shape_of(v);
    D errors = xg::zeros(shape);
    for (std::size_t k = 0; k < errors.numel(); ++k)
        errors.mutable_data()[k] = by * std::sin(1. + 2. * static_cast<double>(k));
    return std::visit([&](auto const& t) -> Value { return xg::eval(t + errors); }, v);
}
} // namespace

Value run(Function const& f, Values registers, Variation variation) {
    for (auto const& at : f.code) {
        ++operations_run;
        if (work() > work_limit) throw TooDear();
        Values operands;
        for (auto const r : at.operands) operands.push_back(registers[r]);
        Call const call{std::move(operands), at, variation};
        bool const varied = &at == variation.at;
        bool const replaced = varied && variation.added == 0 && !call.has_batches();
        registers.push_back(replaced ? at.op->alternative(call) : at.op->call(call));
        if (varied && variation.added != 0)
            registers.back() = with_errors(registers.back(), variation.added);
    }
    return registers[f.result];
}

std::size_t size_of(Function const& f) {
    std::size_t n = f.code.size();
    for (auto const& at : f.code)
        if (at.inner) n += size_of(*at.inner);
    return n;
}

std::string braces(xg::Shape const& shape) {
    std::string text = "{";
    for (auto const n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + "}";
}
namespace {

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
/// The text of a line with names in the place of a, b and c.
std::string with_names(std::string const& text, std::vector<std::string> const& names) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const alone = (i == 0 || (!is_part_of_name(text[i - 1]) && text[i - 1] != '.')) &&
                           (i + 1 == text.size() || !is_part_of_name(text[i + 1]));
        auto const k = static_cast<std::size_t>(text[i] - 'a');
        if (alone && text[i] >= 'a' && text[i] <= 'c' && k < names.size()) out += names[k];
        else out += text[i];
    }
    return out;
}
thread_local int name_count = 0;
thread_local int current_indent = 0;

} // namespace

std::string print(Function const& f, std::vector<std::string> const& names, int indent) {
    auto const outer = std::exchange(current_indent, indent);
    std::string const blank(static_cast<std::size_t>(indent), ' ');
    auto registers = names;
    std::string text = "[=](";
    for (std::size_t i = 0; i < f.parameters.size(); ++i)
        text += (i ? ", auto const& " : "auto const& ") + names[i];
    text += ") {\n";
    for (auto const& at : f.code) {
        std::vector<std::string> operands;
        for (auto const r : at.operands) operands.push_back(registers[r]);
        auto const name = "r" + std::to_string(name_count++);
        text += blank + "    auto " + name + " = xg::eval(" +
                (at.op->print ? at.op->print(at, operands) : with_names(at.op->text, operands)) +
                ");\n";
        registers.push_back(name);
    }
    current_indent = outer;
    return text + blank + "    return " + registers[f.result] + ";\n" + blank + "}";
}
std::string print_inner(Instruction const& at, std::vector<std::string> const& operands) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < at.inner->parameters.size(); ++i)
        names.push_back("p" + std::to_string(name_count++));
    for (std::size_t i = 0; i < at.inner->captured.size(); ++i)
        names.push_back(operands[at.inner->parameters.size() - at.op->given + i]);
    return print(*at.inner, names, current_indent + 4);
}

Value zeros_of(Type const& type) {
    if (type.is_complex) return xg::zeros<std::complex<double>>(type.shape);
    return xg::zeros(type.shape);
}
Value unit_of(Type const& type, std::size_t element, bool imaginary) {
    auto v = zeros_of(type);
    if (auto* t = std::get_if<D>(&v)) t->mutable_data()[element] = 1;
    else std::get<Z>(v).mutable_data()[element] = imaginary ? std::complex(0., 1.) : 1.;
    return v;
}
namespace {
template <class F> void each_pair(Value const& a, Value const& b, F f) {
    auto const walk = [&](auto const& x, auto const& y) {
        auto const p = x.detach().contiguous(), q = y.detach().contiguous();
        for (std::size_t i = 0; i < p.numel(); ++i) f(p.data()[i], q.data()[i]);
    };
    if (is_complex(a)) walk(std::get<Z>(a), std::get<Z>(b));
    else walk(std::get<D>(a), std::get<D>(b));
}
} // namespace
double product(Value const& a, Value const& b) {
    double total = 0;
    each_pair(a, b, [&](auto p, auto q) { total += std::real(std::conj(p) * q); });
    return total;
}
double largest(Value const& v) {
    double most = 0;
    each_pair(v, v, [&](auto p, auto) {
        auto const m = std::abs(p);
        most = m <= most ? most : std::isfinite(m) ? m : HUGE_VAL;
    });
    return most;
}
Value combine(double p, Value const& a, double q, Value const& b) {
    if (is_complex(a)) return Z((p * std::get<Z>(a) + q * std::get<Z>(b)).detach());
    return D((p * std::get<D>(a) + q * std::get<D>(b)).detach());
}

Operation const* Catalogue::find(std::string const& name) const {
    for (auto const& each : all)
        if (each->name == name) return each.get();
    return nullptr;
}

Slot slot(std::string const& text) {
    auto const space = text.find(' ');
    if (space == text.npos) return {'R', text, "any"};
    return {'R', text.substr(0, space), text.substr(space + 1)};
}

} // namespace composed

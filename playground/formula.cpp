// Bodies of formula.hpp: the functions, the tokens, and a parser that computes what it reads.
#include "formula.hpp"

#include <charconv>
#include <numbers>
#include <optional>
#include <span>

namespace playground {

namespace {

constexpr std::size_t max_length = 1000, max_depth = 64;

using Arguments = std::span<Value const>;
struct Function {
    std::size_t arguments;
    bool only_real;
    Value (*apply)(Arguments);
};

// clang-format off
#define BOTH(name, expression) {name, {1, false, [](Arguments arguments) -> Value { \
    return std::visit([](auto const& a) -> Value { return xg::eval(expression); }, arguments[0]); }}}
#define REAL(name, expression) {name, {1, true, [](Arguments arguments) -> Value { \
    auto const& a = std::get<Real>(arguments[0]); return xg::eval(expression); }}}
#define REALS(name, expression) {name, {2, true, [](Arguments arguments) -> Value { \
    auto const &a = std::get<Real>(arguments[0]), &b = std::get<Real>(arguments[1]); return xg::eval(expression); }}}
#define COMPLEX(name, expression, of_real) {name, {1, false, [](Arguments arguments) -> Value { \
    if (auto const* const x = std::get_if<Real>(&arguments[0])) return of_real; \
    auto const& a = std::get<Complex>(arguments[0]); return xg::eval(expression); }}}

std::map<std::string, Function> const functions{
    BOTH("exp", exp(a)), BOTH("log", log(a)), BOTH("sqrt", sqrt(a)),
    BOTH("sin", sin(a)), BOTH("cos", cos(a)), BOTH("tan", tan(a)),
    BOTH("sinh", sinh(a)), BOTH("cosh", cosh(a)), BOTH("tanh", tanh(a)),
    BOTH("abs", abs(a)), BOTH("abs2", abs2(a)), BOTH("arg", angle(a)),
    COMPLEX("real", real(a), *x), COMPLEX("imag", imag(a), Real(0.)), COMPLEX("conj", conj(a), *x),
    REAL("asin", asin(a)), REAL("acos", acos(a)), REAL("atan", atan(a)),
    REAL("sigmoid", sigmoid(a)), REAL("relu", relu(a)), REAL("erf", erf(a)),
    REALS("atan2", atan2(a, b)), REALS("max", maximum(a, b)), REALS("min", minimum(a, b)),
};
#undef BOTH
#undef REAL
#undef REALS
#undef COMPLEX
// clang-format on

std::optional<Value> constant(std::string const& name) {
    if (name == "pi") return Real(std::numbers::pi);
    if (name == "e") return Real(std::numbers::e);
    if (name == "i") return Complex(std::complex<double>(0, 1));
    return {};
}

bool requires_grad(Value const& value) {
    return std::visit([](auto const& t) { return t.requires_grad(); }, value);
}

/// f(left, right) of two tensors of one type.
template <class F> Value apply(F f, Value const& left, Value const& right) {
    return std::visit(
        [&]<class A>(A const& a) -> Value { return xg::eval(f(a, std::get<A>(right))); }, left);
}
Value operate(char operation, Value const& left, Value const& right) {
    switch (operation) {
    case '+':
        return apply([](auto const& a, auto const& b) { return a + b; }, left, right);
    case '-':
        return apply([](auto const& a, auto const& b) { return a - b; }, left, right);
    case '*':
        return apply([](auto const& a, auto const& b) { return a * b; }, left, right);
    case '/':
        return apply([](auto const& a, auto const& b) { return a / b; }, left, right);
    default:
        return apply([](auto const& a, auto const& b) { return pow(a, b); }, left, right);
    }
}

struct Token {
    enum class Kind { number, name, symbol, end } kind;
    std::size_t begin, end;
    double number = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The end of the number that begins at `at`. An e is a part of it only where digits follow.
std::size_t end_of_number(std::string const& text, std::size_t at) {
    auto const digits = [&](std::size_t from) {
        while (from < text.size() && is_digit(text[from])) ++from;
        return from;
    };
    at = digits(at);
    if (at < text.size() && text[at] == '.') at = digits(at + 1);
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        std::size_t const sign =
            at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
        if (auto const end = digits(at + 1 + sign); end > at + 1 + sign) return end;
    }
    return at;
}

double number_of(std::string const& text, std::size_t at) {
    char* end = nullptr;
    double const number = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size()) throw FormulaError(at, "'" + text + "' is no number");
    return number;
}

std::vector<Token> tokens_of(std::string const& text) {
    using Kind = Token::Kind;
    if (text.size() > max_length)
        throw FormulaError(max_length, "the formula is too long: at most " +
                                           std::to_string(max_length) + " characters are read");
    std::vector<Token> tokens;
    for (std::size_t at = 0; at < text.size();) {
        char const c = text[at];
        std::size_t end = at + 1;
        if (c == ' ' || c == '\t') {
        } else if (is_digit(c) || c == '.') {
            end = end_of_number(text, at);
            tokens.push_back({Kind::number, at, end, number_of(text.substr(at, end - at), at)});
        } else if (is_letter(c)) {
            while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
            tokens.push_back({Kind::name, at, end});
        } else if (std::string_view("+-*/^(),").find(c) != std::string_view::npos) {
            tokens.push_back({Kind::symbol, at, end});
        } else {
            while (end < text.size() && continues_character(text[end])) ++end;
            throw FormulaError(at, "'" + text.substr(at, end - at) + "' means nothing here");
        }
        at = end;
    }
    tokens.push_back({Kind::end, text.size(), text.size()});
    return tokens;
}

class Parser {
public:
    Parser(std::string const& text, std::map<std::string, Value> const& variables,
        std::vector<Step>& steps)
        : text_(text), tokens_(tokens_of(text)), variables_(variables), steps_(steps) {}

    Value read() {
        if (now().kind == Kind::end) throw FormulaError(0, "the formula is empty");
        auto const result = sum();
        if (is_symbol(')')) fail("this ')' closes nothing");
        if (is_symbol(',')) fail("this ',' is not between arguments of a function");
        if (now().kind != Kind::end) fail("an operator is missing before " + quoted());
        return result.value;
    }

private:
    using Kind = Token::Kind;

    Token const& now() const { return tokens_[at_]; }
    bool is_symbol(char c) const { return now().kind == Kind::symbol && text_[now().begin] == c; }
    std::string word() const { return text_.substr(now().begin, now().end - now().begin); }
    std::string quoted() const { return "'" + word() + "'"; }
    [[noreturn]] void fail(std::string const& what) const { throw FormulaError(now().begin, what); }

    Step record(std::string const& text, Value const& value) {
        if (requires_grad(value)) steps_.push_back({text, value});
        return {text, value};
    }
    /// The same for the text from `begin` to the last token that was read.
    Step record_from(std::size_t begin, Value const& value) {
        return record(text_.substr(begin, tokens_[at_ - 1].end - begin), value);
    }
    Step as_complex(Step const& x) {
        auto const* const real = std::get_if<Real>(&x.value);
        if (!real) return x;
        return record(x.text + " as complex", xg::cast<std::complex<double>>(*real));
    }
    Step operation(std::size_t begin, char symbol, Step left, Step right) {
        // A constant exponent is a part of the operation: small whole powers are products.
        if (auto const* const p = std::get_if<Real>(&right.value);
            p && symbol == '^' && !p->requires_grad())
            return record_from(begin,
                std::visit([&](auto const& a) -> Value { return xg::eval(pow(a, p->item())); },
                    left.value));
        if (left.value.index() != right.value.index()) {
            left = as_complex(left);
            right = as_complex(right);
        }
        return record_from(begin, operate(symbol, left.value, right.value));
    }

    Step sum() {
        auto const begin = now().begin;
        auto left = product();
        while (is_symbol('+') || is_symbol('-')) {
            char const symbol = text_[tokens_[at_++].begin];
            left = operation(begin, symbol, left, product());
        }
        return left;
    }
    Step product() {
        auto const begin = now().begin;
        auto left = factor();
        for (;;) {
            bool const after_number = tokens_[at_ - 1].kind == Kind::number;
            char symbol = '*';
            if (is_symbol('*') || is_symbol('/')) symbol = text_[tokens_[at_++].begin];
            else if (!after_number || !(now().kind == Kind::name || is_symbol('('))) return left;
            left = operation(begin, symbol, left, factor());
        }
    }
    Step factor() {
        if (++depth_ > max_depth) fail("the formula is nested too deeply");
        auto const result = signed_factor();
        --depth_;
        return result;
    }
    Step signed_factor() {
        auto const begin = now().begin;
        if (is_symbol('+') || is_symbol('-')) {
            bool const is_negative = text_[tokens_[at_++].begin] == '-';
            auto const x = factor();
            if (!is_negative) return x;
            return record_from(
                begin, std::visit([](auto const& a) -> Value { return xg::eval(-a); }, x.value));
        }
        auto const base = operand();
        if (!is_symbol('^')) return base;
        ++at_;
        return operation(begin, '^', base, factor());
    }
    Step operand() {
        auto const token = now();
        if (token.kind == Kind::end) fail("the formula ends where a value is missing");
        if (token.kind == Kind::name) return name();
        if (token.kind == Kind::number) return {word(), Real(tokens_[at_++].number)};
        if (!is_symbol('(')) fail("a value is missing before " + quoted());
        ++at_;
        auto const result = sum();
        close(token);
        return result;
    }
    void close(Token const& opening) {
        if (is_symbol(')')) ++at_;
        else if (now().kind == Kind::end)
            throw FormulaError(opening.begin, "this '(' is never closed");
        else if (is_symbol(',')) fail("this ',' is not between arguments of a function");
        else fail("an operator is missing before " + quoted());
    }
    Step name() {
        auto const called = word();
        auto const token = tokens_[at_++];
        if (auto const f = functions.find(called); f != functions.end())
            return call(f->second, called, token);
        if (is_symbol('('))
            throw FormulaError(token.begin,
                "there is no function '" + called + "'; a product is written with '*'");
        if (auto const value = constant(called)) return {called, *value};
        auto const variable = variables_.find(called);
        if (variable == variables_.end())
            throw FormulaError(token.begin, "'" + called + "' has no value");
        return {called, variable->second};
    }
    Step call(Function const& function, std::string const& called, Token const& token) {
        if (!is_symbol('(')) fail("'(' is missing after '" + called + "'");
        auto const opening = now();
        std::vector<Value> arguments;
        std::vector<std::size_t> begins;
        do {
            ++at_;
            begins.push_back(now().begin);
            arguments.push_back(sum().value);
        } while (is_symbol(','));
        close(opening);
        if (arguments.size() != function.arguments)
            throw FormulaError(
                token.begin, "'" + called + "' takes " +
                                 (function.arguments == 1 ? "one argument" : "two arguments") +
                                 ", not " + std::to_string(arguments.size()));
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (function.only_real && std::holds_alternative<Complex>(arguments[i]))
                throw FormulaError(
                    begins[i], "'" + called + "' takes real numbers only, and this is complex");
        return record_from(token.begin, function.apply(arguments));
    }

    std::string const& text_;
    std::vector<Token> const tokens_;
    std::map<std::string, Value> const& variables_;
    std::vector<Step>& steps_;
    std::size_t at_ = 0, depth_ = 0;
};

} // namespace

std::vector<std::string> variables_of(std::string const& formula) {
    std::vector<std::string> names;
    auto const tokens = tokens_of(formula);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        auto const& token = tokens[i];
        auto const name = formula.substr(token.begin, token.end - token.begin);
        if (token.kind == Token::Kind::name && formula[tokens[i + 1].begin] != '(' &&
            !functions.contains(name) && !constant(name) &&
            std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
    return names;
}

Value evaluate(std::string const& formula, std::map<std::string, Value> const& variables,
    std::vector<Step>& steps) {
    for (auto const& name : variables_of(formula))
        if (auto const at = variables.find(name); at != variables.end())
            steps.push_back({name, at->second});
    return Parser(formula, variables, steps).read();
}
Value evaluate(std::string const& formula) {
    std::vector<Step> steps;
    return evaluate(formula, {}, steps);
}

std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (auto const& [name, function] : functions) names.push_back(name);
    return names;
}

} // namespace playground

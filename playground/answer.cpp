// Bodies of answer.hpp.
#include "answer.hpp"

#include <cstdio>
#include <sstream>

#include "formula.hpp"

namespace playground {

namespace {

using Number = std::complex<double>;

struct Input {
    std::string name, text;
    bool is_complex;
};
/// A FormulaError of the text that is called `of`.
struct Fault {
    std::string of;
    FormulaError error;
};

Number number_of(Value const& value) {
    return std::visit([](auto const& t) { return Number(t.item()); }, value);
}
bool is_complex(Value const& value) { return std::holds_alternative<Complex>(value); }
xg::AnyTensor const& tensor_of(Value const& value) {
    return std::visit([](auto const& t) -> xg::AnyTensor const& { return t; }, value);
}
/// A tensor of this value without history.
Value constant(Number value, bool is_complex) {
    if (is_complex) return Complex(value);
    return Real(value.real());
}

std::string quoted(std::string const& text) {
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < ' ') {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else out += c;
    }
    return out + '"';
}
std::string digits(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "\"%.17g\"", x);
    return text;
}
std::string json(Number value, bool is_complex) {
    return "[" + digits(value.real()) + (is_complex ? "," + digits(value.imag()) : "") + "]";
}
std::string json(Value const& value) { return json(number_of(value), is_complex(value)); }
template <class List, class F> std::string json_list(List const& list, F f) {
    std::string out;
    for (auto const& each : list) out += (out.empty() ? "" : ",") + f(each);
    return "[" + out + "]";
}

Input default_input(std::string const& name) {
    if (name == "z") return {name, "1+2i", true};
    if (name == "w") return {name, "0.5-i", true};
    return {name, name == "y" ? "2" : "1", false};
}

std::vector<Input> inputs_of(std::string const& formula, std::string const& lines) {
    std::vector<Input> inputs;
    for (auto const& name : variables_of(formula)) {
        inputs.push_back(default_input(name));
        std::istringstream all(lines);
        for (std::string line; std::getline(all, line);) {
            std::istringstream words(line);
            std::string called, kind, text;
            words >> called >> kind;
            std::getline(words >> std::ws, text);
            if (called == name) inputs.back() = {name, text, kind == "complex"};
        }
    }
    return inputs;
}

Value value_of(Input const& input) {
    try {
        if (auto const names = variables_of(input.text); !names.empty())
            throw FormulaError(input.text.find(names[0]),
                "a value has no variables, and '" + names[0] + "' is one");
        auto const value = evaluate(input.text);
        if (is_complex(value) && !input.is_complex)
            throw FormulaError(0, "this value is complex, and " + input.name + " is real");
        return constant(number_of(value), input.is_complex);
    } catch (FormulaError const& error) { throw Fault{input.name, error}; }
}

/// A formula at one place, evaluated with or without being recorded.
class Formula {
public:
    Formula(std::string const& text, std::vector<Input> const& inputs) : text_(text) {
        for (auto const& input : inputs) {
            names_.push_back(input.name);
            at_.push_back(value_of(input));
        }
    }

    std::vector<std::string> const& names() const { return names_; }
    Value const& at(std::size_t i) const { return at_[i]; }

    /// The gradients of Re(f conj(seed)) at all variables stand in their .grad afterwards, and
    /// those at all steps too.
    Value differentiate(Number seed, std::vector<Step>& steps) const {
        std::map<std::string, Value> leaves;
        for (std::size_t i = 0; i < at_.size(); ++i)
            leaves[names_[i]] = std::visit(
                [](auto const& t) -> Value { return t.clone().detach().requires_grad_(); }, at_[i]);
        auto const value = evaluate(text_, leaves, steps);
        for (auto& step : steps) std::visit([](auto& t) { t.retain_grad(); }, step.value);
        if (tensor_of(value).requires_grad())
            xg::backward({tensor_of(value)}, {tensor_of(constant(seed, is_complex(value)))});
        return value;
    }
    /// Re(df conj(seed)) / d for a small step of a variable in direction 1 or i: central
    /// differences.
    Number differences(Number seed, std::size_t variable) const {
        Number const x = number_of(at_[variable]);
        double const h = 6e-6 * std::max(1., std::abs(x));
        auto const slope = [&](Number direction) {
            auto const df =
                value_near(variable, x + h * direction) - value_near(variable, x - h * direction);
            return std::real(df * std::conj(seed)) / (2 * h);
        };
        return {slope(1), is_complex(at_[variable]) ? slope({0, 1}) : 0};
    }

private:
    Number value_near(std::size_t variable, Number x) const {
        std::map<std::string, Value> values;
        for (std::size_t i = 0; i < at_.size(); ++i)
            values[names_[i]] = i == variable ? constant(x, is_complex(at_[i])) : at_[i];
        std::vector<Step> steps;
        return number_of(evaluate(text_, values, steps));
    }

    std::string const& text_;
    std::vector<std::string> names_;
    std::vector<Value> at_;
};

std::string json_of_gradients(
    Formula const& f, Number seed, std::string const& of, std::vector<Step> const& steps) {
    std::string out;
    for (std::size_t i = 0; i < f.names().size(); ++i) { // a step for each variable comes first
        bool const complex = is_complex(f.at(i));
        Number const gradient = std::visit(
            [](auto const& leaf) { return leaf.grad().defined() ? Number(leaf.grad().item()) : 0; },
            steps[i].value);
        out += std::string(out.empty() ? "" : ",") + "{\"of\":" + quoted(of) +
               ",\"variable\":" + quoted(f.names()[i]) + ",\"value\":" + json(gradient, complex) +
               ",\"differences\":" + json(f.differences(seed, i), complex) + "}";
    }
    return out;
}

/// The Nodes from the result to the leaves, as xgrad has recorded them. A step tells of its Node
/// what stands in the formula.
std::string json_of_graph(Value const& result, std::vector<Step> const& steps) {
    std::string vertices =
        "{\"kind\":\"result\",\"text\":\"f\",\"node\":\"\",\"value\":" + json(result) +
        ",\"gradient\":null}";
    std::string edges;
    std::vector<xg::Node*> nodes;
    auto const add_edge = [&](xg::Node* from, std::size_t to) {
        auto at =
            static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), from) - nodes.begin());
        if (at == nodes.size()) nodes.push_back(from);
        edges +=
            (edges.empty() ? "[" : ",[") + std::to_string(at + 1) + "," + std::to_string(to) + "]";
    };
    auto const root = xg::detail::gradient_edge(tensor_of(result));
    if (root) add_edge(root.function.get(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const step = std::find_if(steps.begin(), steps.end(), [&](Step const& s) {
            return xg::detail::gradient_edge(tensor_of(s.value)).function.get() == nodes[i];
        });
        std::string text, value = "null", gradient = "null";
        bool is_leaf = false;
        if (step != steps.end()) {
            text = step->text;
            value = json(step->value);
            std::visit(
                [&](auto const& t) {
                    is_leaf = t.is_leaf();
                    if (t.grad().defined()) gradient = json(Value(t.grad()));
                },
                step->value);
        }
        vertices += std::string(",{\"kind\":") + (is_leaf ? "\"leaf\"" : "\"step\"") +
                    ",\"text\":" + quoted(text) + ",\"node\":" + quoted(nodes[i]->name()) +
                    ",\"value\":" + value + ",\"gradient\":" + gradient + "}";
        for (auto const& edge : nodes[i]->next_edges())
            if (edge) add_edge(edge.function.get(), i + 1);
    }
    return "{\"vertices\":[" + vertices + "],\"edges\":[" + edges + "]}";
}

std::string answer_of(std::string const& text, std::vector<Input> const& inputs) {
    Formula const f(text, inputs);
    std::vector<Step> steps, more_steps;
    auto const value = f.differentiate(1, steps);
    auto gradients = json_of_gradients(f, 1, is_complex(value) ? "Re f" : "f", steps);
    if (is_complex(value) && !inputs.empty()) {
        f.differentiate({0, 1}, more_steps);
        gradients += "," + json_of_gradients(f, {0, 1}, "Im f", more_steps);
    }
    return "\"value\":" + json(value) + ",\"gradients\":[" + gradients +
           "],\"graph\":" + json_of_graph(value, steps);
}

std::string error_of(std::string const& of, std::string const& text, FormulaError const& error) {
    auto const begins_character = [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    };
    auto const before = text.begin() + static_cast<std::ptrdiff_t>(error.position);
    return "\"error\":" + quoted(error.what()) + ",\"of\":" + quoted(of) +
           ",\"position\":" + std::to_string(std::count_if(text.begin(), before, begins_character));
}

} // namespace

std::string answer(std::string const& formula, std::string const& lines) {
    std::vector<Input> inputs;
    std::string rest;
    try {
        inputs = inputs_of(formula, lines);
        rest = answer_of(formula, inputs);
    } catch (FormulaError const& error) {
        rest = error_of("", formula, error);
    } catch (Fault const& fault) {
        auto const at = std::find_if(inputs.begin(), inputs.end(),
            [&](Input const& input) { return input.name == fault.of; });
        rest = error_of(fault.of, at->text, fault.error);
    }
    return "{\"variables\":" +
           json_list(inputs,
               [](Input const& input) {
                   return "{\"name\":" + quoted(input.name) +
                          ",\"kind\":" + (input.is_complex ? "\"complex\"" : "\"real\"") +
                          ",\"value\":" + quoted(input.text) + "}";
               }) +
           "," + rest + "}";
}

} // namespace playground

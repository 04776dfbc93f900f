// Bodies of gradcheck.hpp, differences.hpp and jacobian_check.hpp.
#pragma once

#include <xgrad/testing/differences.hpp>
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/testing/jacobian_check.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool check_gradients(std::string_view name, TensorFunction const& f,
    Tensors const& inputs, GradcheckOptions const& options) {
    InferenceMode const normal(false);
    DifferentiatedScope const scope;
    auto const complaint = Gradcheck(f, inputs, options).complaint();
    if (complaint.empty()) return true;
    if (options.raise_exception) fail<GradcheckError>(name, ": ", complaint);
    return false;
}

XGRAD_FUNCTION TensorFunction gradient_function(TensorFunction const& f, std::size_t inputs) {
    return [&f, inputs](Tensors const& all) {
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(inputs);
        auto const x = differentiable_outputs(Tensors(all.begin(), middle));
        auto gradients = xgrad::grad(differentiable_outputs(f(Tensors(all.begin(), middle))), x,
            {.gradients = Tensors(middle, all.end()), .create_graph = true, .allow_unused = true});
        std::erase_if(gradients, [](AnyTensor const& g) { return !g.defined(); });
        return gradients;
    };
}

XGRAD_FUNCTION Tensors random_grad_outputs(TensorFunction const& f, Tensors const& inputs) {
    std::mt19937_64 random_source(20);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Tensors grad_outputs;
    for (auto const& y : differentiable_outputs(f(leaves_like(inputs, false)))) {
        grad_outputs.push_back(y.impl().type->filled(y.shape(), 0));
        for (std::size_t i = 0; i < y.numel(); ++i) {
            double const re = uniform(random_source);
            set_element(grad_outputs.back(), i, {re, uniform(random_source)});
        }
        grad_outputs.back().impl().requires_grad = true;
    }
    return grad_outputs;
}

XGRAD_FUNCTION bool check_second_gradients(TensorFunction const& f, Tensors inputs,
    Tensors grad_outputs, GradcheckOptions const& options) {
    auto const count = inputs.size();
    if (grad_outputs.empty()) {
        InferenceMode const normal(false);
        DifferentiatedScope const scope;
        grad_outputs = random_grad_outputs(f, inputs);
        if (grad_outputs.empty())
            fail<GraphError>("gradgradcheck: no output of the function requires a gradient");
    }
    inputs.insert(inputs.end(), grad_outputs.begin(), grad_outputs.end());
    return check_gradients("gradgradcheck", gradient_function(f, count), inputs, options);
}

XGRAD_FUNCTION std::complex<double> number_at(AnyTensor const& t, std::size_t i) {
    return with_reals(t, [&](auto const* x, std::size_t n) {
        return n == t.numel() ? std::complex<double>(x[i])
                              : std::complex<double>(x[2 * i], x[2 * i + 1]);
    });
}

XGRAD_FUNCTION void set_element(AnyTensor const& t, std::size_t i, std::complex<double> value) {
    with_reals(t, [&]<class P>(P* x, std::size_t n) {
        bool const pairs = n != t.numel();
        x[pairs ? 2 * i : i] = static_cast<P>(value.real());
        if (pairs) x[2 * i + 1] = static_cast<P>(value.imag());
    });
}

XGRAD_FUNCTION Numbers numbers_of(AnyTensor const& t, std::size_t count) {
    Numbers all(count);
    if (!t.defined()) return all;
    auto const row_major = t.impl().type->copy(alias(t));
    for (std::size_t i = 0; i < count; ++i) all[i] = number_at(row_major, i);
    return all;
}

XGRAD_FUNCTION Tensors leaves_like(Tensors const& x, bool own_memory) {
    NoGradGuard const off;
    Tensors leaves;
    for (auto const& t : x) {
        leaves.push_back(own_memory || t.is_inference() ? t.impl().type->copy(alias(t)) : alias(t));
        leaves.back().impl().requires_grad = t.requires_grad();
    }
    return leaves;
}

XGRAD_FUNCTION Tensors differentiable_outputs(Tensors y) {
    std::erase_if(y, [](AnyTensor const& t) { return !t.requires_grad(); });
    return y;
}

XGRAD_FUNCTION Differences::Differences(TensorFunction const& f, Tensors const& at,
    std::size_t input, Tensors const& outputs, double eps) {
    auto const x = leaves_like(at, true);
    auto const directions = xgrad::is_complex(x[input].dtype()) ? Numbers{1, {0, 1}} : Numbers{1};
    for (std::size_t i = 0; i < x[input].numel(); ++i) {
        auto const keep = number_at(x[input], i);
        auto& along = along_.emplace_back();
        for (auto const direction : directions) {
            auto const value = [&](double step) {
                set_element(x[input], i, keep + step * direction);
                return evaluated(f, x, outputs);
            };
            auto const above = value(eps), below = value(-eps);
            auto& difference = along.emplace_back(above);
            for (std::size_t k = 0; k < difference.size(); ++k)
                for (std::size_t j = 0; j < difference[k].size(); ++j)
                    difference[k][j] = (difference[k][j] - below[k][j]) / (2 * eps);
        }
        set_element(x[input], i, keep);
    }
}

XGRAD_FUNCTION Numbers Differences::gradient(JacobianRow const& row) const {
    Numbers g;
    for (auto const& along : along_) {
        auto const part = [&](std::size_t direction) {
            auto const z = along[direction][row.output][row.element];
            return row.imaginary ? z.imag() : z.real();
        };
        g.emplace_back(part(0), along.size() > 1 ? part(1) : 0.);
    }
    return g;
}

XGRAD_FUNCTION std::vector<Numbers> Differences::evaluated(
    TensorFunction const& f, Tensors const& x, Tensors const& like) {
    auto const y = differentiable_outputs(f(x));
    if (y.size() != like.size())
        fail<GraphError>("gradcheck: the function has ", like.size(),
            " differentiable outputs, and ", y.size(), " where an input is a little different");
    std::vector<Numbers> all;
    for (std::size_t k = 0; k < y.size(); ++k) {
        if (y[k].shape() != like[k].shape() || y[k].dtype() != like[k].dtype())
            fail<GraphError>("gradcheck: output ", k, " of the function is ", describe(like[k]),
                ", and ", describe(y[k]), " where an input is a little different");
        all.push_back(numbers_of(y[k], y[k].numel()));
    }
    return all;
}

XGRAD_FUNCTION std::string text_of(std::complex<double> z, bool is_complex) {
    char buffer[80];
    auto const n = is_complex
                       ? std::snprintf(buffer, sizeof buffer, "%.10g%+.10gi", z.real(), z.imag())
                       : std::snprintf(buffer, sizeof buffer, "%.10g", z.real());
    return {buffer, static_cast<std::size_t>(n)};
}

XGRAD_FUNCTION Axes index_of(Shape const& shape, std::size_t i) {
    Axes index(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; i /= shape[d])
        index[d] = static_cast<std::ptrdiff_t>(i % shape[d]);
    return index;
}

XGRAD_FUNCTION Gradcheck::Gradcheck(
    TensorFunction const& f, Tensors const& inputs, GradcheckOptions const& options)
    : f_(f), options_(options) {
    check_defined("gradcheck", "input", inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (!inputs[k].requires_grad()) continue;
        checked_.push_back(k);
        if (inputs[k].dtype() != DType::float64 && inputs[k].dtype() != DType::complex128)
            warn("gradcheck: Input #", k,
                " requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision "
                "floating point or complex.");
        if (overlaps_itself(inputs[k].impl().array))
            fail<ShapeError>("gradcheck: The ", k,
                "th input has a dimension with stride 0. gradcheck only supports inputs that "
                "are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .clone() on the input before passing it to gradcheck.");
    }
    if (checked_.empty())
        fail<GraphError>("gradcheck expects at least one input tensor to require gradient, but "
                         "none of them does.");
    x_ = leaves_like(inputs, false);
}

XGRAD_FUNCTION std::string Gradcheck::complaint() {
    y_ = differentiable_outputs(f_(x_));
    if (y_.empty()) return dependence_without_gradients();
    std::string text = mismatches();
    if (text.empty()) text = nondeterminism_;
    if (text.empty()) text = gradients_from_zeros();
    if (text.empty() && options_.check_undefined_grad) text = gradients_from_undefined();
    return text;
}

XGRAD_FUNCTION Tensors Gradcheck::inputs() const {
    Tensors all;
    for (auto const k : checked_) all.push_back(x_[k]);
    return all;
}

XGRAD_FUNCTION std::string Gradcheck::dependence_without_gradients() const {
    TensorFunction const all_outputs = [&](Tensors const& x) {
        auto y = f_(x);
        std::erase_if(y, [](AnyTensor const& t) { return !is_differentiable(t.dtype()); });
        Tensors leaves;
        for (auto const& t : y)
            leaves.push_back(alias(t)), leaves.back().impl().requires_grad = true;
        return leaves;
    };
    auto const y = all_outputs(x_);
    for (auto const k : checked_) {
        Differences const numerical(all_outputs, x_, k, y, options_.eps);
        for (std::size_t o = 0; o < y.size(); ++o)
            for (std::size_t j = 0; j < y[o].numel(); ++j)
                for (bool const imaginary : {false, true})
                    for (auto const d : numerical.gradient({o, j, imaginary}))
                        if (d != 0.)
                            return "Numerical gradient for function expected to be zero: no "
                                   "output requires a gradient, but output " +
                                   std::to_string(o) + " depends on input " + std::to_string(k);
    }
    return {};
}

XGRAD_FUNCTION Tensors Gradcheck::analytical(JacobianRow const& row) const {
    auto const& y = y_[row.output];
    AnyTensor const grad_output = y.impl().type->filled(y.shape(), 0);
    set_element(grad_output, row.element,
        row.imaginary ? std::complex<double>(0, 1) : std::complex<double>(1));
    return xgrad::grad(
        {y}, inputs(), {.gradients = {grad_output}, .retain_graph = true, .allow_unused = true});
}

XGRAD_FUNCTION std::string Gradcheck::mismatches() {
    std::vector<Differences> numerical;
    for (auto const k : checked_) numerical.emplace_back(f_, x_, k, y_, options_.eps);
    std::string text;
    for (std::size_t o = 0; o < y_.size(); ++o)
        for (bool const imaginary : {false, true}) {
            if (imaginary && !xgrad::is_complex(y_[o].dtype())) continue;
            std::vector<Worst> worst(checked_.size());
            for (std::size_t j = 0; j < y_[o].numel(); ++j) {
                JacobianRow const row{o, j, imaginary};
                auto const first = analytical(row), second = analytical(row);
                for (std::size_t i = 0; i < checked_.size(); ++i) {
                    for (auto const* g : {&first[i], &second[i]})
                        if (auto wrong = misfit(*g, i); !wrong.empty()) return wrong;
                    auto const a = numbers_of(first[i], input(i).numel());
                    worst[i].look(j, a, numerical[i].gradient(row), options_);
                    note_nondeterminism(a, numbers_of(second[i], a.size()));
                }
            }
            for (std::size_t i = 0; i < worst.size(); ++i)
                if (worst[i].count)
                    text += (text.empty() ? "" : "\n") + report(worst[i], o, imaginary, i);
        }
    return text;
}

XGRAD_FUNCTION void Gradcheck::Worst::look(
    std::size_t row, Numbers const& a, Numbers const& n, GradcheckOptions const& options) {
    of += a.size();
    for (std::size_t i = 0; i < a.size(); ++i) {
        double const distance = std::abs(a[i] - n[i]),
                     allowed = options.atol + options.rtol * std::abs(n[i]);
        if (a[i] == n[i] || distance <= allowed) continue;
        ++count;
        // NaN is worst
        double const by =
            distance == distance ? distance - allowed : std::numeric_limits<double>::infinity();
        if (by <= excess) continue;
        *this = {count, of, row, i, by, a[i], n[i]};
    }
}

XGRAD_FUNCTION std::string Gradcheck::report(
    Worst const& w, std::size_t output, bool imaginary, std::size_t i) const {
    bool const complex_output = xgrad::is_complex(y_[output].dtype()),
               complex_input = xgrad::is_complex(input(i).dtype());
    std::string const part = complex_output ? std::string("While considering the ") +
                                                  (imaginary ? "imaginary" : "real") +
                                                  " part of complex outputs only, "
                                            : std::string();
    return message_of({part, "Jacobian mismatch for output ", output, " with respect to input ",
        checked_[i], ", at element ", index_of(y_[output].shape(), w.output_element),
        " of the output and element ", index_of(input(i).shape(), w.input_element),
        " of the input: numerical: ", text_of(w.numerical, complex_input),
        ", analytical: ", text_of(w.analytical, complex_input), " (", w.count, " of ", w.of,
        " entries disagree, this one most)"});
}

XGRAD_FUNCTION std::string Gradcheck::misfit(AnyTensor const& gradient, std::size_t i) const {
    if (!gradient.defined() ||
        (gradient.dtype() == input(i).dtype() && gradient.shape() == input(i).shape()))
        return {};
    return "grad is incorrect type or size: the gradient for input " + std::to_string(checked_[i]) +
           ", which is " + describe(input(i)) + ", is " + describe(gradient);
}

XGRAD_FUNCTION void Gradcheck::note_nondeterminism(Numbers const& a, Numbers const& b) {
    double farthest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (double const d = std::abs(a[i] - b[i]); d > farthest) farthest = d;
    if (farthest > options_.nondet_tol && nondeterminism_.empty())
        nondeterminism_ =
            "Backward is not reentrant, i.e., running backward with same input and grad_output "
            "multiple times gives different values, although analytical gradient matches "
            "numerical gradient. The tolerance for nondeterminism was " +
            text_of(options_.nondet_tol, false) + ", the difference is " + text_of(farthest, false);
}

XGRAD_FUNCTION std::string Gradcheck::gradients_from_zeros() const {
    auto const gradients = xgrad::grad(
        y_, inputs(), {.gradients = zero_seeds(y_), .retain_graph = true, .allow_unused = true});
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (!is_zero(gradients[i]))
            return "backward not multiplied by grad_output: zeros come in, and the gradient "
                   "for input " +
                   std::to_string(checked_[i]) + " is not zero";
    return {};
}

XGRAD_FUNCTION std::string Gradcheck::gradients_from_undefined() const {
    std::size_t const all = y_.size();
    for (std::size_t which = all > 1 ? 0 : all; which <= all; ++which) {
        Tensors outputs = y_;
        for (std::size_t o = 0; o < all; ++o) {
            if (which != all && which != o) continue;
            outputs[o] = alias(y_[o]);
            outputs[o].impl().grad_fn = Ref<Node>(new UndefinedGradientNode(gradient_edge(y_[o])));
        }
        Tensors gradients;
        try {
            gradients = xgrad::grad(outputs, inputs(),
                {.gradients = zero_seeds(outputs), .retain_graph = true, .allow_unused = true});
        } catch (std::exception const& error) {
            return std::string("Expected backward function to handle undefined output grads. "
                               "It threw: ") +
                   error.what();
        }
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (!is_zero(gradients[i]))
                return "Expected all input grads to be undefined or zero when all output grads "
                       "are undefined or zero; the gradient for input " +
                       std::to_string(checked_[i]) + " is not";
    }
    return {};
}

XGRAD_FUNCTION Tensors Gradcheck::zero_seeds(Tensors const& y) {
    Tensors zeros;
    for (auto const& t : y) zeros.push_back(t.impl().type->filled(t.shape(), 0));
    return zeros;
}

XGRAD_FUNCTION bool Gradcheck::is_zero(AnyTensor const& t) {
    return !t.defined() ||
           std::ranges::all_of(numbers_of(t, t.numel()), [](auto z) { return z == 0.; });
}

} // namespace xgrad::detail

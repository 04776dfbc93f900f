// Transforms of an inner function: grad, vjp, jvp, jacobian, hessian, vmap, checkpoint and others.
// Each has an alternative: another mode, or a loop.
#include "program.hpp"

namespace composed {

/// What vmap() calls: all arguments by their kind, and the result as one of both.
struct Body {
    Closure f;

    std::pair<BD, BZ> operator()(std::vector<BD> const& r, std::vector<BZ> const& c) const {
        Values x(r.begin(), r.end());
        x.insert(x.end(), c.begin(), c.end());
        auto const y = as_batched(f(x));
        auto const none = xg::zeros({static_cast<std::ptrdiff_t>(xg::detail::level_size<Level>)});
        if (is_complex(y)) return {BD(none), std::get<BZ>(y)};
        return {std::get<BD>(y), BZ(xg::cast<std::complex<double>>(none))};
    }
};

namespace {

template <class T>
concept AnyValue =
    std::same_as<T, D> || std::same_as<T, Z> || std::same_as<T, BD> || std::same_as<T, BZ>;
template <class T> T value_as(Value const& v) {
    if constexpr (std::same_as<T, BD> || std::same_as<T, BZ>) return std::get<T>(as_batched(v));
    else return std::get<T>(v);
}
/// A function of tensors with a result of one type.
template <class Out> struct Inner {
    Closure f;
    template <AnyValue... X> Out operator()(X const&... x) const {
        return value_as<Out>(f({Value(x)...}));
    }
};
/// The same of all real and all complex tensors.
template <class Out> struct OfLists {
    Closure f;
    Out operator()(std::vector<D> const& r, std::vector<Z> const& c) const {
        Values x(r.begin(), r.end());
        x.insert(x.end(), c.begin(), c.end());
        return std::get<Out>(f(x));
    }
};
std::pair<std::vector<D>, std::vector<Z>> lists(Values const& x) {
    std::pair<std::vector<D>, std::vector<Z>> all;
    for (auto const& v : x) {
        if (is_complex(v)) all.second.push_back(std::get<Z>(v));
        else all.first.push_back(std::get<D>(v));
    }
    return all;
}
Values joined(std::vector<D> const& r, std::vector<Z> const& c) {
    Values x(r.begin(), r.end());
    x.insert(x.end(), c.begin(), c.end());
    return x;
}
template <class Out>
std::pair<Value, Values> vjp_to(Closure const& f, Values const& x, Value const& v) {
    auto const [r, c] = lists(x);
    auto const [y, g] = xg::vjp(OfLists<Out>{f}, std::tuple(r, c), std::get<Out>(v));
    return {y, joined(std::get<0>(g), std::get<1>(g))};
}
template <class Out>
std::pair<Value, Value> jvp_to(Closure const& f, Values const& x, Values const& t) {
    auto const [r, c] = lists(x);
    auto const [tr, tc] = lists(t);
    auto const [y, p] = xg::jvp(OfLists<Out>{f}, std::tuple(r, c), std::tuple(tr, tc));
    return {y, p};
}

} // namespace

std::pair<Value, Values> vjp_of(Closure const& f, Values const& x, Value const& v) {
    return is_complex(v) ? vjp_to<Z>(f, x, v) : vjp_to<D>(f, x, v);
}
std::pair<Value, Value> jvp_of(Closure const& f, Values const& x, Values const& tangents) {
    // The kind of the result is that of the value.
    return is_complex(f(x)) ? jvp_to<Z>(f, x, tangents) : jvp_to<D>(f, x, tangents);
}

namespace {

/// Calls do(x...) with the arguments of the inner function by their types.
template <class Do> Value with_arguments(Call const& c, Do const& todo) {
    auto const n = c.arguments();
    auto const& x = c.operands;
    bool const first = is_complex(x[0]), second = n > 1 && is_complex(x[1]);
    auto const call = [&]<class R, class C>() -> Value {
        if (n == 1) return first ? todo(value_as<C>(x[0])) : todo(value_as<R>(x[0]));
        if (second) return todo(value_as<R>(x[0]), value_as<C>(x[1]));
        return todo(value_as<R>(x[0]), value_as<R>(x[1]));
    };
    return c.has_batches() ? call.template operator()<BD, BZ>() : call.template operator()<D, Z>();
}
template <class X>
inline constexpr bool is_complex_type = std::same_as<X, Z> || std::same_as<X, BZ>;
template <class X>
inline constexpr bool is_batched_type = std::same_as<X, BD> || std::same_as<X, BZ>;
/// Calls todo(f, x...) with the inner function, whose result has the type that is found.
template <bool complex_results, class Do> Value with_function(Call const& c, Do const& todo) {
    return with_arguments(c, [&](auto const&... x) -> Value {
        constexpr bool batched = (is_batched_type<std::remove_cvref_t<decltype(x)>> || ...);
        using R = std::conditional_t<batched, BD, D>;
        using C = std::conditional_t<batched, BZ, Z>;
        if constexpr (complex_results)
            if (c.returns_complex()) return todo(Inner<C>{c.inner()}, x...);
        return todo(Inner<R>{c.inner()}, x...);
    });
}
/// Inputs as transforms take them: one, or a tuple.
auto as_inputs(auto const& x) { return x; }
auto as_inputs(auto const& x, auto const& y) { return std::tuple(x, y); }
/// The result for input i.
template <class G> Value part(G const& g, std::int64_t i) {
    if constexpr (requires { std::tuple_size<G>::value; }) {
        if constexpr (std::tuple_size_v<G> == 1) return Value(std::get<0>(g));
        else return i == 0 ? Value(std::get<0>(g)) : Value(std::get<1>(g));
    } else return Value(g);
}
/// The extras as vectors of the types of x.
template <class... X> auto vectors(Call const& c, X const&...) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return as_inputs(value_as<X>(c.extra(i))...);
    }(std::index_sequence_for<X...>());
}

Values arguments_of(Call const& c) {
    return Values(
        c.operands.begin(), c.operands.begin() + static_cast<std::ptrdiff_t>(c.arguments()));
}
Values extras_of(Call const& c, std::size_t n) {
    Values all;
    for (std::size_t k = 0; k < n; ++k) all.push_back(c.extra(k));
    return all;
}
/// Re <a, b> as a tensor, which is recorded.
D recorded_product(Value const& a, Value const& b) {
    if (is_complex(a)) return sum(real(conj(std::get<Z>(a)) * std::get<Z>(b)));
    return sum(std::get<D>(a) * std::get<D>(b));
}
/// A tensor of a type from its real numbers: of the complex ones first all real parts.
Value assembled(Type const& type, std::vector<D> const& numbers) {
    xg::Axes const shape(type.shape);
    if (!type.is_complex) return xg::eval(reshape(xg::stack(numbers), shape));
    auto const half = static_cast<std::ptrdiff_t>(numbers.size() / 2);
    return xg::eval(xg::complex(
        reshape(xg::stack(std::vector<D>(numbers.begin(), numbers.begin() + half)), shape),
        reshape(xg::stack(std::vector<D>(numbers.begin() + half, numbers.end())), shape)));
}
/// A number for each real number of a type.
template <class Do> Value each_number(Type const& type, Do const& number) {
    std::vector<D> all;
    for (int part = 0; part < (type.is_complex ? 2 : 1); ++part)
        for (std::size_t k = 0; k < xg::numel(type.shape); ++k) all.push_back(number(k, part == 1));
    return assembled(type, all);
}
/// v^T J for one input by columns: forward mode.
Value vjp_by_columns(Closure const& f, Values const& x, Value const& v, std::size_t input) {
    auto const type = type_of(x[input]);
    return each_number(type, [&](std::size_t k, bool imaginary) {
        Values t;
        for (std::size_t i = 0; i < x.size(); ++i)
            t.push_back(i == input ? unit_of(type, k, imaginary) : zeros_of(type_of(x[i])));
        return recorded_product(v, jvp_of(f, x, t).second);
    });
}
/// J v by rows: reverse mode.
Value jvp_by_rows(Closure const& f, Values const& x, Values const& tangents) {
    auto const type = type_of(f(x));
    return each_number(type, [&](std::size_t k, bool imaginary) {
        auto const g = vjp_of(f, x, unit_of(type, k, imaginary)).second;
        D total = recorded_product(g[0], tangents[0]);
        for (std::size_t i = 1; i < x.size(); ++i)
            total = total + recorded_product(g[i], tangents[i]);
        return total;
    });
}
/// The gradient for one input as a function.
Closure gradient_of(Closure const& f, std::size_t input) {
    return [f, input](Values const& x) { return vjp_of(f, x, D(1.)).second[input]; };
}
/// d Re y[k] / dx for each k: shape of y, shape of x.
Value jacobian_by_rows(Closure const& f, Values const& x, std::size_t input) {
    auto const type = type_of(f(x));
    xg::Shape shape = type.shape;
    for (auto const n : shape_of(x[input])) shape.push_back(n);
    std::vector<Value> rows;
    for (std::size_t k = 0; k < xg::numel(type.shape); ++k)
        rows.push_back(vjp_of(f, x, unit_of(type, k)).second[input]);
    if (is_complex(x[input])) {
        std::vector<Z> all;
        for (auto const& r : rows) all.push_back(std::get<Z>(r));
        return xg::eval(reshape(xg::stack(all), xg::Axes(shape)));
    }
    std::vector<D> all;
    for (auto const& r : rows) all.push_back(std::get<D>(r));
    return xg::eval(reshape(xg::stack(all), xg::Axes(shape)));
}
/// An example of each argument.
Values example(Values const& x, std::size_t i) {
    Values all;
    for (auto const& v : x)
        all.push_back(std::visit(
            [&](auto const& t) -> Value {
                if constexpr (is_batched_type<std::remove_cvref_t<decltype(t)>>) return t;
                else return xg::select(t, 0, static_cast<std::ptrdiff_t>(i));
            },
            v));
    return all;
}
/// f(examples) for each example, stacked.
Value stacked(Values const& x, Closure const& f) {
    std::vector<D> r;
    std::vector<Z> c;
    for (std::size_t i = 0; i < shape_of(x[0])[0]; ++i) {
        auto const y = f(example(x, i));
        if (is_complex(y)) c.push_back(std::get<Z>(y));
        else r.push_back(std::get<D>(y));
    }
    if (c.empty()) return xg::stack(r);
    return xg::stack(c);
}

std::string list_of(std::vector<std::string> const& names, std::size_t from, std::size_t n) {
    std::string text;
    for (std::size_t i = from; i < from + n; ++i) text += (i == from ? "" : ", ") + names[i];
    return text;
}
std::string as_tuple(std::vector<std::string> const& names, std::size_t from, std::size_t n) {
    return n == 1 ? names[from] : "std::tuple(" + list_of(names, from, n) + ")";
}
std::size_t argument_count(Instruction const& at) {
    return at.inner->parameters.size() - at.op->given;
}
/// name(f, inputs, rest)[i]
std::string printed(std::string const& name, Instruction const& at,
    std::vector<std::string> const& operands, std::size_t extras, std::string const& options = "") {
    auto const n = argument_count(at), from = n + at.inner->captured.size();
    return name + "(" + print_inner(at, operands) + ", " + as_tuple(operands, 0, n) +
           (extras ? ", " + as_tuple(operands, from, extras) : "") + options + ")";
}
std::string get(std::int64_t i, std::size_t n, std::string const& of) {
    return n == 1 ? of : "std::get<" + std::to_string(i) + ">(" + of + ")";
}

Operation transform(std::string name, std::function<Value(Call const&)> call,
    std::function<Value(Call const&)> alternative,
    std::function<std::string(Instruction const&, std::vector<std::string> const&)> print) {
    Operation o{name, name};
    o.call = std::move(call);
    o.alternative = std::move(alternative);
    o.print = std::move(print);
    o.group = "transform";
    return o;
}
xg::JacobianOptions options_of(Call const& c) {
    xg::JacobianOptions o;
    auto const mode = c.at.numbers[2];
    o.strategy = mode == 0   ? xg::Mode::automatic
                 : mode == 1 ? xg::Mode::forward
                             : xg::Mode::reverse;
    return o;
}
std::string options_text(Instruction const& at) {
    auto const mode = at.numbers[2];
    return mode == 0
               ? ""
               : std::string(", {.strategy = xg::Mode::") + (mode == 1 ? "forward}" : "reverse}");
}

} // namespace

void add_transforms(Catalogue& all) {
    using Names = std::vector<std::string>;
    // numbers[0]: the input that is meant
    all.add(transform(
        "grad",
        [](Call const& c) {
            return with_function<false>(c, [&](auto const& f, auto const&... x) {
                return part(xg::grad(f, x...), c.at.numbers[0]);
            });
        },
        [](Call const& c) {
            return vjp_by_columns(
                c.inner(), arguments_of(c), D(1.), static_cast<std::size_t>(c.at.numbers[0]));
        },
        [](Instruction const& at, Names const& x) {
            auto const n = argument_count(at);
            return get(
                at.numbers[0], n, "xg::grad(" + print_inner(at, x) + ", " + list_of(x, 0, n) + ")");
        }));
    all.add(transform(
        "value_and_grad",
        [](Call const& c) {
            return with_function<false>(c, [&](auto const& f, auto const&... x) {
                return part(xg::value_and_grad(f, as_inputs(x...)).second, c.at.numbers[0]);
            });
        },
        [](Call const& c) {
            return vjp_by_columns(
                c.inner(), arguments_of(c), D(1.), static_cast<std::size_t>(c.at.numbers[0]));
        },
        [](Instruction const& at, Names const& x) {
            return get(at.numbers[0], argument_count(at),
                printed("xg::value_and_grad", at, x, 0) + ".second");
        }));
    all.add(transform(
        "vjp",
        [](Call const& c) {
            return with_function<true>(c, [&]<class Out>(Inner<Out> const& f, auto const&... x) {
                auto const v = value_as<Out>(c.extra(0));
                return part(xg::vjp(f, as_inputs(x...), v).second, c.at.numbers[0]);
            });
        },
        [](Call const& c) {
            return vjp_by_columns(
                c.inner(), arguments_of(c), c.extra(0), static_cast<std::size_t>(c.at.numbers[0]));
        },
        [](Instruction const& at, Names const& x) {
            return get(at.numbers[0], argument_count(at), printed("xg::vjp", at, x, 1) + ".second");
        }));
    all.add(transform(
        "jvp",
        [](Call const& c) {
            return with_function<true>(c, [&](auto const& f, auto const&... x) {
                return Value(xg::jvp(f, as_inputs(x...), vectors(c, x...)).second);
            });
        },
        [](Call const& c) {
            return jvp_by_rows(c.inner(), arguments_of(c), extras_of(c, c.arguments()));
        },
        [](Instruction const& at, Names const& x) {
            return printed("xg::jvp", at, x, argument_count(at)) + ".second";
        }));
    for (bool const forward : {true, false})
        all.add(transform(
            forward ? "hvp" : "vhp",
            [forward](Call const& c) {
                return with_function<false>(c, [&](auto const& f, auto const&... x) {
                    auto const v = vectors(c, x...);
                    return forward ? part(xg::hvp(f, as_inputs(x...), v).second, c.at.numbers[0])
                                   : part(xg::vhp(f, as_inputs(x...), v).second, c.at.numbers[0]);
                });
            },
            [](Call const& c) {
                auto const gradient =
                    gradient_of(c.inner(), static_cast<std::size_t>(c.at.numbers[0]));
                return jvp_of(gradient, arguments_of(c), extras_of(c, c.arguments())).second;
            },
            [forward](Instruction const& at, Names const& x) {
                return get(at.numbers[0], argument_count(at),
                    printed(forward ? "xg::hvp" : "xg::vhp", at, x, argument_count(at)) +
                        ".second");
            }));
    all.add(transform(
        "jacobian",
        [](Call const& c) {
            return with_function<true>(c, [&]<class Out>(Inner<Out> const& f, auto const&... x) {
                constexpr bool fits = !is_complex_type<Out> ||
                                      (is_complex_type<std::remove_cvref_t<decltype(x)>> && ...);
                if constexpr (fits)
                    return part(xg::jacobian(f, as_inputs(x...), options_of(c)), c.at.numbers[0]);
                else return (static_cast<void>(f), Value(D(HUGE_VAL)));
            });
        },
        [](Call const& c) {
            return jacobian_by_rows(
                c.inner(), arguments_of(c), static_cast<std::size_t>(c.at.numbers[0]));
        },
        [](Instruction const& at, Names const& x) {
            return get(at.numbers[0], argument_count(at),
                printed("xg::jacobian", at, x, 0, options_text(at)));
        }));
    all.add(transform(
        "hessian",
        [](Call const& c) {
            return with_function<false>(c, [&](auto const& f, auto const&... x) {
                if constexpr ((is_complex_type<std::remove_cvref_t<decltype(x)>> || ...))
                    return (static_cast<void>(f), Value(D(HUGE_VAL)));
                else {
                    auto const h = xg::hessian(f, as_inputs(x...), options_of(c));
                    if constexpr (sizeof...(x) == 1) return Value(h);
                    else
                        return c.at.numbers[0] == 0 ? part(std::get<0>(h), c.at.numbers[1])
                                                    : part(std::get<1>(h), c.at.numbers[1]);
                }
            });
        },
        [](Call const& c) {
            return jacobian_by_rows(
                gradient_of(c.inner(), static_cast<std::size_t>(c.at.numbers[0])), arguments_of(c),
                static_cast<std::size_t>(c.at.numbers[1]));
        },
        [](Instruction const& at, Names const& x) {
            auto const n = argument_count(at);
            return get(at.numbers[1], n,
                get(at.numbers[0], n, printed("xg::hessian", at, x, 0, options_text(at))));
        }));
    all.add(transform(
                "checkpoint",
                [](Call const& c) {
                    return with_function<true>(c, [&](auto const& f, auto const&... x) -> Value {
                        if constexpr ((is_batched_type<std::remove_cvref_t<decltype(x)>> || ...))
                            return f(x...);
                        else return xg::checkpoint(f, x...);
                    });
                },
                [](Call const& c) { return c.inner()(arguments_of(c)); },
                [](Instruction const& at, Names const& x) {
                    return "xg::checkpoint(" + print_inner(at, x) + ", " +
                           list_of(x, 0, argument_count(at)) + ")";
                }))
        .takes_batches = false;
    all.add(transform(
                "linearize",
                [](Call const& c) {
                    return with_function<true>(c, [&](auto const& f, auto const&... x) -> Value {
                        if constexpr ((is_batched_type<std::remove_cvref_t<decltype(x)>> || ...))
                            return f(x...);
                        else {
                            auto const [y, push] = xg::linearize(f, x...);
                            return push(vectors(c, x...));
                        }
                    });
                },
                [](Call const& c) {
                    return jvp_by_rows(c.inner(), arguments_of(c), extras_of(c, c.arguments()));
                },
                [](Instruction const& at, Names const& x) {
                    auto const n = argument_count(at);
                    return "xg::linearize(" + print_inner(at, x) + ", " + list_of(x, 0, n) +
                           ").second(" + as_tuple(x, n + at.inner->captured.size(), n) + ")";
                }))
        .takes_batches = false;
    all.add(
           transform(
               "pull back",
               [](Call const& c) {
                   return with_function<true>(
                       c, [&]<class Out>(Inner<Out> const& f, auto const&... x) -> Value {
                           if constexpr ((is_batched_type<std::remove_cvref_t<decltype(x)>> || ...))
                               return f(x...);
                           else {
                               auto const [y, pull] = xg::vjp(f)(x...);
                               return part(pull(value_as<Out>(c.extra(0))), c.at.numbers[0]);
                           }
                       });
               },
               [](Call const& c) {
                   return vjp_by_columns(c.inner(), arguments_of(c), c.extra(0),
                       static_cast<std::size_t>(c.at.numbers[0]));
               },
               [](Instruction const& at, Names const& x) {
                   auto const n = argument_count(at);
                   return get(at.numbers[0], n,
                       "xg::vjp(" + print_inner(at, x) + ")(" + list_of(x, 0, n) + ").second(" +
                           x[n + at.inner->captured.size()] + ")");
               }))
        .takes_batches = false;

    // Functions of examples: the first axis of the arguments numbers them.
    auto& vmap = all.add(transform(
        "vmap",
        [](Call const& c) -> Value {
            auto const [r, z] = lists(arguments_of(c));
            auto const y = xg::vmap(Body{c.inner()})(r, z);
            if (c.returns_complex()) return y.second;
            return y.first;
        },
        [](Call const& c) { return stacked(arguments_of(c), c.inner()); },
        [](Instruction const& at, Names const& x) {
            return "xg::vmap(" + print_inner(at, x) + ")(" + list_of(x, 0, argument_count(at)) +
                   ")";
        }));
    vmap.group = "vmap";
    vmap.takes_batches = false;
    for (bool const second : {false, true}) {
        auto& rows = all.add(transform(
            second ? "hessian by rows" : "jacobian by rows",
            [second](Call const& c) -> Value {
                auto const batched = [f = c.inner()](Values const& x) -> Value {
                    auto const [r, z] = lists(x);
                    return xg::vmap(Body{f})(r, z).first;
                };
                auto const& x = std::get<D>(c.operands[0]);
                if (second) return xg::hessian(Inner<D>{batched}, x, {.rows = true});
                return xg::jacobian(Inner<D>{batched}, x, {.rows = true});
            },
            [second](Call const& c) {
                auto const f = second ? gradient_of(c.inner(), 0) : c.inner();
                return stacked(
                    arguments_of(c), [&](Values const& x) { return jacobian_by_rows(f, x, 0); });
            },
            [second](Instruction const& at, Names const& x) {
                return std::string(second ? "xg::hessian" : "xg::jacobian") + "(xg::vmap(" +
                       print_inner(at, x) + "), " + x[0] + ", {.rows = true})";
            }));
        rows.group = "vmap";
        rows.takes_batches = false;
    }
}

} // namespace composed

// Six functions in other C++ libraries of automatic differentiation, those of them that are there:
// CoDiPack, autodiff, FastAD and Adept. Each is used as its documentation does: CoDiPack and
// autodiff with loops over their numbers, FastAD and Adept with their arrays.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <deque>
#include <memory>
#include <vector>

#if __has_include(<codi.hpp>)
#    include <codi.hpp>
#    define XGRAD_BENCH_CODIPACK
#endif
#if __has_include(<autodiff/reverse/var.hpp>) && __has_include(<Eigen/Core>)
#    include <autodiff/reverse/var.hpp>
#    define XGRAD_BENCH_AUTODIFF
#endif
#if __has_include(<fastad>) && __has_include(<Eigen/Core>)
#    include <fastad>
#    define XGRAD_BENCH_FASTAD
#endif
#if __has_include(<adept_source.h>)
#    include <adept_source.h>
#    define XGRAD_BENCH_ADEPT
#endif

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"
#include "hand_written/matrix.hpp"
#include "hand_written/statistics.hpp"

namespace xg = xgrad;

/// Real numbers to differentiate for: those of a leaf, or the real or imaginary parts of one.
struct Numbers {
    double const* data;
    double* gradient;
    std::size_t count, stride;
};
Numbers all(bench::Leaf<double> const& leaf) {
    return {leaf.data, leaf.gradient, leaf.x.numel(), 1};
}
Numbers parts(bench::Leaf<std::complex<double>> const& leaf, std::size_t part) {
    return {reinterpret_cast<double const*>(leaf.data) + part,
        reinterpret_cast<double*>(leaf.gradient) + part, leaf.x.numel(), 2};
}
using Inputs = std::vector<Numbers>;

#ifdef XGRAD_BENCH_CODIPACK
struct Codi {
    using Number = codi::RealReverse;
    static constexpr char const* name = "CoDiPack " CODI_VERSION;

    template <class F> static Number total(std::size_t n, F term) {
        Number sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += term(i);
        return sum;
    }
    template <class F> static auto differentiated(Inputs const& inputs, F f) {
        std::vector<std::vector<Number>> x;
        for (auto const& input : inputs) x.emplace_back(input.count);
        return [=]() mutable {
            auto& tape = Number::getTape();
            tape.reset();
            tape.setActive();
            for (std::size_t i = 0; i < x.size(); ++i)
                for (std::size_t k = 0; k < x[i].size(); ++k) {
                    x[i][k] = inputs[i].data[k * inputs[i].stride];
                    tape.registerInput(x[i][k]);
                }
            Number y = f(x);
            tape.registerOutput(y);
            tape.setPassive();
            y.setGradient(1);
            tape.evaluate();
            for (std::size_t i = 0; i < x.size(); ++i)
                for (std::size_t k = 0; k < x[i].size(); ++k)
                    inputs[i].gradient[k * inputs[i].stride] = x[i][k].getGradient();
            return y.getValue();
        };
    }
};
#endif

#ifdef XGRAD_BENCH_AUTODIFF
struct Autodiff {
    using Number = autodiff::var;
    static constexpr char const* name = "autodiff 1.1"; // its headers do not say which it is

    /// By halves: it walks its tree by recursion, and a chain would be too deep for the stack.
    template <class F> static Number total(std::size_t n, F term) { return part(0, n, term); }
    template <class F> static auto differentiated(Inputs const& inputs, F f) {
        std::vector<std::vector<Number>> x;
        for (auto const& input : inputs) {
            x.emplace_back();
            for (std::size_t k = 0; k < input.count; ++k)
                x.back().emplace_back(input.data[k * input.stride]);
        }
        return [=] {
            Number const y = f(x);
            for (std::size_t i = 0; i < x.size(); ++i)
                for (std::size_t k = 0; k < x[i].size(); ++k) {
                    inputs[i].gradient[k * inputs[i].stride] = 0;
                    x[i][k].expr->bind_value(inputs[i].gradient + k * inputs[i].stride);
                }
            y.expr->propagate(1);
            return val(y);
        };
    }

private:
    template <class F> static Number part(std::size_t begin, std::size_t end, F const& term) {
        if (end - begin == 1) return term(begin);
        auto const middle = (begin + end) / 2;
        return part(begin, middle, term) + part(middle, end, term);
    }
};
#endif

#ifdef XGRAD_BENCH_ADEPT
struct Adept {
    static constexpr char const* name = "Adept " ADEPT_VERSION_STR;
    using Vector = adept::aVector;

    template <class F> static auto differentiated(Inputs const& inputs, F f) {
        auto& stack = the_stack();
        auto const x = std::make_shared<std::vector<Vector>>();
        for (auto const& input : inputs) x->emplace_back(static_cast<int>(input.count));
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            adept::Vector values(static_cast<int>(inputs[i].count));
            for (std::size_t k = 0; k < inputs[i].count; ++k)
                values.data()[k] = inputs[i].data[k * inputs[i].stride];
            (*x)[i] = values;
        }
        return [=, &stack] {
            stack.new_recording();
            adept::adouble y = f(*x);
            y.set_gradient(1.);
            stack.reverse();
            for (std::size_t i = 0; i < inputs.size(); ++i) {
                adept::Vector const g = (*x)[i].get_gradient();
                for (std::size_t k = 0; k < inputs[i].count; ++k)
                    inputs[i].gradient[k * inputs[i].stride] = g.data()[k];
            }
            return y.value();
        };
    }

private:
    /// A thread has one, and its arrays, which the rows keep, need it as long as they live.
    static adept::Stack& the_stack() {
        static auto& stack = *new adept::Stack;
        return stack;
    }
};
#endif

#ifdef XGRAD_BENCH_FASTAD
/// `make` builds the expression of its variables, which are views of our memory, or of copies where
/// that is not contiguous; and of some inner ones, for values that are used twice.
struct FastAD {
    static constexpr char const* name = "FastAD 3.2"; // its headers do not say which it is
    using Vector = ad::VarView<double, ad::vec>;

    template <class F> static auto differentiated(Inputs const& inputs, F make) {
        return differentiated(inputs, 0, 0, [=](auto& x, auto&) { return make(x); });
    }
    template <class F>
    static auto differentiated(
        Inputs const& inputs, std::size_t inner_count, std::size_t inner_size, F make) {
        std::vector<Vector> x, inner;
        auto const copies = std::make_shared<std::deque<std::vector<double>>>();
        for (auto const& [data, gradient, count, stride] : inputs)
            if (stride == 1) x.emplace_back(const_cast<double*>(data), gradient, count);
            else {
                auto& values = copies->emplace_back(count);
                for (std::size_t k = 0; k < count; ++k) values[k] = data[k * stride];
                x.emplace_back(values.data(), copies->emplace_back(count).data(), count);
            }
        for (std::size_t i = 0; i < inner_count; ++i) {
            auto& values = copies->emplace_back(inner_size);
            inner.emplace_back(values.data(), copies->emplace_back(inner_size).data(), inner_size);
        }
        auto const expression =
            std::make_shared<decltype(ad::bind(make(x, inner)))>(ad::bind(make(x, inner)));
        return [=]() mutable {
            for (auto* all : {&x, &inner})
                for (auto& each : *all) each.reset_adj();
            double const value = ad::autodiff(*expression);
            for (std::size_t i = 0; i < x.size(); ++i)
                if (auto const& [data, gradient, count, stride] = inputs[i]; stride != 1)
                    for (std::size_t k = 0; k < count; ++k)
                        gradient[k * stride] = x[i].get_adj()(static_cast<Eigen::Index>(k));
            return copies ? value : 0.; // which live as long as this
        };
    }
};
#endif

/// f.template operator()<Library>() for those that have numbers, of which it makes loops.
template <class F> void each_with_numbers(F f) {
#ifdef XGRAD_BENCH_CODIPACK
    f.template operator()<Codi>();
#endif
#ifdef XGRAD_BENCH_AUTODIFF
    f.template operator()<Autodiff>();
#endif
    static_cast<void>(f);
}
/// The same for those that have arrays.
template <class F> void each_with_arrays(F f) {
#ifdef XGRAD_BENCH_FASTAD
    f.template operator()<FastAD>();
#endif
#ifdef XGRAD_BENCH_ADEPT
    f.template operator()<Adept>();
#endif
    static_cast<void>(f);
}

void rational(std::size_t n) {
    bench::Leaf const a(xg::rand({n})), b(xg::rand({n}));
    bench::Comparison row(
        bench::name::rational, n, [a = a.x, b = b.x] { return sum(a * b + 0.5 * a - b / (a + 2)); },
        a, b);
    row.hand("hand", [=] {
        return n < 16 ? hand::rational_plain(a.data, b.data, a.gradient, b.gradient, n)
                      : hand::rational(a.data, b.data, a.gradient, b.gradient, n);
    });
    Inputs const inputs{all(a), all(b)};
    each_with_numbers([&]<class Library>() {
        row.hand(Library::name, Library::differentiated(inputs, [=](auto const& x) {
            return Library::total(n, [&](std::size_t i) {
                return x[0][i] * x[1][i] + 0.5 * x[0][i] - x[1][i] / (x[0][i] + 2.);
            });
        }));
    });
    each_with_arrays([&]<class Library>() {
        row.hand(Library::name, Library::differentiated(inputs, [](auto& x) {
            return sum(x[0] * x[1] + 0.5 * x[0] - x[1] / (x[0] + 2.));
        }));
    });
}

void tanh_log(std::size_t n) {
    bench::Leaf const a(xg::randn({n})), b(xg::randn({n}));
    bench::Comparison row(
        bench::name::tanh_log, n, [a = a.x, b = b.x] { return sum(tanh(a * b) + log(1 + a * a)); },
        a, b);
    row.hand("hand", [=] { return hand::tanh_log(a.data, b.data, a.gradient, b.gradient, n); });
    Inputs const inputs{all(a), all(b)};
    each_with_numbers([&]<class Library>() {
        row.hand(Library::name, Library::differentiated(inputs, [=](auto const& x) {
            return Library::total(n, [&](std::size_t i) {
                return tanh(x[0][i] * x[1][i]) + log(1. + x[0][i] * x[0][i]);
            });
        }));
    });
    each_with_arrays([&]<class Library>() {
        row.hand(Library::name, Library::differentiated(inputs, [](auto& x) {
            return sum(tanh(x[0] * x[1]) + log(1. + x[0] * x[0]));
        }));
    });
}

/// In real arithmetic: not all of them have complex numbers with exp().
void phase(std::size_t n) {
    using C = std::complex<double>;
    bench::Leaf const phi(xg::randn({n}));
    bench::Leaf const z(xg::randn<C>({n}));
    auto const t = xg::randn<C>({n});
    bench::Comparison row(
        bench::name::phase, n,
        [=, phi = phi.x, z = z.x] { return sum(abs2(exp(C(0, 1) * phi) * z - t)); }, phi, z);
    row.hand("hand",
        [=] { return hand::phase(phi.data, z.data, t.data(), phi.gradient, z.gradient, n); });
    Inputs const inputs{all(phi), parts(z, 0), parts(z, 1)};
    each_with_numbers([&]<class Library>() {
        using Number = typename Library::Number;
        row.hand(Library::name, Library::differentiated(inputs, [=](auto const& x) {
            return Library::total(n, [&](std::size_t i) -> Number {
                Number const c = cos(x[0][i]), s = sin(x[0][i]);
                Number const re = x[1][i] * c - x[2][i] * s - t.data()[i].real(),
                             im = x[1][i] * s + x[2][i] * c - t.data()[i].imag();
                return re * re + im * im;
            });
        }));
    });
#ifdef XGRAD_BENCH_FASTAD
    Eigen::VectorXd t_parts[2]{Eigen::VectorXd(n), Eigen::VectorXd(n)};
    for (std::size_t i = 0; i < n; ++i) {
        t_parts[0](static_cast<Eigen::Index>(i)) = t.data()[i].real();
        t_parts[1](static_cast<Eigen::Index>(i)) = t.data()[i].imag();
    }
    row.hand(FastAD::name, FastAD::differentiated(inputs, 4, n, [=](auto& x, auto& inner) {
        auto &c = inner[0], &s = inner[1], &re = inner[2], &im = inner[3];
        return (c = cos(x[0]), s = sin(x[0]), re = x[1] * c - x[2] * s - ad::constant(t_parts[0]),
            im = x[1] * s + x[2] * c - ad::constant(t_parts[1]), sum(re * re + im * im));
    }));
#endif
#ifdef XGRAD_BENCH_ADEPT
    adept::Vector t_re(static_cast<int>(n)), t_im(static_cast<int>(n));
    for (std::size_t i = 0; i < n; ++i) {
        t_re.data()[i] = t.data()[i].real();
        t_im.data()[i] = t.data()[i].imag();
    }
    row.hand(Adept::name, Adept::differentiated(inputs, [=](auto& x) {
        Adept::Vector const c = cos(x[0]), s = sin(x[0]);
        Adept::Vector const re = x[1] * c - x[2] * s - t_re, im = x[1] * s + x[2] * c - t_im;
        return adept::adouble(sum(re * re + im * im));
    }));
#endif
}

void product(std::size_t n) {
    bench::Leaf const a(xg::randn({n, n})), b(xg::randn({n, n}));
    bench::Buffer<double> const c({n, n});
    bench::Comparison row(
        bench::name::product, n, [a = a.x, b = b.x] { return sum(square(matmul(a, b))); }, a, b);
    row.hand("hand",
        [=] { return hand::squared_product(a.data, b.data, c.data, a.gradient, b.gradient, n); });
}

void rosenbrock(std::size_t n) {
    bench::Leaf const x(xg::randn({n}));
    bench::Comparison row(
        bench::name::rosenbrock, n,
        [x = x.x] {
            auto const here = x(xg::slice({}, -1)), next = x(xg::slice(1));
            return sum(100 * square(next - square(here)) + square(1 - here));
        },
        x);
    row.hand("hand", [=] { return hand::rosenbrock(x.data, x.gradient, n); });
    Inputs const inputs{all(x)};
    each_with_numbers([&]<class Library>() {
        using Number = typename Library::Number;
        row.hand(Library::name, Library::differentiated(inputs, [=](auto const& y) {
            return Library::total(n - 1, [&](std::size_t i) -> Number {
                Number const away = y[0][i + 1] - y[0][i] * y[0][i], rest = 1. - y[0][i];
                return 100. * away * away + rest * rest;
            });
        }));
    });
#ifdef XGRAD_BENCH_FASTAD
    row.hand(FastAD::name, FastAD::differentiated(inputs, 2, n - 1, [=](auto& y, auto& inner) {
        auto &away = inner[0], &rest = inner[1];
        auto const here = y[0].head(n - 1), next = y[0].tail(n - 1);
        return (
            away = next - here * here, rest = 1. - here, sum(100. * (away * away) + rest * rest));
    }));
#endif
#ifdef XGRAD_BENCH_ADEPT
    row.hand(Adept::name, Adept::differentiated(inputs, [=](auto& y) {
        int const last = static_cast<int>(n) - 1;
        auto const here = y[0](adept::range(0, last - 1)), next = y[0](adept::range(1, last));
        Adept::Vector const away = next - here * here, rest = 1. - here;
        return adept::adouble(sum(100. * away * away + rest * rest));
    }));
#endif
}

int main(int argc, char** argv) {
    rational(65536);
    tanh_log(65536);
    phase(65536);
#if XGRAD_USE_BLAS
    product(512);
#endif
    rosenbrock(1000);
    rational(4);
    return bench::run(argc, argv);
}

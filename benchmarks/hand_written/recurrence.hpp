// x = x + dt*sin(x)*p, again and again: the last x, and its derivatives for the first x and for p.
// And h = tanh(h + s(t)) over the rows of a matrix: the sum of the last h, and its gradient for the
// matrix.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "batch.hpp"

namespace hand {

struct Recurrence {
    double x, gx, gp;
};
[[gnu::noinline]] inline Recurrence recurrence(
    double x, double p, double dt, std::size_t steps, std::vector<double>& tape) {
    tape.resize(steps);
    for (auto& saved : tape) {
        saved = x;
        x += dt * std::sin(x) * p;
    }
    double gx = 1, gp = 0;
    for (std::size_t k = steps; k-- > 0;) {
        gp += gx * dt * std::sin(tape[k]);
        gx += gx * dt * p * std::cos(tape[k]);
    }
    return {x, gx, gp};
}
/// recurrence() with the sines and cosines saved by the forward loop.
[[gnu::noinline]] inline Recurrence recurrence_kept(
    double x, double p, double dt, std::size_t steps, std::vector<double>& tape) {
    tape.resize(2 * steps);
    for (std::size_t k = 0; k < steps; ++k) {
        double const s = std::sin(x), c = std::cos(x);
        tape[2 * k] = dt * s;
        tape[2 * k + 1] = 1 + dt * p * c;
        x += dt * s * p;
    }
    double gx = 1, gp = 0;
    for (std::size_t k = steps; k-- > 0;) {
        gp += gx * tape[2 * k];
        gx *= tape[2 * k + 1];
    }
    return {x, gx, gp};
}

[[gnu::noinline]] inline double rows(double const* s, double* gradient, std::size_t steps,
    std::size_t n, std::vector<double>& tape) {
    tape.assign((steps + 1) * n, 0);
    for (std::size_t t = 0; t < steps; ++t)
        for_batches<double>(n, [=, h = tape.data() + t * n]<class V>(std::size_t i, V) HAND_INLINE {
            using std::tanh;
            put(h + n + i, tanh(load<V>(h + i) + load<V>(s + t * n + i)));
        });
    std::vector<double> g(n, 1.);
    for (std::size_t t = steps; t-- > 0;)
        for_batches<double>(n, [=, h = tape.data() + (t + 1) * n, g = g.data()]<class V>(
                                   std::size_t i, V) HAND_INLINE {
            V const y = load<V>(h + i), passed = load<V>(g + i) * (V(1.) - y * y);
            put(g + i, passed);
            put(gradient + t * n + i, passed);
        });
    return sum_of<double>(n, [h = tape.data() + steps * n]<class V>(std::size_t i, V)
                                 HAND_INLINE { return load<V>(h + i); });
}

} // namespace hand

// x = x + dt*sin(x)*p, again and again: the last x, and its derivatives for the first x and for p.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace hand {

struct Recurrence {
    double x, gx, gp;
};
[[gnu::noinline]] inline Recurrence recurrence(double x, double p, double dt, std::size_t steps, std::vector<double>& tape)
{
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
/// The same with the sines and cosines kept from the way there.
[[gnu::noinline]] inline Recurrence recurrence_kept(double x, double p, double dt, std::size_t steps, std::vector<double>& tape)
{
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

}  // namespace hand

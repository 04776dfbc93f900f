// The hydrogen molecule in the smallest basis: one 1s function (STO-3G) at each nucleus. Its
// integrals are those of Szabo and Ostlund, "Modern Quantum Chemistry", appendix A; its Hamiltonian
// is a matrix on four qubits, one for each spin orbital, by the transformation of Jordan and
// Wigner. Atomic units.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include <xgrad/xgrad.hpp>

namespace hydrogen {

inline constexpr std::size_t qubits = 4, states = 16;
using Matrix = xgrad::Tensor<std::complex<double>>;

inline constexpr double bohr = 0.529177210903; // in angstrom

/// Over the two molecular orbitals, bonding and antibonding.
struct Integrals {
    double one[2][2] = {};       // kinetic energy and attraction by the nuclei
    double two[2][2][2][2] = {}; // (pq|rs), repulsion between the densities pq and rs
    double nuclei = 0;           // their repulsion
};

namespace detail {

struct Gaussian {
    double exponent, weight, place;
};

/// The error function's companion in integrals of 1/r.
inline double boys(double t) {
    return t < 1e-12 ? 1 : std::sqrt(std::numbers::pi / t) * std::erf(std::sqrt(t)) / 2;
}

inline double overlap(Gaussian const& a, Gaussian const& b) {
    double const p = a.exponent + b.exponent, d = a.place - b.place;
    return std::pow(std::numbers::pi / p, 1.5) * std::exp(-a.exponent * b.exponent / p * d * d);
}
inline double kinetic(Gaussian const& a, Gaussian const& b) {
    double const reduced = a.exponent * b.exponent / (a.exponent + b.exponent),
                 d = a.place - b.place;
    return reduced * (3 - 2 * reduced * d * d) * overlap(a, b);
}
inline double centre(Gaussian const& a, Gaussian const& b) {
    return (a.exponent * a.place + b.exponent * b.place) / (a.exponent + b.exponent);
}
inline double attraction(Gaussian const& a, Gaussian const& b, double nucleus) {
    double const p = a.exponent + b.exponent, d = centre(a, b) - nucleus;
    return -2 * std::sqrt(p / std::numbers::pi) * overlap(a, b) * boys(p * d * d);
}
inline double repulsion(
    Gaussian const& a, Gaussian const& b, Gaussian const& c, Gaussian const& d) {
    double const p = a.exponent + b.exponent, q = c.exponent + d.exponent,
                 distance = centre(a, b) - centre(c, d);
    return 2 * std::sqrt(p * q / (std::numbers::pi * (p + q))) * overlap(a, b) * overlap(c, d) *
           boys(p * q / (p + q) * distance * distance);
}

/// The 1s function of STO-3G for hydrogen: three Gaussians.
inline std::array<Gaussian, 3> orbital(double place) {
    std::array<Gaussian, 3> g{{{3.425250914, 0.1543289673, place},
        {0.6239137298, 0.5353281423, place}, {0.1688554040, 0.4446345422, place}}};
    for (auto& each : g) each.weight *= std::pow(2 * each.exponent / std::numbers::pi, 0.75);
    return g;
}

} // namespace detail

/// Integrals at a distance in bohr.
inline Integrals integrals(double distance) {
    using namespace detail;
    double const place[2] = {0, distance};
    std::array<Gaussian, 3> const basis[2] = {orbital(0), orbital(distance)};
    double s = 0, core[2][2] = {}, atomic[2][2][2][2] = {};
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j)
            for (auto const& a : basis[i])
                for (auto const& b : basis[j]) {
                    double const weight = a.weight * b.weight;
                    if (i != j) s += weight * overlap(a, b) / 2;
                    core[i][j] += weight * (kinetic(a, b) + attraction(a, b, place[0]) +
                                               attraction(a, b, place[1]));
                    for (std::size_t k = 0; k < 2; ++k)
                        for (std::size_t l = 0; l < 2; ++l)
                            for (auto const& c : basis[k])
                                for (auto const& d : basis[l])
                                    atomic[i][j][k][l] +=
                                        weight * c.weight * d.weight * repulsion(a, b, c, d);
                }
    // the orbitals follow from symmetry: the sum and the difference of the two functions
    double const even = 1 / std::sqrt(2 * (1 + s)), odd = 1 / std::sqrt(2 * (1 - s));
    double const orbitals[2][2] = {{even, even}, {odd, -odd}};
    Integrals result;
    result.nuclei = 1 / distance;
    for (std::size_t p = 0; p < 2; ++p)
        for (std::size_t q = 0; q < 2; ++q)
            for (std::size_t i = 0; i < 2; ++i)
                for (std::size_t j = 0; j < 2; ++j) {
                    double const pq = orbitals[p][i] * orbitals[q][j];
                    result.one[p][q] += pq * core[i][j];
                    for (std::size_t r = 0; r < 2; ++r)
                        for (std::size_t t = 0; t < 2; ++t)
                            for (std::size_t k = 0; k < 2; ++k)
                                for (std::size_t l = 0; l < 2; ++l)
                                    result.two[p][q][r][t] +=
                                        pq * orbitals[r][k] * orbitals[t][l] * atomic[i][j][k][l];
                }
    return result;
}

/// Takes an electron out of spin orbital k: spin orbitals 0 and 1 are the bonding orbital, 2 and 3
/// the antibonding one.
inline Matrix annihilation(std::size_t k) {
    auto a = xt::xarray<std::complex<double>>::from_shape({states, states});
    a.fill(0);
    for (std::size_t n = 0; n < states; ++n)
        if (n >> k & 1)
            a(n ^ (std::size_t{1} << k), n) =
                std::popcount(n & ((std::size_t{1} << k) - 1)) % 2 ? -1 : 1;
    return Matrix(a);
}

/// The energy of electrons and nuclei as a matrix on the states of four qubits.
inline Matrix hamiltonian(Integrals const& in) {
    std::array<Matrix, qubits> take, put;
    for (std::size_t k = 0; k < qubits; ++k) {
        take[k] = annihilation(k);
        put[k] = adjoint(take[k]);
    }
    Matrix h = in.nuclei * xgrad::eye<std::complex<double>>(states);
    for (std::size_t p = 0; p < 2; ++p)
        for (std::size_t q = 0; q < 2; ++q)
            for (std::size_t spin = 0; spin < 2; ++spin) {
                Matrix const moves = matmul(put[2 * p + spin], take[2 * q + spin]);
                h += in.one[p][q] * moves;
                for (std::size_t r = 0; r < 2; ++r)
                    for (std::size_t t = 0; t < 2; ++t)
                        for (std::size_t other = 0; other < 2; ++other)
                            h += in.two[p][q][r][t] / 2 *
                                 matmul(put[2 * p + spin],
                                     matmul(put[2 * r + other],
                                         matmul(take[2 * t + other], take[2 * q + spin])));
            }
    return h;
}

} // namespace hydrogen

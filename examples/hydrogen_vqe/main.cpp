// A quantum computer finds the energy of the hydrogen molecule: a circuit on four qubits prepares a
// state, the energy of that state is measured, and the angles of the circuit are changed until it
// is the lowest. Here the circuit is simulated, and xgrad gives the gradient through its complex
// gates. "Variational quantum eigensolver", Peruzzo et al., "A variational eigenvalue solver on a
// photonic quantum processor", 2014; the circuit is unitary coupled cluster with singles and
// doubles.
// ctest: --distances 0.5,0.7414,1.5

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>
#include <svg.hpp>

#include "molecule.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<std::complex<double>>;
using hydrogen::Matrix;
using hydrogen::states;

struct Settings {
    std::vector<double> distances = {
        0.3, 0.4, 0.5, 0.6, 0.7, 0.7414, 0.8, 0.9, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.75, 3};
    std::size_t iterations = 5000;
    std::string output = "hydrogen_vqe_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Computes the energy of the hydrogen molecule with a simulated quantum circuit.");
        options.number("distances", distances, "between the nuclei, in angstrom", 0.1, 20);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.text("output", output, "directory for the chart");
        options.parse(argc, argv);
    }
};

/// A product of Pauli matrices, one for each qubit.
struct PauliString {
    Matrix matrix;
    double angle; // by which a unit of the excitation's parameter turns
};

/// I, X, Y, Z in base 4, a digit for each qubit.
Matrix pauli_matrix(std::size_t digits) {
    auto m = xt::xarray<std::complex<double>>::from_shape({states, states});
    m.fill(0);
    for (std::size_t n = 0; n < states; ++n) {
        std::size_t to = n;
        std::complex<double> factor = 1;
        for (std::size_t qubit = 0; qubit < hydrogen::qubits; ++qubit) {
            auto const kind = digits >> 2 * qubit & 3;
            bool const one = n >> qubit & 1;
            if (kind == 1 || kind == 2) to ^= std::size_t{1} << qubit;
            if (kind == 2) factor *= std::complex<double>(0, one ? -1 : 1);
            if (kind == 3 && one) factor = -factor;
        }
        m(to, n) = factor;
    }
    return Matrix(m);
}

/// An excitation T - T^H as a sum of i c P over Pauli strings P. They commute here, so exp(theta (T
/// - T^H)) is the product of the gates exp(i theta c P).
std::vector<PauliString> gates(Matrix const& excitation) {
    Matrix const generator = excitation - adjoint(excitation);
    std::vector<PauliString> strings;
    for (std::size_t digits = 0; digits < 256; ++digits) {
        Matrix const pauli = pauli_matrix(digits);
        auto const weight = sum(conj(pauli) * generator).item() / static_cast<double>(states);
        if (std::abs(weight) > 1e-12) strings.push_back({pauli, weight.imag()});
    }
    return strings;
}

/// The circuit: both electrons in the bonding orbital, and then two single excitations and the
/// double one, each by its angle.
class Circuit {
public:
    Circuit() {
        std::array<Matrix, 4> take, put;
        for (std::size_t k = 0; k < 4; ++k) {
            take[k] = hydrogen::annihilation(k);
            put[k] = adjoint(take[k]);
        }
        excitations_ = {gates(matmul(put[2], take[0])), gates(matmul(put[3], take[1])),
            gates(matmul(matmul(put[2], put[3]), matmul(take[1], take[0])))};
        start_ = xg::zeros<std::complex<double>>({states});
        start_(0b0011) = 1;
    }

    std::size_t parameters() const { return excitations_.size(); }

    /// The state of the qubits after all gates: exp(i a P) = cos a + i sin a P.
    Complex state(Real const& angles) const {
        Complex psi = start_;
        for (std::size_t k = 0; k < excitations_.size(); ++k)
            for (auto const& gate : excitations_[k]) {
                Real const a = gate.angle * angles(k);
                psi = cos(a) * psi + std::complex<double>(0, 1) * sin(a) * matmul(gate.matrix, psi);
            }
        return psi;
    }

private:
    std::vector<std::vector<PauliString>> excitations_;
    Complex start_;
};

Real energy(Complex const& psi, Matrix const& hamiltonian) {
    return real(vdot(psi, matmul(hamiltonian, psi)));
}

/// The lowest eigenvalue for two electrons, by power iteration: what the circuit should find.
double exact_energy(Matrix const& hamiltonian) {
    auto psi = xg::zeros<std::complex<double>>({states});
    psi(0b0011) = 1;
    psi(0b1100) = -0.1;
    double const above = sum(abs(hamiltonian)).item(); // more than every eigenvalue
    for (int i = 0; i < 20000; ++i) {
        psi = above * psi - matmul(hamiltonian, psi);
        psi = psi / norm(psi);
    }
    return energy(psi, hamiltonian).item();
}

struct Energies {
    double hartree_fock, vqe, exact;
    std::size_t steps;
};

/// Gradient descent with momentum from the angles that it is given, and leaves there what it found.
Energies minimise(
    Circuit const& circuit, Real& angles, Matrix const& hamiltonian, std::size_t iterations) {
    auto velocity = xg::zeros<double>({angles.numel()});
    double const alone =
        energy(circuit.state(xg::zeros<double>({angles.numel()})), hamiltonian).item();
    double value = alone;
    std::size_t step = 0;
    for (bool flat = false; step < iterations && !flat; ++step) {
        angles.zero_grad();
        auto const e = energy(circuit.state(angles), hamiltonian);
        e.backward();
        value = e.item();
        flat = norm(angles.grad()).item() < 1e-7;
        xg::NoGradGuard no_grad;
        velocity = 0.7 * velocity - 0.15 * angles.grad();
        angles += velocity;
    }
    return {alone, value, exact_energy(hamiltonian), step};
}

int compute(Settings const& settings) {
    constexpr double equilibrium = 0.7414,
                     known = -1.1372702; // full configuration interaction in this basis
    Circuit const circuit;
    auto angles = xg::zeros<double>({circuit.parameters()}).requires_grad_();
    examples::Series fock{"Hartree-Fock", {}}, exact{"exact", {}}, vqe{"VQE", {}, true};
    bool right = true;
    auto distances = settings.distances;
    std::ranges::sort(distances);
    std::puts(" distance  Hartree-Fock           VQE         exact  steps\n       (A)          "
              "(Ha)          (Ha)          (Ha)");
    for (double const distance : distances) {
        auto const found = minimise(circuit, angles,
            hydrogen::hamiltonian(hydrogen::integrals(distance / hydrogen::bohr)),
            settings.iterations);
        std::printf("%10.4f %13.6f %13.6f %13.6f %6zu\n", distance, found.hartree_fock, found.vqe,
            found.exact, found.steps);
        std::fflush(stdout);
        fock.points.push_back({distance, found.hartree_fock});
        vqe.points.push_back({distance, found.vqe});
        exact.points.push_back({distance, found.exact});
        right &= std::abs(found.vqe - found.exact) < 1e-6;
        if (distance == equilibrium) {
            std::printf(
                "           at the equilibrium distance: %.7f Ha, %.1e from the known %.7f Ha\n",
                found.vqe, std::abs(found.vqe - known), known);
            right &= std::abs(found.vqe - known) < 1e-6;
        }
    }
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(
        directory / "dissociation.svg", {"Dissociation of hydrogen (STO-3G)", "distance, angstrom",
                                            "energy, Ha", {fock, exact, vqe}});
    std::printf("\ndissociation.svg is in %s\n", settings.output.c_str());
    if (right) return 0;
    std::fputs("error: an energy differs from the exact one by more than 1e-6 Ha\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return compute(Settings(argc, argv)); });
}

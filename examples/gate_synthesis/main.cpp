// A quantum computer has gates for one qubit and CNOT for two; the Toffoli gate for three is
// synthesised from them. The circuit is a sequence of CNOTs with a unitary 2 x 2 matrix on every
// qubit between them. These matrices are found on the manifold of unitary matrices, by a trust
// region from random starts. Six CNOTs suffice, and with five of them no start succeeds: Shende and
// Markov, "On the CNOT-cost of TOFFOLI gates", 2009.
// ctest: --starts 3

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <xgrad/data.hpp>
#include <xgrad/manifold.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Matrix = xg::Tensor<std::complex<double>>;

struct Settings {
    std::size_t starts = 20;
    std::uint64_t seed = 2;
    std::string output = "gate_synthesis_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Synthesises the Toffoli gate from CNOTs and gates for one qubit.");
        options.number("starts", starts, "random starts for each number of CNOTs", 1, 10000);
        options.number("seed", seed, "of the starts");
        options.text("output", output, "directory for the chart");
        options.parse(argc, argv);
    }
};

constexpr std::size_t qubits = 3, states = 8;

/// The permutation of states that flips the qubits of `target` where all of `control` are 1.
Matrix controlled_not(std::size_t control, std::size_t target) {
    Matrix m = xg::zeros<std::complex<double>>({states, states});
    for (std::size_t n = 0; n < states; ++n)
        m.mutable_data()[((n & control) == control ? n ^ target : n) * states + n] = 1;
    return m;
}

/// The matrix of the circuit. `gates` has the axes layer, qubit, row, column, with a layer before
/// each of the CNOTs and one after them.
Matrix circuit(Matrix const& gates, std::vector<Matrix> const& cnots) {
    Matrix u = xg::eye<std::complex<double>>(states);
    for (std::size_t layer = 0; layer <= cnots.size(); ++layer) {
        if (layer > 0) u = matmul(cnots[layer - 1], u);
        for (std::size_t qubit = 0; qubit < qubits; ++qubit) // acts on the middle one of three axes
            u = matmul(gates(layer, qubit), u.reshape({4 >> qubit, 2, -1}));
        u = u.reshape({states, states});
    }
    return u;
}

/// A circuit with these CNOTs.
struct Found {
    double distance = INFINITY;                // between its matrix U and the target V, |U - V|
    std::vector<examples::Point> history = {}; // log10 of the distance over the iterations
};

/// The circuit that is reached from a random start.
Found descend(Matrix const& target, std::vector<Matrix> const& cnots) {
    Found found;
    // The gates have phases of their own, so the global phase needs no care. The square of the
    // distance has no cancellation, as 1 - |tr U^H V| / 8 would have.
    auto const squared = [&](Matrix const& gates) {
        return sum(abs2(circuit(gates, cnots) - target));
    };
    xg::Unitary const unitary;
    auto const start =
        unitary.random(xg::zeros<std::complex<double>>({cnots.size() + 1, qubits, 2, 2}));
    auto const result = xg::minimize(squared, start, xg::on(unitary),
        {.method = xg::Descent::trust_region,
            .gtol = 1e-12,
            .callback = [&](xg::MinimizeProgress const& now) {
                found.history.push_back(
                    {static_cast<double>(now.iteration), std::log10(now.value) / 2});
            }});
    found.distance = std::sqrt(result.value);
    return found;
}

/// The best circuit from some starts; none is tried after one that is `enough`.
Found synthesise(
    Matrix const& target, std::vector<Matrix> const& cnots, std::size_t starts, double enough) {
    Found best;
    xg::data::ProgressBar bar(starts, {.label = std::to_string(cnots.size()) + " CNOTs"});
    std::size_t tried = 0;
    for (; tried < starts && !(best.distance < enough); ++tried) {
        auto found = descend(target, cnots);
        bar.update();
        if (found.distance < best.distance) best = std::move(found);
    }
    bar.finish();
    std::printf("%zu CNOTs: distance %.1e, the least of %zu starts, after %zu iterations\n",
        cnots.size(), best.distance, tried, best.history.size() - 1);
    return best;
}

int synthesise_both(Settings const& settings) {
    // The known circuit has CNOTs in these places; the masks are those of controlled_not().
    std::vector<Matrix> cnots;
    for (auto const [control, target] :
        {std::array{2u, 1u}, {4u, 1u}, {2u, 1u}, {4u, 1u}, {4u, 2u}, {4u, 2u}})
        cnots.push_back(controlled_not(control, target));
    Matrix const toffoli = controlled_not(0b110, 0b001);
    constexpr double enough = 1e-10;
    xg::manual_seed(settings.seed);
    auto const with_six = synthesise(toffoli, cnots, settings.starts, enough);
    cnots.pop_back();
    auto const with_five = synthesise(toffoli, cnots, settings.starts, enough);

    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(directory / "distance.svg",
        {"Toffoli gate from CNOTs", "iteration of the trust region", "log10 of the distance",
            {{"six CNOTs", with_six.history}, {"five CNOTs", with_five.history}}});
    std::printf("distance.svg is in %s\n", settings.output.c_str());
    if (with_six.distance < enough && with_five.distance > 0.1) return 0;
    std::fputs("error: six CNOTs should suffice, and five should not\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return synthesise_both(Settings(argc, argv)); });
}

// Steps of least_squares() hold no more memory than those before them, and ask for it as often.

#include <array>
#include <complex>
#include <string>

#include <xgrad/least_squares.hpp>

#include "allocations.hpp"

TEST_CASE("no allocation of least_squares grows from step to step") {
    using Z = xg::Tensor<std::complex<double>>;
    allocations::NoCache const off;
    Z const x({std::complex<double>(3, 1), std::complex<double>(-2, 4)});
    // Double roots: each step halves the parameters, and is accepted.
    auto const square = [](Z const& z) { return Z(z * z); };
    auto const check = [&](bool holomorphic, std::string method, std::string solver) {
        CAPTURE(method);
        CAPTURE(solver);
        struct Memory {
            long blocks, bytes, calls;
            bool accepted;
        };
        std::array<Memory, 64> steps; // of fixed size, so that the callback allocates nothing
        std::size_t count = 0;
        xg::least_squares(square, x,
            {.method = method,
                .linear_solver = solver,
                .ftol = 0,
                .xtol = 0,
                .gtol = 0,
                .max_nfev = 40,
                .holomorphic = holomorphic,
                .callback = [&](xg::LeastSquaresStep const& s) {
                    steps[count++] = {allocations::live(), allocations::live_bytes(),
                        allocations::count(), s.accepted};
                }});
        REQUIRE(count >= 15);
        for (std::size_t k = 3; k + 5 < count; ++k) {
            auto const &a = steps[k], &b = steps[k + 5];
            CHECK(a.accepted);
            CHECK(a.blocks == b.blocks);
            CHECK(a.bytes == b.bytes);
            // Conjugate gradients take as many products as a step needs.
            if (solver != "cg") CHECK(a.calls - steps[k - 1].calls == b.calls - steps[k + 4].calls);
        }
    };
    for (auto const* method : {"lm", "lmaccel", "dogleg", "gauss_newton"})
        for (auto const* solver : {"qr", "cholesky", "cg"}) {
            if (method == std::string("lmaccel") && solver == std::string("cg")) continue;
            check(true, method, solver);
            check(false, method, solver);
        }
}

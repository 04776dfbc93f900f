// Value and gradients of a function of sixteen complex numbers.
#include "counted.hpp"

int main(int argc, char** argv) {
    using C = std::complex<double>;
    auto z = xg::randn<C>({16}, xg::requires_grad), w = xg::randn<C>({16}, xg::requires_grad);
    auto const t = xg::randn<C>({16});
    return counted(argc, argv, [&] {
        z.zero_grad();
        w.zero_grad();
        auto const loss = sum(abs2(z * conj(w) - t));
        loss.backward();
        return loss.item();
    });
}

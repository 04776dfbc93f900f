// A matrix product of eight by eight numbers, forward and backward.
#include "counted.hpp"

int main(int argc, char** argv) {
    auto a = xg::rand({8, 8}, xg::requires_grad), b = xg::rand({8, 8}, xg::requires_grad);
    return counted(argc, argv, [&] {
        a.zero_grad();
        b.zero_grad();
        auto const loss = sum(square(matmul(a, b)));
        loss.backward();
        return loss.item();
    });
}

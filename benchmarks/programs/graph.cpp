// A graph of three Nodes: what recording, passing on and freeing them costs.
#include "counted.hpp"

int main(int argc, char** argv) {
    xg::Tensor<double> a({1., 2., 3., 4.}, xg::requires_grad),
        b({4., 3., 2., 1.}, xg::requires_grad);
    return counted(argc, argv, [&] {
        a.zero_grad();
        b.zero_grad();
        xg::Tensor<double> const product = a * b;
        xg::Tensor<double> const shifted = product + a;
        auto const loss = sum(shifted * product);
        loss.backward();
        return loss.item();
    });
}

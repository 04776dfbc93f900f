// Value and gradients of an elementwise function of tensors of four elements.
#include "counted.hpp"

int main(int argc, char** argv) {
    xg::Tensor<double> a({1., 2., 3., 4.}, xg::requires_grad),
        b({4., 3., 2., 1.}, xg::requires_grad);
    return counted(argc, argv, [&] {
        a.zero_grad();
        b.zero_grad();
        auto const loss = sum(a * b + 0.5 * a - b / (a + 2));
        loss.backward();
        return loss.item();
    });
}

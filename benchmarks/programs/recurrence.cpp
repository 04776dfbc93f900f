// A step of a recurrence on scalars, recorded. Every hundredth step calls backward() through the
// whole chain.
#include "counted.hpp"

int main(int argc, char** argv) {
    xg::Tensor<double> start(0.7, xg::requires_grad), p(1.3, xg::requires_grad);
    xg::Tensor<double> x = start;
    int steps = 0;
    return counted(argc, argv, [&] {
        x = x + 1e-3 * sin(x) * p;
        if (++steps % 100 != 0) return 0.;
        start.zero_grad();
        p.zero_grad();
        x.backward();
        return std::exchange(x, start).item();
    });
}

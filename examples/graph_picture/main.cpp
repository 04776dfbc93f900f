// The recorded graph of a small network's loss as a picture: what one expression, hence one Node,
// is, and where names, hooks and saved tensors stand. Writes graph.dot; Graphviz makes a picture of
// it: dot -Tsvg graph.dot -o graph.svg
// ctest:

#include <fstream>
#include <iostream>

#include <xgrad/testing/to_dot.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;

int main() {
    xg::manual_seed(1);
    Real const x = xg::randn({8, 3}), target = xg::randn({8, 1});
    Real const w1 = xg::randn({3, 4}, xg::requires_grad), b1 = xg::zeros({4}, xg::requires_grad);
    Real const w2 = xg::randn({4, 1}, xg::requires_grad), b2 = xg::zeros({1}, xg::requires_grad);

    Real hidden = tanh(matmul(x, w1) + b1);
    hidden.register_hook([](Real const& g) { return clamp(g, -1., 1.); });
    Real const output = matmul(hidden, w2) + b2;
    Real const loss = mean(square(output - target)) + 1e-3 * sum(square(w1));

    xg::DotOptions const options{.names = {{"w1", w1}, {"b1", b1}, {"w2", w2}, {"b2", b2},
                                     {"hidden", hidden}, {"output", output}, {"loss", loss}},
        .show_saved = true};
    std::ofstream("graph.dot") << xg::to_dot(loss, options);
    std::cout << "graph.dot is written; a picture of it: dot -Tsvg graph.dot -o graph.svg\n";
}

// A step of training a small network: the value and all gradients of a perceptron with one hidden
// layer.
#include <benchmark/benchmark.h>
#include <xgrad/xgrad.hpp>

#if XGRAD_USE_BLAS
#    include "cases.hpp"
#    include "comparison.hpp"
#    include "hand_written/matrix.hpp"

extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

namespace xg = xgrad;

int main(int argc, char** argv) {
    if (openblas_set_num_threads) openblas_set_num_threads(1); // goals are for one core
    std::size_t const batch = 64, in = 784, width = 128, out = 10;
    auto const x = xg::rand({batch, in});
    bench::Leaf const w1(xg::Tensor<double>(0.05 * xg::randn({in, width}))),
        b1(xg::Tensor<double>(0.1 * xg::randn({width})));
    bench::Leaf const w2(xg::Tensor<double>(0.1 * xg::randn({width, out}))),
        b2(xg::Tensor<double>(0.1 * xg::randn({out})));
    std::vector<std::size_t> labels(batch);
    auto one_hot = xg::zeros({batch, out});
    for (std::size_t i = 0; i < batch; ++i) {
        labels[i] = (7 * i + 3) % out;
        one_hot.mutable_data()[i * out + labels[i]] = 1;
    }

    auto const function = [=, w1 = w1.x, b1 = b1.x, w2 = w2.x, b2 = b2.x] {
        xg::Tensor<double> const hidden = relu(matmul(x, w1) + b1);
        xg::Tensor<double> const z = matmul(hidden, w2) + b2;
        return mean(logsumexp(z, {1}) - sum(z * one_hot, {1}));
    };
    bench::Buffer<> const hidden({batch, width}), z({batch, out}), g_hidden({batch, width});
    hand::Perceptron const by_hand{batch, in, width, out, x.data(), w1.data, b1.data, w2.data,
        b2.data, labels.data(), hidden.data, z.data, g_hidden.data, w1.gradient, b1.gradient,
        w2.gradient, b2.gradient};
    bench::Comparison row(bench::name::perceptron, batch, function, w1, b1, w2, b2);
    row.hand("hand: GEMMs, loops", by_hand).goal().at_most(1.03);
    return bench::run(argc, argv);
}
#else
int main() { std::puts("the perceptron: this build has no BLAS to compare with"); }
#endif

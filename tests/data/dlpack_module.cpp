// What dlpack.py calls: the side of xgrad in one process with NumPy and PyTorch.
#include <cstdio>
#include <exception>

#include <xgrad/data.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {
D ours;
} // namespace

/// A capsule's structure of the tensor [[0, 1, 2], [3, 4, 5]], whose columns are rows where
/// `transposed`.
EXPORTED void* give(int transposed) {
    ours = xg::arange(6.).reshape({2, 3});
    return xg::data::to_dlpack(transposed ? D(ours.t()) : ours);
}
EXPORTED void add_to_ours(double v) { ours.add_(v); }
EXPORTED double first_of_ours() { return ours(0, 0).item(); }

/// Takes x, writes the gradient of sum(x^3) over it, and returns the sum; -1 where x is refused.
EXPORTED double take(void* managed) {
    try {
        D x = xg::data::from_dlpack<double>(static_cast<::DLManagedTensor*>(managed));
        D leaf = x.detach().clone();
        leaf.requires_grad_();
        D const y = sum(leaf * leaf * leaf);
        y.backward();
        x.copy_(leaf.grad());
        return y.item();
    } catch (std::exception const& e) {
        std::printf("%s\n", e.what());
        return -1;
    }
}

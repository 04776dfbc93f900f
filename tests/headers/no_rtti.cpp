// Only compiled, with -fno-rtti: all but nn.hpp and what includes it, which asks modules for their
// types.
#include <xgrad/data.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/linalg.hpp>
#include <xgrad/manifold.hpp>
#include <xgrad/map.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/vmap.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> x({1., 2.}, xgrad::requires_grad);
    auto const handle = x.register_hook([](auto const& g) { return 2. * g; });
    sum(x * sin(x)).backward();
    return x.grad().numel() == 2 ? 0 : 1;
}

// Only compiled, with all warnings as errors: lists of extents, axes and indices take integers of
// any types side by side.
#include <xgrad/nn.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

int main() {
    int const n = 2;
    short const few = 2;
    unsigned const u = 3;
    std::int64_t const wide = 2;
    std::size_t const size = 2;
    std::ptrdiff_t const axis = -1;
    enum { fixed = 2 };
    D const x = xg::zeros({n, n}), y = xg::ones({size, u, n}), f = xg::ones<double>({fixed, few});
    D a = reshape(x, {x.shape(0), -1}), b = reshape(y, {y.shape(0), y.shape(1) * y.shape(2)});
    a = x.reshape({x.shape(0), -1}), a = x.view({-1, n}), a = y.reshape({wide, u, -1});
    a = xg::full({wide, n, size}, 1.), a = xg::rand({wide, few}), a = xg::randn({wide, n}),
    a = D::empty({n, size});
    a = broadcast_to(xg::ones({size}), {n, size}), a = x.expand({n, wide, size});
    a = sum(y, {axis, n - 2}), a = mean(y, {0, size}), a = sum(y, {static_cast<unsigned char>(1)}),
    a = amax(y, {n - 1, axis});
    a = permute(y, {size, 0, n - 1}), a = movedim(y, {0, size}, {1, n - 2}),
    a = unflatten(b, 1, {u, -1});
    a = y(n - 1, u - 1, axis), a = y(size - 1, xg::slice(0, y.shape(1) - 1)), a = y[n - 1],
    a = y[size - 1];
    a = tile(x, {n, size}), a = flip(y, {0, axis}), a = roll(y, {n, axis}, {0, size}),
    a = pad(x, {n, size, 0, u});
    xg::Tensor<std::complex<double>> z = fftn(x, {0, axis}, {n, size});
    for (std::size_t i = 0; i < y.dim(); ++i) a = y * static_cast<double>(y.shape(i));
    for (int i = 0; i < n; ++i) a = y * static_cast<double>(y.shape(i));
    xg::Shape shape{n, x.shape(0) * 2}, from(std::vector<int>{2, 3});
    xg::nn::LayerNorm<double> norm({n, size});
    xg::nn::AvgPool2d pool({n, size});
    a = norm(x);
    D const by_index = index_select(x, 0, {n - 1, 0});
    return shape == from;
}

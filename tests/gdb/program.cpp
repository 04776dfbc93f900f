// The program whose variables the test of gdb's printers prints.
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

struct OwnNode : xg::Node {
    void apply(std::span<xg::AnyTensor>, std::span<xg::AnyTensor>) override {}
    std::string name() const override { return "Own"; }
};

[[gnu::noinline]] void stop_here(xg::AnyTensor const&) {}

int main() {
    using complex = std::complex<double>;
    D x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad), plain({1.5, -2.}),
        large = xg::arange(0., 100.), undefined, empty = xg::zeros({0, 3});
    D columns = plain.expand({5, 2}).t();
    xg::Tensor<float> single(0.25f, xg::requires_grad);
    xg::Tensor<complex> z({complex(1, 2), complex(0.5, -1)});
    xg::Tensor<std::int64_t> integers({-1, 7});
    xg::Tensor<bool> mask({true, false});
    xg::AnyTensor any = integers;
    D product = sin(x) * 2. + x * x;
    D total = sum(product * plain[0]);
    D moved = matmul(x, transpose(x));
    D deep = xg::zeros({1, 1, 1, 1, 2, 1});
    auto rows = x.unbind();
    D row = rows[1];
    xg::detail::Ref<xg::Node> own(new OwnNode);
    sum(x * 3.).backward();
    xg::Shape shape = deep.shape();
    stop_here(total);
    return static_cast<int>(own->next_edges().size() + shape.size() + mask.numel() + any.dim() +
                            row.dim() + moved.dim() + undefined.defined() + empty.dim() +
                            large.dim() + columns.dim() + single.dim() + z.dim()) == 0;
}

// Only compiled: all headers, and some of what they define; by the oldest clang that the README
// names, and under strict warnings.
#include <xgrad/data.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/linalg.hpp>
#include <xgrad/manifold.hpp>
#include <xgrad/map.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/package.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/vmap.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<std::complex<double>>;

struct Net : xg::nn::Module<Net> {
    xg::nn::Child<xg::nn::Linear<double>> hidden{*this, "hidden", 2, 8};
    xg::nn::Parameter<double> scale{*this, "scale", {1.}};
    Real forward(Real const& x) { return scale * tanh(hidden(x)); }
};

inline xg::package::Type<Net, "acme.Net", xg::package::DependsOn<"acme.labels">> const net_type;

int main() {
    Real const a({1., 2.}, xg::requires_grad), b({3., 4.}, xg::requires_grad);
    auto const formula = [](Real const& x, Real const& y) { return sum(x * y + sin(x) / (y + 2)); };
    formula(a, b).backward();
    auto const [ga, gb] = xg::grad(formula(a, b), xg::inputs(a, b), {.create_graph = true});
    sum(ga * gb).backward();
    auto const entropy = [](Real const& x) { return sum(exp(x) * x); };
    xg::hvp(entropy, a, b);
    xg::gradcheck(entropy, a);
    auto const normalised = [](auto const& x) { return x / norm(x); };
    static_cast<void>(xg::vmap(xg::jacobian(normalised))(xg::eye(2)));
    static_cast<void>(xg::sparsity(entropy, a).hessian(b).to_dense());

    auto const energy = [](Real const& x) { return sum(x * x * x); };
    xg::minimize(energy, xg::Sphere().random(a), xg::on(xg::Sphere()));
    xg::check_manifold(xg::Stiefel(), Complex({{1., 2.}, {3., 4.}}));

    Complex const z({{1., 2.}, {3., 4.}}, xg::requires_grad);
    sum(abs2(matmul(z, conj(transpose(z))))).backward();

    Net net;
    net.register_full_backward_hook([](xg::nn::AnyModule&, auto const&, auto const&) {});
    xg::optim::Adam optimizer(net.parameters(), {.lr = 0.05});
    mean(net(xg::ones({4, 2}))).backward();
    optimizer.step();
    net.load_state_dict(net.state_dict());

    xg::data::DataLoader loader(xg::data::TensorDataset<double>(xg::ones({4, 2})), {});
    for ([[maybe_unused]] auto const& batch : loader) {}

    xg::package::PackageExporter exporter("file");
    exporter.register_extern_hook([](xg::package::PackageExporter&, std::string const&) {});
    xg::package::PackageImporter importer("file");
    importer.provide("acme.Net", net);
    importer.load_module<xg::nn::Sequential<double>>("acme", "net");
}

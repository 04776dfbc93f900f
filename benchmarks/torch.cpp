// The same cases in libtorch, a program of its own because the macros of the two libraries clash. Its table goes into those
// of the others: bench_torch --json=FILE, then --libtorch=FILE for them.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "table.hpp"

namespace {

auto const real = torch::dtype(torch::kFloat64);
auto const complex = torch::dtype(torch::kComplexDouble);

/// The value of f(), after gradients for the leaves have been computed afresh.
template <class F> auto differentiated(std::vector<torch::Tensor> leaves, F f)
{
    for (auto& leaf : leaves) leaf.requires_grad_();
    return [=]() mutable {
        for (auto& leaf : leaves) leaf.mutable_grad() = torch::Tensor();
        auto const loss = f();
        loss.backward();
        return loss.template item<double>();
    };
}

void rational(std::int64_t n)
{
    auto const a = torch::rand({n}, real), b = torch::rand({n}, real);
    bench::Case("sum(a*b + 0.5*a - b/(a+2))", static_cast<std::size_t>(n)).peer("libtorch", differentiated({a, b}, [=] {
        return (a * b + 0.5 * a - b / (a + 2)).sum();
    }));
}

void broadcast(std::int64_t m, std::int64_t n)
{
    auto const count = static_cast<std::size_t>(m * n);
    auto const a = torch::rand({m, n}, real), b = torch::rand({m, n}, real), row = torch::rand({n}, real), column = torch::rand({m, 1}, real);
    auto const sum = [](auto x, auto y) { return differentiated({x, y}, [=] { return (x + y).square().sum(); }); };
    auto const product = [](auto x, auto y) { return differentiated({x, y}, [=] { return (x * y).square().sum(); }); };
    bench::Case("sum(square(a + b)), same shape", count).peer("libtorch", sum(a, b));
    bench::Case("sum(square(a + b)), (m,n)+(n)", count).peer("libtorch", sum(a, row));
    bench::Case("sum(square(a * b)), same shape", count).peer("libtorch", product(a, b));
    bench::Case("sum(square(a * b)), (m,n)*(m,1)", count).peer("libtorch", product(a, column));
}

/// abs().square() is what one writes, view_as_real() what one writes after measuring; the faster one counts.
void phase(std::int64_t n)
{
    auto const phi = torch::randn({n}, real), z = torch::randn({n}, complex), t = torch::randn({n}, complex);
    auto const misfit = [=] { return torch::exp(phi * c10::Scalar(c10::complex<double>(0, 1))) * z - t; };
    bench::Case("sum(abs2(exp(i*phi)*z - t))", static_cast<std::size_t>(n))
        .peer("libtorch", differentiated({phi, z}, [=] { return misfit().abs().square().sum(); }))
        .peer("libtorch", differentiated({phi, z}, [=] { return torch::view_as_real(misfit()).square().sum(); }));
}

void product(std::int64_t n)
{
    auto const a = torch::rand({n, n}, real), b = torch::rand({n, n}, real);
    bench::Case("sum(square(matmul(A, B)))", static_cast<std::size_t>(n)).peer("libtorch", differentiated({a, b}, [=] {
        return torch::matmul(a, b).square().sum();
    }));
}

void recurrence(int steps)
{
    auto const start = torch::tensor(0.7, real), p = torch::tensor(1.3, real);
    bench::Case("x = x + dt*sin(x)*p, per step", static_cast<std::size_t>(steps))
        .per_step(static_cast<std::size_t>(steps))
        .peer("libtorch", differentiated({start, p}, [=] {
            auto x = start;
            for (int i = 0; i < steps; ++i) x = x + 1e-3 * torch::sin(x) * p;
            return x;
        }));
}

}  // namespace

int main(int argc, char** argv)
{
    torch::set_num_threads(1);
    for (std::int64_t const n : {4, 1024, 65536, 4 << 20}) rational(n);
    for (std::int64_t const n : {64, 1024}) broadcast(n, n);
    for (std::int64_t const n : {1024, 4 << 20}) phase(n);
    for (std::int64_t const n : {64, 256, 512}) product(n);
    recurrence(1000);
    return bench::run(argc, argv);
}

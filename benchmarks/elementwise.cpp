// Elementwise formulas under a sum: value and gradient, for tensors of one shape and for broadcast ones.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <xgrad/xgrad.hpp>

#include "hand_written.hpp"
#include "table.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;

/// Places for two gradients by hand: memory like that of xgrad's own, so that neither has the better alignment.
struct Gradients {
    Real a, b;
    double *to_a = a.mutable_data(), *to_b = b.mutable_data();
};

struct Rational {
    static auto value(Real const& a, Real const& b) { return sum(a * b + 0.5 * a - b / (a + 2)); }
};
struct SquareSum {
    static auto value(Real const& a, Real const& b) { return sum(square(a + b)); }
};
struct SquareProduct {
    static auto value(Real const& a, Real const& b) { return sum(square(a * b)); }
};

template <class Formula> auto by_xgrad(Real a, Real b)
{
    return [=]() mutable {
        a.zero_grad();
        b.zero_grad();
        auto const loss = Formula::value(a, b);
        loss.backward();
        return loss.item();
    };
}

void check(std::string const& what, double value, double by_hand, Real const& a, Real const& b, Gradients const& gradients)
{
    bench::agree(what, value, by_hand);
    bench::agree(what + ", first gradient", a.grad().data(), gradients.a.data(), a.numel());
    bench::agree(what + ", second gradient", b.grad().data(), gradients.b.data(), b.numel());
}

void rational(std::size_t n)
{
    auto const name = "sum(a*b + 0.5*a - b/(a+2))";
    auto const a = xg::rand<double>({n}, xg::requires_grad), b = xg::rand<double>({n}, xg::requires_grad);
    Gradients const by_hand{xg::zeros<double>({n}), xg::zeros<double>({n})};
    auto const one_pass = [=] { return hand::rational(a.data(), b.data(), by_hand.to_a, by_hand.to_b, n); };
    auto const two_passes = [=] {
        auto const value = hand::rational_value(a.data(), b.data(), n);
        hand::rational_gradient(a.data(), b.data(), by_hand.to_a, by_hand.to_b, n);
        return value;
    };
    auto xgrad = by_xgrad<Rational>(a, b);
    auto const value = xgrad();
    check(name, value, one_pass(), a, b, by_hand);
    check(name, value, two_passes(), a, b, by_hand);

    bench::Case row(name, n);
    row.peer("hand, 1 pass", one_pass).peer("hand, 2 passes", two_passes).xgrad(xgrad);
    if (n <= 4) row.faster_than_libtorch(100).aim("150, 80 ns");
    else row.at_most(1.5).aim("1.25x");

    if (n < (1 << 20)) return;
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 5; ++i) xgrad();
    getrusage(RUSAGE_SELF, &after);
    bench::Case("page faults in 5 calls after the first", n).found(static_cast<double>(after.ru_minflt - before.ru_minflt), "").at_most_value(0);
}

/// The same formula on (m, n) with b of shape `small`, beside b of shape (m, n), and both beside a loop by hand.
template <class Formula, class Hand, class HandSmall>
void broadcast(std::string const& formula, std::string const& shapes, std::size_t m, std::size_t n, xg::Shape const& small, Hand hand, HandSmall hand_small)
{
    auto const a = xg::rand<double>({m, n}, xg::requires_grad);
    auto const setting = [&](xg::Shape const& shape, auto by_hand) {
        auto const b = xg::rand<double>(shape, xg::requires_grad);
        Gradients const gradients{xg::zeros<double>({m, n}), xg::zeros<double>(shape)};
        auto const f = [=] { return by_hand(a.data(), b.data(), gradients.to_a, gradients.to_b); };
        auto g = by_xgrad<Formula>(a, b);
        auto const value = g();
        check(formula, value, f(), a, b, gradients);
        return std::pair(f, g);
    };
    auto const [same_by_hand, same] = setting({m, n}, hand);
    auto const [small_by_hand, broadcasted] = setting(small, hand_small);
    bench::Case(formula + ", same shape", m * n).peer("hand", same_by_hand).xgrad(same);
    bench::Case(formula + ", " + shapes, m * n).peer("same shape", same).xgrad(broadcasted).at_most(1.3);
    bench::Case(formula + ", " + shapes, m * n).peer("hand", small_by_hand).xgrad(broadcasted);
}

int main(int argc, char** argv)
{
    for (std::size_t const n : {std::size_t{4}, std::size_t{1024}, std::size_t{65536}, std::size_t{4} << 20}) rational(n);
    for (std::size_t const m : {std::size_t{64}, std::size_t{1024}}) {
        std::size_t const n = m;
        broadcast<SquareSum>("sum(square(a + b))", "(m,n)+(n)", m, n, {n},
            [=](auto... p) { return hand::square_sum(p..., m * n); }, [=](auto... p) { return hand::square_sum_row(p..., m, n); });
        broadcast<SquareProduct>("sum(square(a * b))", "(m,n)*(m,1)", m, n, {m, 1},
            [=](auto... p) { return hand::square_product(p..., m * n); }, [=](auto... p) { return hand::square_product_column(p..., m, n); });
    }
    return bench::run(argc, argv);
}

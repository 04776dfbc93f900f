// Large expressions on several threads: the same bits as on one.
#if __has_include(<sys/wait.h>)
#    include <sys/wait.h>
#    include <unistd.h>
#endif

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace xg = xgrad;

namespace {

using Real = xg::Tensor<double>;

struct Threads {
    explicit Threads(std::size_t n) { xg::set_num_threads(n); }
    ~Threads() { xg::set_num_threads(1); }
};

bool same_bits(Real const& a, Real const& b) {
    return a.shape() == b.shape() &&
           std::memcmp(a.data(), b.data(), a.numel() * sizeof(double)) == 0;
}

/// run() gives the same bits on several threads as alone.
template <class Run> void check_on_threads(Run const& run, std::vector<Real> const& alone) {
    for (std::size_t const threads : {2u, 5u}) {
        Threads const on(threads);
        auto const together = run();
        for (std::size_t k = 0; k < alone.size(); ++k) {
            CAPTURE(k);
            CHECK(same_bits(together[k], alone[k]));
        }
    }
}

struct Results {
    Real value, a, b;
};

/// A full sum whose gradients are computed with it, a second backward pass of that sum, and an
/// expression with a given gradient.
Results compute(std::size_t n) {
    xg::manual_seed(7);
    auto a = xg::rand<double>({n}, xg::requires_grad), b = xg::rand<double>({n}, xg::requires_grad);
    Real const y = sin(a) * b;
    auto const loss = sum(a * b + 0.5 * a - b / (a + 2));
    loss.backward(xg::BackwardOptions{.retain_graph = true});
    loss.backward(Real(2.5));
    y.backward(y.detach());
    return {Real(y + loss), a.grad(), b.grad()};
}

} // namespace

TEST_CASE("results do not depend on the number of threads") {
    for (std::size_t const n :
        {std::size_t{5}, std::size_t{32768}, std::size_t{32769}, std::size_t{200001}}) {
        CAPTURE(n);
        auto const alone = compute(n);
        for (std::size_t const threads : {2u, 3u, 7u}) {
            CAPTURE(threads);
            Threads const on(threads);
            CHECK(xg::get_num_threads() == threads);
            auto const together = compute(n);
            CHECK(same_bits(together.value, alone.value));
            CHECK(same_bits(together.a, alone.a));
            CHECK(same_bits(together.b, alone.b));
        }
    }
    CHECK(xg::get_num_threads() == 1);
}

TEST_CASE(
    "broadcast, transposed and strided operands: right, and the same bits on several threads") {
    std::size_t const rows = 301, columns = 500;
    auto const run = [&] {
        xg::manual_seed(3);
        auto a = xg::rand<double>({rows, columns}, xg::requires_grad);
        auto t = xg::rand<double>({columns, rows}, xg::requires_grad);
        auto s = xg::rand<double>({rows, 2 * columns}, xg::requires_grad);
        auto row = xg::rand<double>({columns}, xg::requires_grad);
        auto column = xg::rand<double>({rows, 1}, xg::requires_grad);
        Real const every_other = s(xg::all, xg::range(0, 2 * columns, 2));
        Real const y = a * t.transpose() + row * column - every_other * column;
        Real const rows_summed = sum(y * a, 0), columns_summed = sum(y * a, 1);
        auto const loss = sum(y * y) + sum(rows_summed * row);
        loss.backward();
        return std::vector<Real>{a, t, s, row, column, y, rows_summed, columns_summed, loss,
            a.grad(), t.grad(), s.grad(), row.grad(), column.grad()};
    };
    auto const alone = run();
    auto const &a = alone[0].array(), &t = alone[1].array(), &s = alone[2].array(),
               &row = alone[3].array(), &column = alone[4].array();
    double worst = 0;
    std::vector<double> of_row(rows);
    for (std::size_t j = 0; j < columns; ++j) {
        double summed = 0, expected = 0;
        auto const y = [&](std::size_t i) {
            return a(i, j) * t(j, i) + row(j) * column(i, 0) - s(i, 2 * j) * column(i, 0);
        };
        for (std::size_t i = 0; i < rows; ++i) summed += y(i) * a(i, j);
        for (std::size_t i = 0; i < rows; ++i) {
            double const g = 2 * y(i) + row(j) * a(i, j);
            expected += g * column(i, 0);
            of_row[i] += g * (row(j) - s(i, 2 * j));
            worst = std::max({worst, std::abs(alone[5].array()(i, j) - y(i)),
                std::abs(alone[9].array()(i, j) - g * t(j, i) - row(j) * y(i)),
                std::abs(alone[10].array()(j, i) - g * a(i, j)),
                std::abs(alone[11].array()(i, 2 * j) + g * column(i, 0)),
                std::abs(alone[11].array()(i, 2 * j + 1))});
        }
        worst = std::max({worst, std::abs(alone[6].array()(j) - summed) / rows,
            std::abs(alone[12].array()(j) - expected - summed) / rows});
    }
    for (std::size_t i = 0; i < rows; ++i)
        worst = std::max(worst, std::abs(alone[13].array()(i, 0) - of_row[i]) / columns);
    CHECK(worst < 1e-13);
    check_on_threads(run, alone);
}

TEST_CASE("gradients of transposed operands in parts, and a tensor that two large formulas use") {
    std::size_t const rows = 300, columns = 400;
    auto const run = [&] {
        xg::manual_seed(5);
        auto a = xg::rand<double>({rows, columns}, xg::requires_grad);
        auto t = xg::rand<double>({columns, rows}, xg::requires_grad);
        auto const g = xg::rand<double>({rows, columns});
        Real const shared = 2. * a;
        Real const z = shared * t.transpose(), u = sin(shared) + t.transpose() * t.transpose();
        Real const v = exp(shared);
        xg::backward({z, u, v}, {g, g, g});
        return std::vector<Real>{a, t, g, z, u, v, a.grad(), t.grad()};
    };
    auto const alone = run();
    auto const &a = alone[0].array(), &t = alone[1].array(), &g = alone[2].array(),
               &of_a = alone[6].array(), &of_t = alone[7].array();
    double worst = 0;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
            double const s = 2. * a(i, j);
            double const expected = 2. * g(i, j) * (t(j, i) + std::cos(s) + std::exp(s));
            worst = std::max({worst, std::abs(of_a(i, j) - expected),
                std::abs(of_t(j, i) - g(i, j) * (s + 2. * t(j, i)))});
        }
    CHECK(worst < 1e-13);
    check_on_threads(run, alone);
}

TEST_CASE("a short outermost axis beside a long one") {
    std::size_t const n = 200003;
    auto const run = [&] {
        xg::manual_seed(6);
        auto a = xg::rand<double>({2, n}, xg::requires_grad);
        auto row = xg::rand<double>({n}, xg::requires_grad);
        Real const y = a * row;
        Real const summed = sum(a * row, 1);
        (sum(y * y) + sum(summed)).backward();
        return std::vector<Real>{a, row, y, summed, a.grad(), row.grad()};
    };
    auto const alone = run();
    auto const *a = alone[0].data(), *row = alone[1].data();
    double worst = 0, first = 0;
    for (std::size_t j = 0; j < n; ++j) {
        first += a[j] * row[j];
        double const expected = 2. * row[j] * (a[j] * a[j] + a[n + j] * a[n + j]) + a[j] + a[n + j];
        worst = std::max({worst, std::abs(alone[2].data()[n + j] - a[n + j] * row[j]),
            std::abs(alone[4].data()[n + j] - 2. * a[n + j] * row[j] * row[j] - row[j]),
            std::abs(alone[5].data()[j] - expected)});
    }
    CHECK(worst < 1e-13);
    CHECK(alone[3].data()[0] == doctest::Approx(first).epsilon(1e-12));
    check_on_threads(run, alone);
}

TEST_CASE("a result larger than the caches, and one that overwrites an operand") {
    std::size_t const n = (std::size_t{16} << 20) / sizeof(double) + 77;
    for (std::size_t const threads : {1u, 3u}) {
        Threads const on(threads);
        Real x = xg::arange<double>(n);
        Real const y = x * 0.5 + 1.;
        x.requires_grad_();
        Real z = 2. * x;
        z *= y.detach();
        sum(z).backward();
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i) {
            double const at = static_cast<double>(i);
            worst = std::max({worst, std::abs(y.data()[i] - at * 0.5 - 1.),
                std::abs(z.data()[i] - 2. * at * y.data()[i]) / (1. + at * at),
                std::abs(x.grad().data()[i] - 2. * y.data()[i])});
        }
        CHECK(worst < 1e-15);
    }
}

TEST_CASE("a long sum is right whatever the number of threads") {
    std::size_t const n = 100000;
    Threads const on(2);
    Real x(xg::ones<double>({n}).array(), xg::requires_grad);
    auto const loss = sum(3 * x * x);
    loss.backward();
    CHECK(loss.item() == 3. * static_cast<double>(n));
    CHECK(x.grad().data()[n - 1] == 6);
    CHECK(x.grad().data()[n / 2] == 6);
}

TEST_CASE("threads of the program's own may compute at the same time") {
    std::size_t const n = 100000;
    auto const expected = compute(n);
    Threads const on(3);
    Results found[3];
    std::vector<std::thread> own;
    for (auto& f : found) own.emplace_back([&f] { f = compute(n); });
    for (auto& t : own) t.join();
    for (auto const& f : found) {
        CHECK(same_bits(f.value, expected.value));
        CHECK(same_bits(f.a, expected.a));
        CHECK(same_bits(f.b, expected.b));
    }
}

TEST_CASE("0 stands for all cores") {
    Threads const on(0);
    CHECK(xg::get_num_threads() >= 1);
}

TEST_CASE("set_num_threads: too many are an error, and leave the number that was set") {
    xg::set_num_threads(2);
    CHECK_THROWS_AS(xg::set_num_threads(~std::size_t{0}), xg::Error);
    CHECK_THROWS_WITH_AS(xg::set_num_threads(std::size_t{1} << 30),
        "set_num_threads: 1073741824 threads are too many", xg::Error);
    CHECK(xg::get_num_threads() == 2);
    Real const x = xg::ones({200000});
    CHECK(sum(x * 2.).item() == 400000);
    xg::set_num_threads(1);
}

// The thread sanitizer ends a child of a program with threads when it makes threads of its own.
#if __has_include(<sys/wait.h>) && !defined(__SANITIZE_THREAD__) && !defined(__EMSCRIPTEN__)
TEST_CASE("a child of fork() computes alone, and does not wait for threads that it does not have") {
    if (std::getenv("XGRAD_TEST_QEMU")) return; // it fails an assertion of its own in such a child
    xg::set_num_threads(3);
    Real const x = xg::ones({300000});
    Real const expected = exp(x) * x;
    CHECK(expected.data()[7] == doctest::Approx(std::exp(1.)));
    auto const child = fork();
    if (child == 0) {
        alarm(60); // a child that hangs ends by a signal
        Real const y = exp(x) * x;
        bool right = xg::get_num_threads() == 1 && same_bits(y, expected);
        xg::set_num_threads(2);
        Real const z = exp(x) * x;
        right &= same_bits(z, expected);
        xg::set_num_threads(1);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(xg::get_num_threads() == 3);
    Real const y = exp(x) * x;
    CHECK(same_bits(y, expected));
    xg::set_num_threads(1);
}
#endif

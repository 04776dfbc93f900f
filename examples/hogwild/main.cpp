// Several threads train one small network. Each takes the parameters as they are, computes the
// gradient of a batch of its own, and subtracts it: nobody waits for anybody, and a step may start
// from parameters that others are changing. Niu, Recht, Re, Wright, "Hogwild!: a lock-free approach
// to parallelizing stochastic gradient descent", 2011.
// ctest: --threads 3 --steps 3000 --samples 400 --hidden 12

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numbers>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;

struct Settings {
    std::size_t threads = 4, steps = 40000, samples = 4000, batch = 16, hidden = 32;
    double rate = 0.02, noise = 0.05;
    std::uint64_t seed = 1;

    Settings(int argc, char** argv) {
        examples::Options options(
            "Trains a network on shared parameters in several threads without locks.");
        options.number("threads", threads, "threads that train", 1, 1024);
        options.number("steps", steps, "steps of all threads together", 1);
        options.number("samples", samples, "points to learn from", 1, 100000000);
        options.number("batch", batch, "points for each step", 1, 100000000);
        options.number("hidden", hidden, "width of the hidden layer", 1, 100000);
        options.number("rate", rate, "length of a step", 0);
        options.number("noise", noise, "standard deviation of the noise on what is learnt", 0);
        options.number("seed", seed, "of the points, the start and the batches");
        options.parse(argc, argv);
    }
};

/// Numbers that all threads read and change at any time. Each single one is read and added to
/// without a lock, and what is read of several may be older here and newer there.
class Shared {
public:
    explicit Shared(Real initial) : values_(std::move(initial)), numbers_(values_.mutable_data()) {}

    /// A leaf for one step. It has memory of its own, since the graph of that step relies on what
    /// it saved.
    Real leaf() const {
        auto copy = Real::empty(values_.shape());
        double* const to = copy.mutable_data();
        for (std::size_t i = 0; i < copy.numel(); ++i)
            to[i] = std::atomic_ref(numbers_[i]).load(std::memory_order_relaxed);
        return copy.requires_grad_();
    }
    void subtract(Real const& step) {
        for (std::size_t i = 0; i < step.numel(); ++i)
            std::atomic_ref(numbers_[i]).fetch_sub(step.data()[i], std::memory_order_relaxed);
    }

private:
    Real values_;
    double* numbers_;
};

struct Model {
    Shared w, b, v, c;

    explicit Model(std::size_t hidden)
        : w(xg::randn({2, hidden})), b(xg::randn({hidden})),
          v(Real(xg::randn({hidden, 1}) / std::sqrt(static_cast<double>(hidden)))),
          c(xg::zeros({1})) {}
};

struct Data {
    Real x, y;

    /// A hilly surface over the square [-1, 1]^2, measured with noise.
    Data(std::size_t count, double noise)
        : x(xg::rand({count, 2}) * 2 - 1), y(Real::empty({count, 1})) {
        auto const u = x(xt::all(), xg::slice(0, 1)), v = x(xt::all(), xg::slice(1, 2));
        y = sin(std::numbers::pi * u) * cos(2. * v) + 0.5 * u * v + noise * xg::randn({count, 1});
    }
};

Real predict(Real const& x, Real const& w, Real const& b, Real const& v, Real const& c) {
    Real const hidden = tanh(matmul(x, w) + b);
    return matmul(hidden, v) + c;
}

/// The root mean square error of the model as it is now.
double error(Model const& model, Data const& data) {
    xg::NoGradGuard const no_grad;
    return std::sqrt(mean(
        square(predict(data.x, model.w.leaf(), model.b.leaf(), model.v.leaf(), model.c.leaf()) -
               data.y))
                         .item());
}

void step(Model& model, Data const& data, double rate, std::size_t first, std::size_t count) {
    auto const part =
        xg::slice(static_cast<std::ptrdiff_t>(first), static_cast<std::ptrdiff_t>(first + count));
    auto const w = model.w.leaf(), b = model.b.leaf(), v = model.v.leaf(), c = model.c.leaf();
    Real const loss = mean(square(predict(data.x(part), w, b, v, c) - data.y(part)));
    auto const [gw, gb, gv, gc] = grad(loss, xg::inputs(w, b, v, c));
    model.w.subtract(rate * gw);
    model.b.subtract(rate * gb);
    model.v.subtract(rate * gv);
    model.c.subtract(rate * gc);
}

int train(Settings const& settings) {
    xg::manual_seed(settings.seed);
    Data const data(settings.samples, settings.noise), unseen(1000, 0);
    Model model(settings.hidden);
    double const before = error(model, unseen);
    std::printf("%zu threads, %zu steps; error on points that were not learnt from\n\n   steps     "
                " error\n%8d %10.4f\n",
        settings.threads, settings.steps, 0, before);

    std::atomic<std::size_t> taken = 0;
    std::atomic<bool> stop = false;
    std::vector<std::size_t> steps_of(settings.threads);
    std::vector<std::exception_ptr> thrown(settings.threads);
    auto const start = std::chrono::steady_clock::now();
    auto const work = [&](std::size_t k) {
        try {
            std::mt19937_64 random(settings.seed + k + 1);
            auto const batch = std::min(settings.batch, settings.samples);
            std::uniform_int_distribution<std::size_t> first(0, settings.samples - batch);
            for (; !stop && taken++ < settings.steps; ++steps_of[k])
                step(model, data, settings.rate, first(random), batch);
        } catch (...) {
            thrown[k] = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < settings.threads; ++k) threads.emplace_back(work, k);
    for (std::size_t tenth = 1; tenth < 10; ++tenth) {
        auto const due = settings.steps * tenth / 10;
        while (!stop && taken < due) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        auto const now = taken.load();
        if (now >= settings.steps) break;
        std::printf("%8zu %10.4f\n", now, error(model, unseen));
        std::fflush(stdout);
    }
    for (auto& thread : threads) thread.join();
    for (auto const& e : thrown)
        if (e) std::rethrow_exception(e);

    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    double const after = error(model, unseen);
    std::printf(
        "%8zu %10.4f\n\n%.2f s; steps of each thread:", settings.steps, after, seconds.count());
    for (auto const n : steps_of) std::printf(" %zu", n);
    std::printf("\nfinal error %.4f, at the start %.4f\n", after, before);
    return after < before ? 0 : 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return train(Settings(argc, argv)); });
}

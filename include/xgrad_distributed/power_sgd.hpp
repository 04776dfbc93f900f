// PowerSGD (Vogels, Karimireddy and Jaggi, 2019): gradients that are matrices travel as two thin
// factors. One step of a power iteration finds them: P = M Q, added up over the ranks and made
// orthonormal, then Q = M* P, added up; the result is P Q*. What it leaves out is added to the
// gradient of the next pass. With complex matrices the adjoint M* is what the transpose is with
// real ones.
//
// Shapes: a gradient of two or more axes is a matrix of the first against all others; the result
// has the shape of the bucket's buffer.
// Gradients: become the mean over the ranks, approximated by matrices of low rank; unrecorded.
// Errors: a rank of 0 is a ShapeError, a start_powerSGD_iter below 2 with error feedback or warm
// start an Error; DistributedError where the ranks differ, stop or do not answer.
#pragma once

#include <map>
#include <random>

#include <xgrad/ops/linalg.hpp>
#include <xgrad/tensor/views.hpp>
#include <xgrad_distributed/comm_hooks.hpp>

namespace xgrad::distributed {

/// Options of PowerSGDState.
struct PowerSGDOptions {
    /// Columns of the factors.
    std::size_t matrix_approximation_rank = 1;
    /// So many first passes take the plain mean.
    std::size_t start_powerSGD_iter = 1000;
    /// A matrix is compressed where that saves more than this factor.
    double min_compression_rate = 2;
    /// Whether what was left out is added to the next gradient.
    bool use_error_feedback = true;
    /// Whether a pass begins with the Q of the one before, not with random numbers.
    bool warm_start = true;
    /// Added to the length of a column before it is divided by it.
    double orthogonalization_epsilon = 0;
    /// Of the random numbers, which are the same on all ranks.
    std::uint64_t seed = 0;
};

/// What powerSGD_hook() remembers from pass to pass.
class PowerSGDState {
public:
    explicit PowerSGDState(ProcessGroup group, PowerSGDOptions const& options = {})
        : group_(std::move(group)), options_(options), generator_(options.seed) {
        if (options.matrix_approximation_rank == 0)
            detail::fail<ShapeError>("PowerSGD: the rank of the factors must be positive");
        if ((options.use_error_feedback || options.warm_start) && options.start_powerSGD_iter < 2)
            detail::fail<Error>(
                "PowerSGD: Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or "
                "`warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP.");
    }
    /// The options that the constructor got.
    PowerSGDOptions const& options() const noexcept { return options_; }
    /// How many bytes this rank has given to MPI so far, and how many the gradients had.
    double bytes_sent() const noexcept { return bytes_sent_; }
    double bytes_of_gradients() const noexcept { return bytes_of_gradients_; }

private:
    friend Future<AnyTensor> powerSGD_hook(PowerSGDState& state, GradBucket& bucket);

    struct Memory {
        AnyTensor error, qs;
    };
    /// One bucket on its way through the two reductions.
    template <Scalar T> class Compression;

    bool compresses(Shape const& shape, std::size_t n, std::size_t m) const {
        auto const rank = std::min({n, m, options_.matrix_approximation_rank});
        return shape.size() > 1 &&
               static_cast<double>(rank * (n + m)) * options_.min_compression_rate <
                   static_cast<double>(n * m);
    }

    ProcessGroup group_;
    PowerSGDOptions options_;
    std::mt19937_64 generator_;
    std::size_t iteration_ = 0;
    std::map<std::size_t, Memory> memory_; // by the index of the bucket
    double bytes_sent_ = 0, bytes_of_gradients_ = 0;
};

/// The compression of one bucket in one pass.
template <Scalar T> class PowerSGDState::Compression {
public:
    /// Takes the bucket's gradients; the state gives the factors of the pass before.
    Compression(PowerSGDState& state, GradBucket& bucket)
        : state_(state), buffer_(bucket.buffer().as<T>()), memory_(state.memory_[bucket.index()]),
          name_(detail::name_of(bucket)) {
        std::size_t ps = 0, qs = 0, rest = 0;
        for (auto const& any : bucket.gradients()) {
            auto const g = any.as<T>();
            std::size_t const n = g.dim() ? g.shape()[0] : 1, m = n ? g.numel() / n : 0;
            if (state.compresses(g.shape(), n, m)) {
                auto const rank = std::min({n, m, state.options_.matrix_approximation_rank});
                matrices_.push_back(
                    {reshape(g, {static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(m)}),
                        rank, ps, qs});
                ps += n * rank, qs += m * rank;
            } else {
                others_.push_back({reshape(g, {-1}), rest});
                rest += g.numel();
            }
        }
        ps_ = Tensor<T>::empty({ps});
        qs_ = Tensor<T>::empty({qs});
        rest_ = Tensor<T>::empty({rest});
    }

    /// All of it; what it returns owns `self`.
    static Future<AnyTensor> begin(std::shared_ptr<Compression> const& self) {
        auto& s = self->state_;
        self->add_error();
        self->start_qs();
        for (auto const& [g, at] : self->others_)
            copy(detail::view_of_elements(self->rest_, at, g.shape()), g);
        for (auto const& x : self->matrices_) copy(self->p(x), matmul(x.gradient, self->q(x)));
        auto const rest = self->sum(self->rest_, " (what is not compressed)"),
                   ps = self->sum(self->ps_, " (P)");
        s.bytes_sent_ +=
            static_cast<double>((self->rest_.numel() + self->ps_.numel() + self->qs_.numel()) *
                                detail::bytes_sent(dtype_of<T>));
        s.bytes_of_gradients_ += static_cast<double>(self->buffer_.numel() * sizeof(T));
        return rest.then([ps](AnyTensor const&) { return ps; })
            .then([self](AnyTensor const&) {
                NoGradGuard const off;
                for (auto const& x : self->matrices_) {
                    self->orthogonalize(self->p(x), [] { return T(0); });
                    copy(self->q(x), matmul(adjoint(x.gradient), self->p(x)));
                }
                return self->sum(self->qs_, " (Q)");
            })
            .then([self](AnyTensor const&) -> AnyTensor {
                NoGradGuard const off;
                self->decompress();
                return self->buffer_;
            });
    }

private:
    struct Matrix {
        Tensor<T> gradient; // a view of the buffer
        std::size_t rank, p, q;
    };
    struct Other {
        Tensor<T> gradient;
        std::size_t at;
    };

    static void copy(AnyTensor const& to, Tensor<T> const& from) {
        xgrad::detail::overwrite(to, from);
    }
    static Tensor<T> adjoint(Tensor<T> const& x) {
        if constexpr (xgrad::detail::is_complex<T>) return Tensor<T>(conj(x)).transpose();
        else return x.transpose();
    }
    Tensor<T> p(Matrix const& x) const { return factor(ps_, x.p, x.gradient.shape()[0], x.rank); }
    Tensor<T> q(Matrix const& x) const { return factor(qs_, x.q, x.gradient.shape()[1], x.rank); }
    static Tensor<T> factor(
        Tensor<T> const& of, std::size_t at, std::size_t rows, std::size_t columns) {
        return detail::view_of_elements(of, at, {rows, columns}).template as<T>();
    }
    Future<AnyTensor> sum(Tensor<T> const& t, std::string const& what) const {
        if (t.numel() == 0)
            return Future<AnyTensor>::of(
                t); // so on all ranks, whose parameters have the same shapes
        return state_.group_.allreduce_async(t, Reduction::sum, name_ + what);
    }

    void add_error() {
        if (!state_.options_.use_error_feedback) return;
        if (memory_.error.defined() && memory_.error.shape() == buffer_.shape() &&
            memory_.error.dtype() == buffer_.dtype())
            xgrad::detail::type_info<T>.add_in_place(buffer_, memory_.error);
        input_ = xgrad::detail::value_copy(buffer_).template as<T>();
    }
    /// Those of the pass before, or random ones; with orthonormal columns. A column of the pass
    /// before is 0 where the gradient was, or had a lower rank: it begins anew.
    void start_qs() {
        std::normal_distribution<double> normal;
        auto const next = [&] { return static_cast<precision_of<T>>(normal(state_.generator_)); };
        auto const random = [&] {
            if constexpr (xgrad::detail::is_complex<T>) {
                auto const re = next();
                return T(re, next());
            } else return next();
        };
        if (state_.options_.warm_start && memory_.qs.defined() &&
            memory_.qs.numel() == qs_.numel() && memory_.qs.dtype() == qs_.dtype())
            copy(qs_, memory_.qs.template as<T>());
        else std::generate(qs_.array_of().begin(), qs_.array_of().end(), random);
        for (auto const& x : matrices_) orthogonalize(q(x), random);
    }
    /// Gram and Schmidt, column by column. A column that depends on those before it, of which only
    /// rounding errors would be left, is filled by `replacement` first.
    template <class F> void orthogonalize(Tensor<T> const& t, F replacement) const {
        using Real = precision_of<T>;
        std::size_t const rows = t.shape()[0], columns = t.shape()[1];
        T* const x = t.array_of().begin();
        auto const product = [&](std::size_t a,
                                 std::size_t b) { // of the conjugate of column a with column b
            T s(0);
            for (std::size_t i = 0; i < rows; ++i) {
                if constexpr (xgrad::detail::is_complex<T>)
                    s += std::conj(x[i * columns + a]) * x[i * columns + b];
                else s += x[i * columns + a] * x[i * columns + b];
            }
            return s;
        };
        auto const length = [&](std::size_t c) { return std::sqrt(std::real(product(c, c))); };
        auto const project = [&](std::size_t c) {
            for (std::size_t before = 0; before < c; ++before) {
                T const part = product(before, c);
                for (std::size_t i = 0; i < rows; ++i)
                    x[i * columns + c] -= part * x[i * columns + before];
            }
        };
        for (std::size_t c = 0; c < columns; ++c) {
            Real const whole = length(c);
            project(c);
            if (!(length(c) > 100 * std::numeric_limits<Real>::epsilon() * whole)) {
                for (std::size_t i = 0; i < rows; ++i) x[i * columns + c] = replacement();
                project(c);
            }
            project(c); // the first one leaves an error of eps * whole / length(c)
            Real const by =
                length(c) + static_cast<Real>(state_.options_.orthogonalization_epsilon);
            for (std::size_t i = 0; i < rows; ++i)
                x[i * columns + c] = by > 0 ? x[i * columns + c] / by : T(0);
        }
    }
    void decompress() {
        auto const by = static_cast<precision_of<T>>(state_.group_.size());
        for (auto const& x : matrices_)
            copy(x.gradient, Tensor<T>(matmul(p(x), adjoint(q(x))) / by));
        for (auto const& [g, at] : others_)
            copy(
                g, Tensor<T>(detail::view_of_elements(rest_, at, g.shape()).template as<T>() / by));
        if (state_.options_.use_error_feedback) memory_.error = Tensor<T>(input_ - buffer_);
        if (state_.options_.warm_start) memory_.qs = qs_;
    }

    PowerSGDState& state_;
    Tensor<T> buffer_, input_, ps_, qs_, rest_;
    Memory& memory_;
    std::string name_;
    std::vector<Matrix> matrices_;
    std::vector<Other> others_;
};

/// The mean over the ranks, where gradients that are matrices (the first axis against all others)
/// travel as factors of a low rank; the others as they are. Register it with a PowerSGDState, whose
/// first passes take the plain mean.
inline Future<AnyTensor> powerSGD_hook(PowerSGDState& state, GradBucket& bucket) {
    bool const compresses = state.iteration_ >= state.options_.start_powerSGD_iter;
    if (bucket.is_last()) ++state.iteration_;
    if (!compresses) {
        auto const& buffer = bucket.buffer();
        auto const n = static_cast<double>(buffer.numel());
        state.bytes_sent_ += n * static_cast<double>(detail::bytes_sent(buffer.dtype()));
        state.bytes_of_gradients_ += n * static_cast<double>(buffer.impl().type->size);
        return allreduce_hook(state.group_, bucket);
    }
    NoGradGuard const off;
    return xgrad::detail::with_type(
        bucket.buffer(), [&]<Scalar T>(Tensor<T> const&) -> Future<AnyTensor> {
            if constexpr (Differentiable<T>) {
                using Compression = PowerSGDState::Compression<T>;
                return Compression::begin(std::make_shared<Compression>(state, bucket));
            } else
                detail::fail<TypeError>(
                    "powerSGD_hook: elements of type ", name(dtype_of<T>), " are no gradients");
        });
}

} // namespace xgrad::distributed

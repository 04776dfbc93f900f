// ProcessGroup: the ranks of a communicator, and what they do together. Each function is called by
// all ranks, in the same order and with the same shapes and scalar types; the group checks that.
//
// Shapes: all ranks give the same shape. reduce_scatter() divides the first extent by the number of
// ranks, allgather() gives a tensor of that shape for each rank.
// Gradients: none are recorded: sum_over_ranks.hpp has the sum that is differentiated.
// Errors: DistributedError where the ranks differ, stop or do not answer within the time limit;
// IndexError for a root that is no rank; ShapeError for rows that cannot be divided, and for more
// elements than MPI counts; TypeError for elements that cannot be reduced so.
#pragma once

#include <xgrad_distributed/group_state.hpp>
#include <xgrad_distributed/sent_elements.hpp>

namespace xgrad::distributed {

/// A handle to a group of ranks; copies are the same group. Tensors are changed in place and
/// unrecorded. The last argument of each function names the tensor in errors. Functions that end in
/// _async return a future at once; until it is ready, the elements must neither be read nor
/// changed. Each function takes other memory than that of a tensor, too: numbers of any type, and
/// bytes, without gaps.
class ProcessGroup {
public:
    /// A group of all ranks of a communicator, which all make it. Its messages do not meet those of
    /// the program.
    explicit ProcessGroup(MPI_Comm communicator = MPI_COMM_WORLD, GroupOptions const& options = {})
        : state_(std::make_shared<detail::GroupState>(communicator, options)) {
        state_->join_polling();
    }

    /// Another group of the same ranks, which all make it. Its operations have an order of their
    /// own.
    ProcessGroup duplicate() const { return ProcessGroup(state_->communicator(), options()); }

    /// This process in the group, and the number of processes.
    int rank() const noexcept { return state_->rank(); }
    int size() const noexcept { return state_->size(); }
    GroupOptions const& options() const noexcept { return state_->options(); }

    /// The elements of rank `root`, for all.
    void broadcast(AnyTensor const& t, int root = 0, std::string name = {}) const {
        broadcast_async(t, root, std::move(name)).wait();
    }
    Future<AnyTensor> broadcast_async(
        AnyTensor const& t, int root = 0, std::string name = {}) const {
        return begin_broadcast(detail::SentElements(t), root, std::move(name), [t] { return t; });
    }
    /// That of memory which is no tensor.
    template <WritableRange R> void broadcast(R&& r, int root = 0, std::string name = {}) const {
        broadcast_async(r, root, std::move(name)).wait();
    }
    template <WritableRange R>
    Future<Done> broadcast_async(R&& r, int root = 0, std::string name = {}) const {
        return begin_broadcast(
            detail::SentElements::of(r), root, std::move(name), [] { return Done{}; });
    }

    /// The sum of the elements of all ranks, or another reduction, for all. All ranks get the same
    /// bits.
    void allreduce(AnyTensor const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        allreduce_async(t, by, std::move(name)).wait();
    }
    Future<AnyTensor> allreduce_async(
        AnyTensor const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        return begin_allreduce(detail::SentElements(t, by), by, std::move(name), [t] { return t; });
    }
    /// That of memory which is no tensor. Integers wrap around.
    template <WritableRange R>
    void allreduce(R&& r, Reduction by = Reduction::sum, std::string name = {}) const {
        allreduce_async(r, by, std::move(name)).wait();
    }
    template <WritableRange R>
    Future<Done> allreduce_async(
        R&& r, Reduction by = Reduction::sum, std::string name = {}) const {
        return begin_allreduce(
            detail::SentElements::of(r), by, std::move(name), [] { return Done{}; });
    }

    /// Reduces a tensor of shape [size() * n, ...] and gives each rank its n rows: rank 0 the
    /// first. The argument stays as it is.
    template <Scalar T>
    Tensor<T> reduce_scatter(
        Tensor<T> const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        return reduce_scatter_async(t, by, std::move(name)).get().template as<T>();
    }
    Future<AnyTensor> reduce_scatter_async(
        AnyTensor const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        check_rows(t.dim(), t.shape());
        Shape shape = t.shape();
        shape[0] /= static_cast<std::size_t>(size());
        AnyTensor const rows(xgrad::detail::TensorImpl::make(*t.impl().type, shape));
        return begin_reduce_scatter(detail::SentElements(t, by),
            detail::SentElements(rows, by, false), by, std::move(name), [rows] { return rows; });
    }
    /// That of size() * n elements which are no tensor.
    template <SentRange R>
    auto reduce_scatter(R&& r, Reduction by = Reduction::sum, std::string name = {}) const {
        return reduce_scatter_async(std::forward<R>(r), by, std::move(name)).get();
    }
    template <SentRange R>
    auto reduce_scatter_async(R&& r, Reduction by = Reduction::sum, std::string name = {}) const {
        using T = std::ranges::range_value_t<R>;
        auto const n = static_cast<std::size_t>(std::ranges::size(r));
        check_rows(1, {n});
        auto const mine = std::make_shared<std::vector<T>>(n / static_cast<std::size_t>(size()));
        return begin_reduce_scatter(detail::SentElements::of(std::forward<R>(r)),
            detail::SentElements::of(*mine), by, std::move(name),
            [mine] { return std::move(*mine); });
    }

    /// The tensors of all ranks, by rank; they have one shape.
    template <Scalar T>
    std::vector<Tensor<T>> allgather(Tensor<T> const& t, std::string name = {}) const {
        std::vector<Tensor<T>> all;
        for (auto const& each : allgather_async(t, std::move(name)).get())
            all.push_back(each.template as<T>());
        return all;
    }
    Future<std::vector<AnyTensor>> allgather_async(
        AnyTensor const& t, std::string name = {}) const {
        auto const ranks = static_cast<std::size_t>(size());
        AnyTensor const flat(
            xgrad::detail::TensorImpl::make(*t.impl().type, Shape{ranks * t.numel()}));
        return begin_allgather(detail::SentElements(t),
            detail::SentElements(flat, Reduction::sum, false), std::move(name),
            [flat, ranks, shape = t.shape()] {
                std::vector<AnyTensor> all;
                for (std::size_t i = 0; i < ranks; ++i)
                    all.push_back(detail::view_of_elements(flat, i * numel(shape), shape));
                return all;
            });
    }
    /// Those of memory which is no tensor; all ranks have equally many elements.
    template <SentRange R> auto allgather(R&& r, std::string name = {}) const {
        return allgather_async(std::forward<R>(r), std::move(name)).get();
    }
    template <SentRange R> auto allgather_async(R&& r, std::string name = {}) const {
        using T = std::ranges::range_value_t<R>;
        auto const n = static_cast<std::size_t>(std::ranges::size(r));
        auto const ranks = static_cast<std::size_t>(size());
        auto const all = std::make_shared<T[]>(n * ranks);
        return begin_allgather(detail::SentElements::of(std::forward<R>(r)),
            detail::SentElements::of(std::span(all.get(), n * ranks)), std::move(name),
            [all, n, ranks] {
                std::vector<std::vector<T>> by_rank;
                for (std::size_t i = 0; i < ranks; ++i)
                    by_rank.emplace_back(all.get() + i * n, all.get() + (i + 1) * n);
                return by_rank;
            });
    }

    /// Returns when all ranks have come here.
    void barrier() const { barrier_async().wait(); }
    Future<Done> barrier_async() const {
        // the check is a barrier already: it ends when every rank has begun
        return state_->begin({.operation = "barrier", .name = {}}, {}, [] { return Done{}; });
    }

    /// Calls f on one rank, while the others wait. What it throws there, all ranks throw: that rank
    /// its own exception, the others DistributedError with its text; the group goes on. For what
    /// one rank does for all, such as writing a file.
    template <class F> void run_on(int rank, F f) const {
        check_root("run_on", rank);
        std::string text;
        std::exception_ptr thrown;
        if (rank == this->rank()) try {
                f();
            } catch (std::exception const& e) {
                thrown = std::current_exception();
                text = std::string("rank ") + std::to_string(rank) + ": " + e.what();
            } catch (...) {
                thrown = std::current_exception();
                text = "rank " + std::to_string(rank) + ": an exception that is no std::exception";
            }
        std::uint64_t length[] = {text.size()};
        broadcast(length, rank, "the length of an error's text");
        if (length[0] == 0) return;
        text.resize(length[0]);
        broadcast(text, rank, "an error's text");
        if (thrown) std::rethrow_exception(thrown);
        detail::fail<DistributedError>(text);
    }

    /// Makes this group fail: here at once, and on the other ranks when they next wait or poll,
    /// with this text. For a rank that cannot go on. Whatever is called afterwards throws
    /// DistributedError.
    void stop(std::string_view why) const noexcept { state_->stop(why); }
    /// Makes operations go on without waiting.
    void poll() const noexcept { state_->poll(); }
    /// Throws DistributedError where the group has failed.
    void check_health() const { state_->check_health(); }

    /// For operations that are not here.
    detail::GroupState& state() const noexcept { return *state_; }

private:
    template <class R> using FutureOf = Future<std::invoke_result_t<R&>>;

    /// Begins an operation that sends `e`, and writes to `into`.
    template <class Call, class R>
    FutureOf<R> begin(detail::Signature signature, detail::SentElements const& e,
        detail::SentElements const& into, Call call, R result) const {
        signature.type = e.type_name();
        signature.shape = e.shape();
        return state_->begin(std::move(signature), std::move(call), [into, result] {
            into.written();
            return result();
        });
    }
    template <class R>
    FutureOf<R> begin_broadcast(
        detail::SentElements const& e, int root, std::string name, R result) const {
        check_root("broadcast", root);
        auto const n = detail::mpi_count("broadcast", e.count());
        return begin(
            {.operation = "broadcast", .name = std::move(name), .root = root}, e, e,
            [e, n, root](MPI_Comm c, MPI_Request* r) {
                return MPI_Ibcast(e.data(), n, e.type(), root, c, r);
            },
            result);
    }
    template <class R>
    FutureOf<R> begin_allreduce(
        detail::SentElements const& e, Reduction by, std::string name, R result) const {
        auto const op = e.op("allreduce", by);
        auto const n = detail::mpi_count("allreduce", e.count());
        return begin(
            {.operation = "allreduce", .name = std::move(name), .reduction = by}, e, e,
            [e, n, op](MPI_Comm c, MPI_Request* r) {
                return MPI_Iallreduce(MPI_IN_PLACE, e.data(), n, e.type(), op, c, r);
            },
            result);
    }
    template <class R>
    FutureOf<R> begin_reduce_scatter(detail::SentElements const& e,
        detail::SentElements const& rows, Reduction by, std::string name, R result) const {
        auto const op = e.op("reduce_scatter", by);
        auto const n = detail::mpi_count("reduce_scatter", rows.count());
        return begin(
            {.operation = "reduce_scatter", .name = std::move(name), .reduction = by}, e, rows,
            [e, rows, n, op](MPI_Comm c, MPI_Request* r) {
                return MPI_Ireduce_scatter_block(e.data(), rows.data(), n, rows.type(), op, c, r);
            },
            result);
    }
    template <class R>
    FutureOf<R> begin_allgather(detail::SentElements const& e, detail::SentElements const& all,
        std::string name, R result) const {
        auto const n = detail::mpi_count("allgather", e.count());
        return begin(
            {.operation = "allgather", .name = std::move(name)}, e, all,
            [e, all, n](MPI_Comm c, MPI_Request* r) {
                return MPI_Iallgather(e.data(), n, e.type(), all.data(), n, all.type(), c, r);
            },
            result);
    }
    void check_rows(std::size_t dim, Shape const& shape) const {
        if (dim == 0 || shape[0] % static_cast<std::size_t>(size()) != 0)
            detail::fail<ShapeError>("reduce_scatter: the rows of a tensor of shape ", shape,
                " cannot be divided among ", size(), " ranks");
    }
    void check_root(std::string_view operation, int root) const {
        if (root < 0 || root >= size())
            detail::fail<IndexError>(operation, ": there is no rank ", root, " among ", size());
    }

    std::shared_ptr<detail::GroupState> state_;
};

namespace detail {

/// In the handler of an exception: makes the group fail with its text, or with `otherwise` where it
/// has none.
inline void stop_by_exception(ProcessGroup const& group, std::string_view otherwise) noexcept {
    try {
        throw;
    } catch (std::exception const& e) { group.stop(e.what()); } catch (...) {
        group.stop(otherwise);
    }
}

} // namespace detail

/// Seeds this thread's random numbers, another stream on each rank.
inline void manual_seed(ProcessGroup const& group, std::uint64_t seed) {
    // the step is odd, so that seeds of different ranks differ; the generator mixes them
    xgrad::manual_seed(seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(group.rank()));
}

} // namespace xgrad::distributed

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

#include <xgrad/distributed/group_state.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::distributed {

namespace detail {

/// The elements of a tensor as MPI takes them, without gaps. Where the tensor has others, they are
/// copied, and back at the end.
class ContiguousElements {
public:
    explicit ContiguousElements(AnyTensor const& t)
        : tensor_(t), elements_(t.is_contiguous() ? t : xgrad::detail::value_copy(t)) {}
    void* data() const noexcept { return elements_.impl().array.data; }
    AnyTensor const& tensor() const noexcept { return tensor_; }
    /// The elements have changed.
    AnyTensor written() const {
        if (elements_.is_same(tensor_)) tensor_.impl().array.storage->bump();
        else xgrad::detail::overwrite(tensor_, elements_);
        return tensor_;
    }

private:
    AnyTensor tensor_, elements_;
};

/// A view of `count` elements of a one-dimensional tensor from `start` on, with a shape of as many
/// elements. Unrecorded.
inline AnyTensor view_of_elements(AnyTensor const& flat, std::size_t start, Shape const& shape) {
    auto a = flat.impl().array;
    a.set_view(shape, xgrad::detail::row_major(shape),
        static_cast<std::ptrdiff_t>(start * flat.impl().type->size));
    return AnyTensor(xgrad::detail::TensorImpl::make(*flat.impl().type, std::move(a)));
}

} // namespace detail

/// A handle to a group of ranks; copies are the same group. Tensors are changed in place and
/// unrecorded. The last argument of each function names the tensor in errors. Functions that end in
/// _async return a future at once; until it is ready, the elements must neither be read nor
/// changed.
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
        check_root("broadcast", root);
        detail::ContiguousElements const e(t);
        auto const n = detail::mpi_count("broadcast", t.numel());
        return state_->begin(
            {.operation = "broadcast",
                .name = std::move(name),
                .dtype = t.dtype(),
                .shape = t.shape(),
                .root = root},
            [e, n, root](MPI_Comm c, MPI_Request* r) {
                return MPI_Ibcast(e.data(), n, detail::mpi_type(e.tensor().dtype()), root, c, r);
            },
            [e] { return e.written(); });
    }

    /// The sum of the elements of all ranks, or another reduction, for all. All ranks get the same
    /// bits.
    void allreduce(AnyTensor const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        allreduce_async(t, by, std::move(name)).wait();
    }
    Future<AnyTensor> allreduce_async(
        AnyTensor const& t, Reduction by = Reduction::sum, std::string name = {}) const {
        auto const op = detail::mpi_op("allreduce", by, t.dtype());
        detail::ContiguousElements const e(t);
        auto const n = detail::mpi_count("allreduce", t.numel());
        return state_->begin(
            {.operation = "allreduce",
                .name = std::move(name),
                .dtype = t.dtype(),
                .shape = t.shape(),
                .reduction = by},
            [e, n, op](MPI_Comm c, MPI_Request* r) {
                return MPI_Iallreduce(
                    MPI_IN_PLACE, e.data(), n, detail::mpi_type(e.tensor().dtype()), op, c, r);
            },
            [e] { return e.written(); });
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
        auto const ranks = static_cast<std::size_t>(size());
        if (t.dim() == 0 || t.shape()[0] % ranks != 0)
            detail::fail<ShapeError>("reduce_scatter: the rows of a tensor of shape ", t.shape(),
                " cannot be divided among ", ranks, " ranks");
        auto const op = detail::mpi_op("reduce_scatter", by, t.dtype());
        detail::ContiguousElements const e(t);
        Shape shape = t.shape();
        shape[0] /= ranks;
        AnyTensor const rows(xgrad::detail::TensorImpl::make(*t.impl().type, shape));
        auto const n = detail::mpi_count("reduce_scatter", rows.numel());
        return state_->begin(
            {.operation = "reduce_scatter",
                .name = std::move(name),
                .dtype = t.dtype(),
                .shape = t.shape(),
                .reduction = by},
            [e, rows, n, op](MPI_Comm c, MPI_Request* r) {
                return MPI_Ireduce_scatter_block(
                    e.data(), rows.impl().array.data, n, detail::mpi_type(rows.dtype()), op, c, r);
            },
            [rows] { return rows; });
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
        detail::ContiguousElements const e(t);
        auto const ranks = static_cast<std::size_t>(size());
        auto const n = detail::mpi_count("allgather", t.numel());
        AnyTensor const flat(
            xgrad::detail::TensorImpl::make(*t.impl().type, Shape{ranks * t.numel()}));
        return state_->begin(
            {.operation = "allgather",
                .name = std::move(name),
                .dtype = t.dtype(),
                .shape = t.shape()},
            [e, flat, n](MPI_Comm c, MPI_Request* r) {
                auto const type = detail::mpi_type(flat.dtype());
                return MPI_Iallgather(e.data(), n, type, flat.impl().array.data, n, type, c, r);
            },
            [flat, ranks, shape = t.shape()] {
                std::vector<AnyTensor> all;
                for (std::size_t i = 0; i < ranks; ++i)
                    all.push_back(detail::view_of_elements(flat, i * numel(shape), shape));
                return all;
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
        Tensor<std::int64_t> const length(static_cast<std::int64_t>(text.size()));
        broadcast(length, rank, "the length of an error's text");
        if (length.item() == 0) return;
        auto const buffer = Tensor<bool>::empty({static_cast<std::size_t>(length.item())});
        static_assert(sizeof(bool) == 1);
        if (thrown) text.copy(reinterpret_cast<char*>(buffer.impl().array.data), text.size());
        state_
            ->begin(
                {.operation = "broadcast",
                    .name = "an error's text",
                    .dtype = DType::boolean,
                    .shape = buffer.shape(),
                    .root = rank},
                [buffer, rank](MPI_Comm c, MPI_Request* r) {
                    return MPI_Ibcast(buffer.impl().array.data, static_cast<int>(buffer.numel()),
                        MPI_BYTE, rank, c, r);
                },
                [] { return Done{}; })
            .wait();
        if (thrown) std::rethrow_exception(thrown);
        throw DistributedError(
            std::string(reinterpret_cast<char const*>(buffer.impl().array.data), buffer.numel()));
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
    void check_root(std::string_view operation, int root) const {
        if (root < 0 || root >= size())
            detail::fail<IndexError>(operation, ": there is no rank ", root, " among ", size());
    }

    std::shared_ptr<detail::GroupState> state_;
};

/// Seeds this thread's random numbers, another stream on each rank.
inline void manual_seed(ProcessGroup const& group, std::uint64_t seed) {
    // the step is odd, so that seeds of different ranks differ; the generator mixes them
    xgrad::manual_seed(seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(group.rank()));
}

} // namespace xgrad::distributed

// Environment: the scope between MPI_Init and MPI_Finalize.
//
// Errors: DistributedError where MPI cannot be started.
#pragma once

#include <xgrad_distributed/group_state.hpp>

namespace xgrad::distributed {

/// Starts MPI, and ends it with its scope: the first object in main(). Where MPI runs already, it
/// does neither. The scope ends when all ranks have come to the end of theirs. Where a group has
/// failed, or a rank is gone, it ends without MPI_Finalize, which would wait for ever; mpirun then
/// ends the job when this process exits, unless it was told to let the others go on.
class Environment {
public:
    /// The thread level is what MPI is asked for: MPI_THREAD_MULTIPLE for groups with a
    /// progress_interval. `timeout` is how long the end of the scope waits for the other ranks, if
    /// not as long as they run.
    explicit Environment(int thread_level = MPI_THREAD_SERIALIZED,
        std::chrono::milliseconds timeout = std::chrono::years(100)) {
        if (detail::mpi_runs()) return;
        int provided = 0;
        detail::check(
            MPI_Init_thread(nullptr, nullptr, thread_level, &provided), "MPI_Init_thread");
        all_ =
            std::make_shared<detail::GroupState>(MPI_COMM_WORLD, GroupOptions{.timeout = timeout});
    }
    Environment(Environment const&) = delete;
    Environment& operator=(Environment const&) = delete;
    ~Environment() {
        if (!all_ || !detail::mpi_runs()) return;
        if (!detail::a_group_failed) wait_for_all();
        if (detail::a_group_failed) {
            all_->stop("left main() after an error");
            all_->deliver_notice();
            detail::GroupState::deliver_notices();
            return;
        }
        all_.reset();
        MPI_Finalize();
    }

private:
    /// Where a rank has left without MPI_Finalize, this group fails.
    void wait_for_all() noexcept {
        try {
            all_->begin({.operation = "barrier", .name = "the end of main()"}, {},
                    [] { return Done{}; })
                .wait();
        } catch (std::exception const&) { detail::a_group_failed = true; }
    }

    std::shared_ptr<detail::GroupState> all_; // of MPI_COMM_WORLD; null where MPI ran already
};

} // namespace xgrad::distributed

// GroupState: the operations that a group of ranks has begun. Each goes through three steps, in the
// order in which it was begun:
//
//   1. check   a hash of its signature is compared among the ranks (MPI_Iallreduce of 16 bytes);
//   2. data    the call of MPI that moves the elements, begun when all checks up to it have passed;
//   3. finish  its future gets the result.
//
// Nothing here blocks in MPI: poll() tests requests, wait() polls until a deadline. A thread of the
// group may do the first two steps, too; what the program sees, futures and failures, happens only
// in the threads that call the group. mutex_ guards all that the thread reads.
//
// Where an operation cannot end, the ranks exchange notices, which are plain messages, and every
// rank makes one error of them. A group that failed stays failed.
//
// Shapes: all ranks begin an operation with the same shape, which a hash compares.
// Errors: DistributedError, also for MPI that does not run, or not with MPI_THREAD_MULTIPLE if
// needed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include <xgrad_distributed/future.hpp>
#include <xgrad_distributed/group_operation.hpp>
#include <xgrad_distributed/notices.hpp>

namespace xgrad::distributed {

/// Options of ProcessGroup.
struct GroupOptions {
    /// How long a wait may last in which no operation ends: within this time it throws
    /// DistributedError. The last third of it, at most 5 s, is for hearing what the other ranks do.
    std::chrono::milliseconds timeout = std::chrono::minutes(10);
    /// Where it is not 0, a thread of the group calls MPI at this interval while operations are
    /// under way, so that elements move while the program computes. It needs MPI_THREAD_MULTIPLE
    /// (see Environment), and pays where a core is free for it.
    std::chrono::microseconds progress_interval{0};
};

namespace detail {

class GroupState final : public Progress, public std::enable_shared_from_this<GroupState> {
public:
    GroupState(MPI_Comm of, GroupOptions const& options) : options_(options) {
        if (!mpi_runs())
            fail<DistributedError>("ProcessGroup: MPI does not run; begin main() with "
                                   "xgrad::distributed::Environment");
        int level = 0;
        MPI_Query_thread(&level);
        if (options.progress_interval.count() > 0 && level < MPI_THREAD_MULTIPLE)
            fail<DistributedError>("ProcessGroup: progress_interval needs MPI_THREAD_MULTIPLE; "
                                   "begin main() with "
                                   "xgrad::distributed::Environment(MPI_THREAD_MULTIPLE)");
        data_ = duplicate(of);
        control_ = duplicate(of);
        MPI_Comm_rank(data_, &rank_);
        MPI_Comm_size(data_, &size_);
        notices_.begin(control_, [this](MPI_Request request) { wait_for_ranks(request); });
        if (options.progress_interval.count() > 0) thread_ = std::thread([this] { progress(); });
    }
    GroupState(GroupState const&) = delete;
    GroupState& operator=(GroupState const&) = delete;
    ~GroupState() override {
        if (thread_.joinable()) {
            {
                std::lock_guard const lock(mutex_);
                ends_ = true;
            }
            wakes_.notify_one();
            thread_.join();
        }
        std::erase(groups(), this);
        if (failed() || !mpi_runs()) return;
        if (Notice notice;
            notices_.receive(notice)) { // the others gave up, and this rank did not hear it
            a_group_failed = true;
            return;
        }
        MPI_Comm_free(&data_);
        MPI_Comm_free(&control_);
    }

    MPI_Comm communicator() const noexcept { return data_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    GroupOptions const& options() const noexcept { return options_; }
    bool failed() const noexcept { return !error_.empty(); }
    /// From now on every wait in a group lets this one go on, too.
    void join_polling() { groups().push_back(this); }
    /// Throws where the group has failed.
    void check_health() const {
        if (failed()) fail<DistributedError>(error_);
    }

    /// Begins an operation: begin_data(communicator, request) calls MPI, and result() makes what
    /// the future gets.
    template <class R>
    auto begin(
        Signature signature, std::function<int(MPI_Comm, MPI_Request*)> begin_data, R result) {
        using T = decltype(result());
        auto state = std::make_shared<FutureState<T>>();
        if (failed()) {
            state->fail(std::make_exception_ptr(DistributedError(error_)));
            return Future<T>(std::move(state));
        }
        state->progress = shared_from_this();
        auto operation = std::make_unique<Operation>();
        operation->signature = std::move(signature);
        operation->begin_data = std::move(begin_data);
        operation->finish = [state, result = std::move(result)](std::exception_ptr error) mutable {
            if (error) return state->fail(std::move(error));
            std::optional<T> value;
            try {
                value.emplace(result());
            } catch (...) { return state->fail(std::current_exception()); }
            state->set(*std::move(value));
        };
        auto const h = operation->signature.hash();
        operation->agreed[0] = h, operation->agreed[1] = ~h;
        {
            std::lock_guard const lock(mutex_);
            operation->position = begun_++;
            auto& begun = *operations_.emplace_back(std::move(operation));
            begun.code = MPI_Iallreduce(
                MPI_IN_PLACE, begun.agreed, 2, MPI_UINT64_T, MPI_MIN, control_, &begun.check);
        }
        poll();
        if (thread_.joinable()) wakes_.notify_one();
        return Future<T>(std::move(state));
    }

    void poll() noexcept override {
        if (failed() || failing_) return;
        std::shared_ptr<GroupState> keep; // a future that ends may have been the last that has it
        std::lock_guard const lock(mutex_);
        receive_notices();
        if (failed()) return;
        advance_all();
        bool passed = true;
        for (auto const& operation : operations_) {
            if (operation->code != MPI_SUCCESS) return call_failed(operation->code);
            if (operation->step == Operation::Step::check) passed = false;
            if (passed && operation->step == Operation::Step::waits) {
                disagreement_ = operation->position;
                return give_up(Notice::mismatch, operation->signature.text());
            }
        }
        while (!operations_.empty() && operations_.front()->step == Operation::Step::done) {
            if (!keep) keep = shared_from_this();
            auto const operation = std::move(operations_.front());
            operations_.pop_front();
            ++ended_;
            operation->finish(nullptr);
        }
    }

    void wait(AnyFutureState const& state) noexcept override {
        using Clock = std::chrono::steady_clock;
        auto const keep = shared_from_this();
        auto since = Clock::now(), looked = since;
        auto ended = ended_;
        for (std::size_t idle = 0; !state.ready; ++idle) {
            poll();
            poll_others();
            if (ended != ended_) {
                ended = ended_, idle = 0;
                since = Clock::now();
            } else if (idle > spins) {
                auto const now = Clock::now();
                if (now - looked > time_between_looks) {
                    looked = now;
                    look_for_processes(state);
                }
                if (now - since > options_.timeout - time_to_hear()) {
                    std::lock_guard const lock(mutex_);
                    give_up(Notice::timeout, waiting_text());
                }
                if (idle < 4 * spins) std::this_thread::yield();
                else std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        }
    }

    /// Makes the group fail here, and on the other ranks as soon as they wait or poll.
    void stop(std::string_view why) noexcept {
        if (failed() || failing_ || !mpi_runs()) return;
        std::lock_guard const lock(mutex_);
        give_up(Notice::stopped, why);
    }

    /// Waits until the notice of this group has left, at most a second: before this process exits.
    void deliver_notice() noexcept { notices_.deliver(); }
    /// Of all groups.
    static void deliver_notices() noexcept {
        for (auto* const group : groups()) group->deliver_notice();
    }

private:
    static constexpr std::size_t spins = 2000;
    static constexpr std::chrono::milliseconds time_between_looks{200};

    static std::vector<GroupState*>& groups() {
        static std::vector<GroupState*> all;
        return all;
    }
    /// A rank that waits in one group must go on in the others: ranks may wait for its part there
    /// before they come here.
    void poll_others() const noexcept {
        for (std::size_t i = 0; i < groups().size(); ++i) // it may end there
            if (groups()[i] != this) groups()[i]->poll();
    }

    MPI_Comm duplicate(MPI_Comm of) const {
        MPI_Comm const made = received(
            MPI_COMM_NULL,
            [of](MPI_Comm& to, MPI_Request& request) {
                check(MPI_Comm_idup(of, &to, &request), "MPI_Comm_idup");
            },
            [this](MPI_Request request) { wait_for_ranks(request); });
        MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        return made;
    }
    /// Waits for a request that all ranks begin when they make this group.
    void wait_for_ranks(MPI_Request request) const {
        auto const begin = std::chrono::steady_clock::now();
        for (int done = 0; !done;) {
            check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done) break;
            if (std::chrono::steady_clock::now() - begin > options_.timeout) {
                a_group_failed = true;
                fail<DistributedError>(
                    "ProcessGroup: not all ranks of the communicator came within ", seconds(),
                    ": a rank was killed, or does not make this group");
            }
            poll_others();
            std::this_thread::yield();
        }
    }
    /// Gives up where a rank of this machine is gone.
    [[gnu::cold]] void look_for_processes(AnyFutureState const& state) noexcept {
        auto const ended = notices_.find_ended();
        if (!ended) return;
        // what it has sent before is here, and MPI hands it over in several steps
        auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (!state.ready && std::chrono::steady_clock::now() < end) poll();
        if (state.ready) return;
        std::lock_guard const lock(mutex_);
        notices_.mark_gone(*ended);
        give_up(Notice::gone, waiting_text());
    }
    std::string seconds() const {
        auto text = std::to_string(static_cast<double>(options_.timeout.count()) / 1000);
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
        return text + " s";
    }
    [[gnu::cold]] void call_failed(int code) noexcept {
        try {
            check(code, "MPI");
        } catch (std::exception const& e) { give_up(Notice::stopped, e.what()); }
    }

    /// Brings each operation as far as it goes without waiting. Stops at one whose ranks do not
    /// agree, or whose call of MPI failed. True where some are under way.
    bool advance_all() noexcept {
        bool passed = true, under_way = false; // all checks up to here
        for (auto& operation : operations_) {
            if (operation->code == MPI_SUCCESS) advance(*operation, passed);
            if (operation->code != MPI_SUCCESS) return false;
            if (operation->step != Operation::Step::done) under_way = true;
        }
        return under_way;
    }
    void advance(Operation& operation, bool& passed) noexcept {
        using Step = Operation::Step;
        int done = 0;
        if (operation.step == Step::check) {
            operation.code = MPI_Test(&operation.check, &done, MPI_STATUS_IGNORE);
            if (operation.code != MPI_SUCCESS) return;
            if (done) operation.step = Step::waits;
            else passed = false;
        }
        if (operation.step == Step::waits && passed) {
            if (!operation.ranks_agree()) {
                passed = false;
                return;
            }
            operation.step = Step::data;
            if (operation.begin_data) operation.code = operation.begin_data(data_, &operation.data);
            if (operation.code != MPI_SUCCESS) return;
        }
        if (operation.step != Step::data) return;
        done = 0;
        operation.code = MPI_Test(&operation.data, &done, MPI_STATUS_IGNORE);
        if (operation.code == MPI_SUCCESS && done) operation.step = Step::done;
    }
    /// What the thread of the group does. It sleeps where no operation is under way.
    void progress() noexcept {
        std::unique_lock lock(mutex_);
        while (!ends_) {
            if (advance_all()) wakes_.wait_for(lock, options_.progress_interval);
            else wakes_.wait(lock);
        }
    }

    std::string waiting_text() const {
        return operations_.empty() ? std::string("did not come")
                                   : operations_.front()->signature.text();
    }
    /// What this rank did at a position where another one found that the ranks disagree.
    std::string text_at(std::uint64_t position) const {
        for (auto const& operation : operations_)
            if (operation->position == position) return operation->signature.text();
        return "did not come";
    }

    /// Takes the messages that have come. The first makes this group fail, too.
    void receive_notices() noexcept {
        Notice notice;
        if (!notices_.receive(notice)) return;
        if (notice.reason == Notice::mismatch) {
            disagreement_ = notice.position;
            give_up(notice.reason, text_at(notice.position));
        } else give_up(notice.reason, waiting_text());
    }

    /// The group fails: tells the other ranks, hears what they have to tell, and hands the error to
    /// all futures. mutex_ is locked.
    [[gnu::cold]] void give_up(Notice::Reason reason, std::string_view text) noexcept {
        if (failed() || failing_) return;
        failing_ = true;
        ends_ = true;
        wakes_.notify_one();
        a_group_failed = true;
        try {
            // Requests that did not end, and notices, may still be read by MPI: nothing of this
            // group is freed.
            immortal_ = shared_from_this();
            if (!notices_.has_heard_any() || reason != Notice::stopped)
                notices_.tell(reason, disagreement_, text);
            if (reason != Notice::stopped) notices_.hear_others(time_to_hear());
            error_ = notices_.error_text(reason, seconds());
        } catch (...) { error_ = "a group of ranks failed, and there is no memory to tell why"; }
        auto const error = std::make_exception_ptr(DistributedError(error_));
        for (auto const& operation : operations_) operation->finish(error);
    }
    std::chrono::milliseconds time_to_hear() const {
        return std::min<std::chrono::milliseconds>(options_.timeout / 3, std::chrono::seconds(5));
    }

    GroupOptions options_;
    MPI_Comm data_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    std::uint64_t begun_ = 0, ended_ = 0, disagreement_ = 0;
    std::deque<std::unique_ptr<Operation>> operations_;
    bool failing_ = false;
    std::string error_;
    Notices notices_;
    std::shared_ptr<GroupState> immortal_;
    std::mutex mutex_;
    std::condition_variable wakes_;
    bool ends_ = false; // the thread
    std::thread thread_;
};

} // namespace detail
} // namespace xgrad::distributed

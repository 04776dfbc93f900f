// join(): training loops whose numbers of iterations differ among the ranks.
//
// Gradients: those that the joinables' hooks leave.
// Errors: Error without a joinable, for one that is in a join() already, for groups of different
// ranks, and for ranks with different numbers of iterations where that is asked for;
// DistributedError where the ranks differ, stop or do not answer.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <xgrad_distributed/process_group.hpp>

namespace xgrad::distributed {

/// Options of join(), which the joinables see, too.
struct JoinOptions {
    /// Of DistributedDataParallel: whether gradients are divided by the number of all ranks, or of
    /// those that still have input.
    bool divide_by_initial_world_size = true;
    bool enable = true; // without it join() only calls the training loop
    /// Whether all ranks throw an Error as soon as one has no more input.
    bool throw_on_early_termination = false;
};

/// What a rank whose training loop has ended does for one Joinable.
class JoinHook {
public:
    JoinHook() = default;
    JoinHook(JoinHook const&) = delete;
    JoinHook& operator=(JoinHook const&) = delete;
    virtual ~JoinHook() = default;
    /// Once for each iteration of the ranks that still have input: the collective operations of
    /// that iteration, in the same order.
    virtual void main_hook() {}
    /// Once on every rank, when all loops have ended. True on the ranks that ended last.
    virtual void post_hook(bool is_last_joiner) { static_cast<void>(is_last_joiner); }
};

class Joinable;

namespace detail {

/// What the joinables of one join() share.
class JoinContext {
public:
    JoinContext(
        std::vector<std::reference_wrapper<Joinable>> joinables, JoinOptions const& options);
    JoinContext(JoinContext const&) = delete;
    JoinContext& operator=(JoinContext const&) = delete;
    ~JoinContext();

    /// Calls the training loop, and then the hooks.
    template <class F> void run(F& f);
    /// Tells the others whether this rank has input. True while one has.
    bool announce(bool has_input);
    bool begins_with(Joinable const& j) const noexcept { return &joinables_.front().get() == &j; }
    int active_ranks() const noexcept { return active_; }
    int first_active_rank() const noexcept { return first_; }

private:
    /// In the handler of an exception.
    void stop_groups() const noexcept;

    std::vector<std::reference_wrapper<Joinable>> joinables_;
    JoinOptions options_;
    int active_, first_ = 0;
    bool terminates_ = false; // all ranks throw
};

} // namespace detail

/// An object whose member functions call collective operations in every iteration, such as
/// DistributedDataParallel. A copy is in no join().
class Joinable {
public:
    Joinable() = default;
    Joinable(Joinable const&) noexcept {}
    Joinable& operator=(Joinable const&) noexcept { return *this; }
    virtual ~Joinable() = default;

    /// Called by join() at its beginning; the hook lives until its end.
    virtual std::unique_ptr<JoinHook> join_hook(JoinOptions const& options) = 0;
    /// The ranks of these operations.
    virtual ProcessGroup const& join_process_group() const = 0;

    /// Called in every iteration before its collective operations. It tells the ranks whose loops
    /// have ended that this one goes on, where this is the first object of a join(); else it does
    /// nothing.
    void notify_join_context() {
        if (context_ && context_->begins_with(*this)) context_->announce(true);
    }
    /// Whether this object is in a join().
    bool is_joining() const noexcept { return context_; }
    /// How many ranks still have input, in the present iteration; all outside of join().
    int active_ranks() const {
        return context_ ? context_->active_ranks() : join_process_group().size();
    }
    /// The lowest of these; when all have ended, the lowest of those that ended last. 0 outside of
    /// join().
    int first_active_rank() const noexcept { return context_ ? context_->first_active_rank() : 0; }

private:
    friend class detail::JoinContext;

    detail::JoinContext* context_ = nullptr;
};

namespace detail {

inline JoinContext::JoinContext(
    std::vector<std::reference_wrapper<Joinable>> joinables, JoinOptions const& options)
    : joinables_(std::move(joinables)), options_(options) {
    if (joinables_.empty()) fail<Error>("join: at least one object is to be joined");
    auto const& group = joinables_.front().get().join_process_group();
    active_ = group.size();
    for (Joinable const& j : joinables_) {
        int same = MPI_UNEQUAL;
        check(MPI_Comm_compare(group.state().communicator(),
                  j.join_process_group().state().communicator(), &same),
            "MPI_Comm_compare");
        if (same != MPI_IDENT && same != MPI_CONGRUENT)
            fail<Error>("join: the groups of all objects must have the same ranks");
        if (j.context_) fail<Error>("join: one of the objects is in a join() already");
    }
    for (Joinable& j : joinables_) j.context_ = this;
}
inline JoinContext::~JoinContext() {
    for (Joinable& j : joinables_) j.context_ = nullptr;
}
inline bool JoinContext::announce(bool has_input) {
    auto const& group = joinables_.front().get().join_process_group();
    auto const all = group.allgather(
        std::array{static_cast<std::uint8_t>(has_input)}, "the ranks that have input");
    int first = -1;
    active_ = 0;
    for (int r = 0; r < group.size(); ++r)
        if (all[static_cast<std::size_t>(r)][0] && active_++ == 0) first = r;
    if (first >= 0) first_ = first;
    if (options_.throw_on_early_termination && first >= 0 && active_ < group.size()) {
        terminates_ = true;
        fail<Error>("join: Detected at least one rank that exhausted inputs. Throwing across all "
                    "ranks.");
    }
    return first >= 0;
}
inline void JoinContext::stop_groups() const noexcept {
    if (terminates_) return;
    for (Joinable const& j : joinables_)
        stop_by_exception(j.join_process_group(), "an exception ended its training loop");
}
template <class F> void JoinContext::run(F& f) {
    try {
        std::vector<std::unique_ptr<JoinHook>> hooks;
        for (Joinable& j : joinables_) hooks.push_back(j.join_hook(options_));
        f();
        bool is_last = true;
        while (announce(false)) {
            is_last = false;
            for (auto const& hook : hooks) hook->main_hook();
        }
        for (auto const& hook : hooks) hook->post_hook(is_last);
    } catch (...) {
        stop_groups();
        throw;
    }
}

} // namespace detail

/// Calls f, the training loop of this rank, whose input may end earlier than that of others, and
/// which uses the joinables: join({net, counter}, [&] { ... }). When it has ended, this rank calls
/// the main_hook of each, in this order, for each iteration of the others, until all have ended;
/// then all ranks call the post_hooks. The first object is the one whose collective operations come
/// first in an iteration. Where f or a hook throws, the groups stop.
template <class F>
void join(
    std::vector<std::reference_wrapper<Joinable>> joinables, F f, JoinOptions const& options = {}) {
    static_assert(std::is_invocable_v<F&>, "join: the function takes nothing");
    if (!options.enable) return static_cast<void>(f());
    detail::JoinContext(std::move(joinables), options).run(f);
}

} // namespace xgrad::distributed

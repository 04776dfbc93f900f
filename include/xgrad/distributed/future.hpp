// Future: the result of an operation that goes on while the program computes, and what is to follow
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <xgrad/distributed/mpi.hpp>

namespace xgrad::distributed {

/// The result of an operation without one.
struct Done {};

template <class T> class Future;

namespace detail {

struct AnyFutureState;

/// Makes operations go on. MPI does so only while it is called.
class Progress {
public:
    virtual ~Progress() = default;
    /// Goes on without waiting.
    virtual void poll() noexcept = 0;
    /// Waits until the state is ready, or until another Progress answers for it.
    virtual void wait(AnyFutureState const& state) noexcept = 0;
};

struct AnyFutureState {
    bool ready = false;
    std::exception_ptr error;
    std::shared_ptr<Progress> progress;
    std::vector<std::function<void()>> continuations;

    void finish() {
        ready = true;
        progress.reset();
        for (auto& f : std::exchange(continuations, {})) f();
    }
    void fail(std::exception_ptr e) {
        error = std::move(e);
        finish();
    }
};

template <class T> struct FutureState : AnyFutureState {
    std::optional<T> value;

    void set(T v) {
        value.emplace(std::move(v));
        finish();
    }
};

template <class R> struct FutureOf {
    using type = Future<R>;
};
template <> struct FutureOf<void> {
    using type = Future<Done>;
};
template <class T> struct FutureOf<Future<T>> {
    using type = Future<T>;
};

} // namespace detail

/// A T that will be there. Copies are handles to one result. Operations of MPI go on while any
/// function of their group runs: in wait(), ready(), and in the hooks of a backward pass.
template <class T> class Future {
public:
    using value_type = T;

    /// A result that is there already.
    static Future of(T value) {
        auto state = std::make_shared<detail::FutureState<T>>();
        state->set(std::move(value));
        return Future(std::move(state));
    }
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) noexcept
        : state_(std::move(state)) {}

    /// Whether the result, or an error, is there.
    bool ready() const {
        if (auto const progress = state_->progress) progress->poll();
        return state_->ready;
    }
    /// Waits for the result and gives it. Throws what the operation, or a function before it,
    /// threw; DistributedError where a rank stopped or did not answer within the time limit of the
    /// group.
    T get() const {
        while (!state_->ready) {
            auto const progress = state_->progress;
            if (!progress)
                detail::fail<DistributedError>("a future waits for an operation that nobody began");
            progress->wait(*state_);
        }
        if (state_->error) std::rethrow_exception(state_->error);
        return *state_->value;
    }
    /// The same without the result.
    void wait() const { static_cast<void>(get()); }

    /// The future of f(result), which is called as soon as the result is there, by the thread that
    /// waits or polls. Where f returns a Future, that of its result; where it returns nothing, a
    /// Future<Done>. After an error f is not called.
    template <class F> auto then(F f) const {
        static_assert(std::is_invocable_v<F&, T const&>,
            "then: the function takes the result of this future");
        using R = std::invoke_result_t<F&, T const&>;
        using Next = typename detail::FutureOf<R>::type;
        auto next = std::make_shared<detail::FutureState<typename Next::value_type>>();
        next->progress = state_->progress;
        auto const from = state_.get(); // it owns the continuation
        auto call = [from, next, f = std::move(f)]() mutable {
            if (from->error) return next->fail(from->error);
            try {
                if constexpr (std::is_void_v<R>) {
                    f(*from->value);
                    next->set({});
                } else if constexpr (std::same_as<R, Next>) f(*from->value).forward_to(next);
                else next->set(f(*from->value));
            } catch (...) { next->fail(std::current_exception()); }
        };
        if (state_->ready) call();
        else state_->continuations.emplace_back(std::move(call));
        return Next(std::move(next));
    }

private:
    template <class> friend class Future;

    /// Hands this result to another state.
    void forward_to(std::shared_ptr<detail::FutureState<T>> const& to) const {
        auto const from = state_.get();
        auto hand_over = [from, to] {
            if (from->error) to->fail(from->error);
            else to->set(*from->value);
        };
        if (state_->ready) return hand_over();
        to->progress = state_->progress;
        state_->continuations.emplace_back(std::move(hand_over));
    }

    std::shared_ptr<detail::FutureState<T>> state_;
};

} // namespace xgrad::distributed

// Future: the result of an operation that goes on while the program computes, and what is to follow
// it. Functions that follow run only where the program asks for their result, never from a poll:
// so the ranks, which ask in one order, also begin in one order what these functions begin.
//
// Errors: get() and wait() throw what the operation, or a function before it, threw;
// DistributedError where a rank stopped or did not answer in time. A function that does not take
// the result does not compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <xgrad_distributed/mpi.hpp>

namespace xgrad::distributed {

/// The result of an operation without one.
struct Done {};

template <class T> class Future;

namespace detail {

struct HalfFormat;
/// The format in which tensors of real and complex numbers travel whose operations this thread
/// begins; null: their own. Functions that follow a future have the format under which then() was
/// called.
inline constinit thread_local HalfFormat const* sending_format = nullptr;

/// Sets the format in a scope.
class SendingFormat : xgrad::detail::ScopedValue<HalfFormat const*> {
public:
    explicit SendingFormat(HalfFormat const* format) noexcept
        : ScopedValue(sending_format, format) {}
};

struct AnyFutureState;

/// Makes operations go on. MPI does so only while it is called.
class Progress {
public:
    virtual ~Progress() = default;
    /// Goes on without waiting.
    virtual void poll() noexcept = 0;
    /// Waits until the state is ready.
    virtual void wait(AnyFutureState const& state) noexcept = 0;
};

struct AnyFutureState {
    bool ready = false;
    std::exception_ptr error;
    std::shared_ptr<Progress> progress;     // of an operation
    std::shared_ptr<AnyFutureState> before; // of what follows another future
    std::function<void()> step;             // to be called once `before` is ready

    void fail(std::exception_ptr e) {
        error = std::move(e);
        ready = true;
        progress.reset();
    }
    /// Waits for the next operation that stands before the result, and calls what follows it.
    void advance() {
        if (ready) return;
        if (!before) return progress->wait(*this);
        if (!before->ready) before->advance();
        if (!before->ready) return;
        auto const f = std::exchange(step, nullptr);
        auto const keep = std::exchange(before, nullptr); // f reads its result
        f();
    }
    /// Whether advance() would not wait.
    bool can_advance() const {
        if (ready) return true;
        if (before) return before->can_advance();
        progress->poll();
        return ready;
    }
};

template <class T> struct FutureState : AnyFutureState {
    std::optional<T> value;

    void set(T v) {
        value.emplace(std::move(v));
        ready = true;
        progress.reset();
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
/// function of their group runs, and in the hooks of a backward pass.
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

    /// The future of a tensor of known type is one of any.
    template <class U>
        requires(!std::same_as<U, T> && std::convertible_to<U, T>)
    Future(Future<U> const& o) : Future(o.then([](U const& value) { return T(value); })) {}

    /// Waits for the result and gives it. Throws what the operation, or a function before it,
    /// threw; DistributedError where a rank stopped or did not answer within the time limit of the
    /// group.
    T get() const {
        while (!state_->ready) state_->advance();
        if (state_->error) std::rethrow_exception(state_->error);
        return *state_->value;
    }
    /// The same without the result.
    void wait() const { static_cast<void>(get()); }
    /// False while get() would have to wait.
    bool ready() const {
        auto const keep = state_;
        return keep->can_advance();
    }

    /// The future of f(result). f is called once, by the first get() of what this returns, or of
    /// what follows that. Where f returns a Future, that of its result; where it returns nothing, a
    /// Future<Done>. After an error f is not called.
    template <class F> auto then(F f) const {
        constexpr bool takes = std::is_invocable_v<F&, T const&>;
        static_assert(takes, "then: the function takes the result of this future");
        if constexpr (takes) return follow_with<std::invoke_result_t<F&, T const&>>(std::move(f));
    }

    /// Waits for the next operation that stands before the result, and calls what follows it. True
    /// when the result, or an error, is there. For several chains that are to go on side by side.
    bool advance() const {
        state_->advance();
        return state_->ready;
    }

private:
    template <class> friend class Future;

    template <class R, class F> auto follow_with(F f) const {
        using Next = typename detail::FutureOf<R>::type;
        using NextState = detail::FutureState<typename Next::value_type>;
        auto next = std::make_shared<NextState>();
        next->before = state_;
        // both outlive this function: the one is kept while it runs, the other owns it
        next->step = [from = state_.get(), to = next.get(), f = std::move(f),
                         format = detail::sending_format]() mutable {
            if (from->error) return to->fail(from->error);
            detail::SendingFormat const scope(format);
            try {
                if constexpr (std::is_void_v<R>) {
                    f(*from->value);
                    to->set({});
                } else if constexpr (std::same_as<R, Next>) {
                    auto const inner = f(*from->value).state_;
                    to->before = inner;
                    to->step = [inner = inner.get(), to] {
                        if (inner->error) to->fail(inner->error);
                        else to->set(*inner->value);
                    };
                } else to->set(f(*from->value));
            } catch (...) { to->fail(std::current_exception()); }
        };
        return Next(std::move(next));
    }

    std::shared_ptr<detail::FutureState<T>> state_;
};

} // namespace xgrad::distributed

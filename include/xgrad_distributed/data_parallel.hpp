// DistributedDataParallel: a module whose gradients are the means over all ranks of a group.
//
// Gradients: backward() leaves in .grad of each parameter the mean over the ranks. It is of first
// order: create_graph is a GraphError outside of no_sync().
// Errors: DistributedError where the ranks differ, stop or do not answer. GraphError for a pass
// that did not reach all parameters, for a parameter that gets its gradient twice, and for a
// communication hook that comes late or second. A hook with other parameters or results does not
// compile.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad_distributed/joinable.hpp>
#include <xgrad_distributed/reducer.hpp>

namespace xgrad::distributed {

namespace detail {

/// The tensors in what forward has returned.
template <class X> void append_tensors(X const& x, std::vector<AnyTensor>& all) {
    if constexpr (nn::detail::is_tensor<X>) all.push_back(x);
    else if constexpr (nn::detail::is_tuple<X>)
        std::apply([&](auto const&... each) { (append_tensors(each, all), ...); }, x);
    else if constexpr (requires { x.has_value(); }) {
        if (x) append_tensors(*x, all);
    } else if constexpr (requires {
                             x.begin();
                             x.size();
                         })
        for (auto const& each : x) append_tensors(each, all);
}

template <class State, class F>
inline constexpr bool takes_bucket = std::is_invocable_v<F&, State&, GradBucket&>;
template <class State> struct UnwrappedState {
    using type = State;
};
template <class State> struct UnwrappedState<std::reference_wrapper<State>> {
    using type = State;
};

} // namespace detail

/// Holds `module`, a copy of M or what was moved into it, with the parameters and buffers of rank
/// 0. Each rank calls it with its part of the input; backward() of the loss then leaves in every
/// .grad of its parameters the mean over the ranks. All ranks make it and call forward and
/// backward() alike. Not reduced are gradients of grad(), and those of passes with .inputs that
/// leave parameters out.
template <class M>
class DistributedDataParallel : public nn::Module<DistributedDataParallel<M>>, public Joinable {
    using Base = nn::Module<DistributedDataParallel<M>>;

public:
    nn::Child<M> module; // the module on this rank

    /// Takes a module, which it gives the values of rank 0 on all ranks.
    explicit DistributedDataParallel(
        M m, ProcessGroup group, DataParallelOptions const& options = {})
        : module(*this, "module", std::move(m)),
          reducer_(std::make_shared<detail::Reducer>(
              std::move(group), module.named_parameters(), options)) {
        broadcast_state();
    }
    /// A copy has parameters and buffers of its own, and no hooks, also no communication hook.
    DistributedDataParallel(DistributedDataParallel const& o)
        : Base(o), Joinable(o), module(o.module),
          reducer_(std::make_shared<detail::Reducer>(
              o.group(), module.named_parameters(), o.reducer_->options())) {}
    DistributedDataParallel(DistributedDataParallel&&) = default;
    DistributedDataParallel& operator=(DistributedDataParallel const& o) {
        if (this != &o) *this = DistributedDataParallel(o);
        return *this;
    }
    DistributedDataParallel& operator=(DistributedDataParallel&&) = default;
    ~DistributedDataParallel() override = default;

    /// The ranks that share their gradients.
    ProcessGroup const& group() const noexcept { return reducer_->group(); }
    /// How many messages the gradients are. It may change after the first backward pass.
    std::size_t bucket_count() const noexcept { return reducer_->bucket_count(); }

    template <class... A> auto forward(A&&... arguments) {
        bool const records = is_grad_enabled();
        if (records && reducer_->begin_iteration()) {
            notify_join_context();
            begin_reduced_iteration();
        }
        using Result = decltype(module(std::forward<A>(arguments)...));
        if constexpr (std::is_void_v<Result>) module(std::forward<A>(arguments)...);
        else {
            Result result = module(std::forward<A>(arguments)...);
            if (records) {
                std::vector<AnyTensor> tensors;
                detail::append_tensors(result, tensors);
                reducer_->forward_ended(tensors);
            }
            return result;
        }
    }

    /// In the scope of what it returns, forward() and backward() leave gradients as they are on
    /// this rank; they add up as ever. The next forward() and backward() outside of it reduce the
    /// sums.
    class NoSync {
    public:
        XGRAD_GUARD explicit NoSync(std::shared_ptr<detail::Reducer> reducer) noexcept
            : reducer_(std::move(reducer)) {
            reducer_->enter_no_sync();
        }
        NoSync(NoSync&&) noexcept = default;
        NoSync& operator=(NoSync&&) = delete;
        ~NoSync() {
            if (reducer_) reducer_->leave_no_sync();
        }

    private:
        std::shared_ptr<detail::Reducer> reducer_; // null after a move
    };
    [[nodiscard]] NoSync no_sync() noexcept { return NoSync(reducer_); }

    /// From now on hook(state, bucket) brings each bucket together, in place of the mean over the
    /// ranks: what its future gives, in the type and shape of bucket.buffer(), becomes the
    /// gradients. It is called once for each bucket and pass, in the order of the buckets. The
    /// state is kept here; give std::ref(state) for one of your own. Once only, and before the
    /// first backward pass.
    template <class State, class F> void register_comm_hook(State state, F hook) {
        using S = typename detail::UnwrappedState<State>::type;
        constexpr bool takes = detail::takes_bucket<S, F>;
        static_assert(takes, "register_comm_hook: a hook takes the state and the bucket: "
                             "Future<AnyTensor> hook(State&, GradBucket&)");
        if constexpr (takes) {
            constexpr bool returns =
                std::is_convertible_v<std::invoke_result_t<F&, S&, GradBucket&>, Future<AnyTensor>>;
            static_assert(returns, "register_comm_hook: a hook returns a Future<AnyTensor>, that "
                                   "of a tensor like the buffer of the bucket");
            if constexpr (returns) {
                if (reducer_->has_hook())
                    detail::fail<GraphError>("register_comm_hook or register_builtin_comm_hook can "
                                             "only be called once.");
                if (reducer_->has_begun())
                    detail::fail<GraphError>("register_comm_hook: a communication hook must be "
                                             "registered before the first forward");
                reducer_->set_hook([state = std::move(state), hook = std::move(hook)](
                                       GradBucket& bucket) mutable -> Future<AnyTensor> {
                    return hook(static_cast<S&>(state), bucket);
                });
            }
        }
    }

    /// distributed::join() of this module alone: calls f, the training loop of this rank. When it
    /// has ended, this rank takes part in the passes of the others with gradients of zero, until
    /// all have ended; then all take the parameters and buffers of one that ended last.
    template <class F> void join(F f, JoinOptions const& options = {}) {
        distributed::join({*this}, std::move(f), options);
    }
    std::unique_ptr<JoinHook> join_hook(JoinOptions const& options) override {
        return std::make_unique<Shadow>(*this, options);
    }
    ProcessGroup const& join_process_group() const override { return group(); }

    /// Parameters and buffers of one rank, for all: after it alone has loaded a state.
    void broadcast_state(int root = 0) {
        // the barrier ends the list: a rank with fewer parameters differs there at the latest
        std::vector<Future<AnyTensor>> begun;
        for (auto const& [name, t] : module.named_parameters())
            begun.push_back(group().broadcast_async(t, root, "parameter '" + name + "'"));
        for (auto const& [name, t] : module.named_buffers())
            begun.push_back(group().broadcast_async(t, root, "buffer '" + name + "'"));
        begun.push_back(group().barrier_async().then([](Done) { return AnyTensor(); }));
        for (auto const& f : begun) f.wait();
    }

private:
    /// Takes part in the passes of ranks that still have input.
    class Shadow : public JoinHook {
    public:
        Shadow(DistributedDataParallel& net, JoinOptions const& options) : net_(net) {
            net_.divides_by_active_ = !options.divide_by_initial_world_size;
        }
        ~Shadow() override {
            net_.divides_by_active_ = false;
            net_.reducer_->set_divisor(net_.group().size());
        }
        void main_hook() override {
            net_.begin_reduced_iteration();
            net_.reducer_->shadow();
        }
        void post_hook(bool) override { net_.broadcast_state(net_.first_active_rank()); }

    private:
        DistributedDataParallel& net_;
    };

    /// What all ranks do before a forward whose gradients are reduced.
    void begin_reduced_iteration() {
        if (divides_by_active_) reducer_->set_divisor(active_ranks());
        if (reducer_->options().broadcast_buffers && this->is_training())
            broadcast_buffers(first_active_rank());
    }
    void broadcast_buffers(int root) {
        if (group().size() == 1) return;
        std::vector<Future<AnyTensor>> begun;
        for (auto const& [name, t] : module.named_buffers())
            begun.push_back(group().broadcast_async(t, root, "buffer '" + name + "'"));
        for (auto const& f : begun) f.wait();
    }

    std::shared_ptr<detail::Reducer> reducer_;
    bool divides_by_active_ = false;
};

/// The type of the module is that of the first argument.
template <class M> DistributedDataParallel(M, ProcessGroup) -> DistributedDataParallel<M>;
/// With options.
template <class M>
DistributedDataParallel(M, ProcessGroup, DataParallelOptions) -> DistributedDataParallel<M>;

} // namespace xgrad::distributed

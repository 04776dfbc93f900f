// checkpoint(): a part of a graph that saves its inputs instead of what its Nodes would save, and
// is evaluated again when a backward pass needs that. It uses hooks on saved tensors: the Nodes are
// recorded as usual, but what they save is only counted. The first saved tensor that a pass asks
// for evaluates the function again, whose Nodes then save in the same order.
#pragma once

#include <any>

#include <xgrad/functional/evaluation.hpp>
#include <xgrad/tensor/create.hpp>

namespace xgrad {

namespace detail {

class CheckpointedCall;

/// What a Node under checkpoint() stores instead of a tensor: the index of the saved tensor. It
/// holds the tensor itself only while the function is evaluated again.
struct CheckpointSlot {
    // null in the second evaluation: then the slot holds its tensor
    std::shared_ptr<CheckpointedCall const> call;
    std::size_t index = 0;
    // which Node saved it: all that a Node saves is packed before the next one is recorded
    std::uint64_t node = 0;
    DType dtype;
    Shape shape;
    // null for a tensor that belongs to an input, whose version is checked there
    Storage const* memory;
    std::uint32_t version;
    AnyTensor value;

    /// The tensor that was saved.
    AnyTensor checked(AnyTensor const& t) const;
};

/// One call of a function under checkpoint(): all that is needed to call it again, and a list of
/// what it saved the first time.
class CheckpointedCall : public std::enable_shared_from_this<CheckpointedCall> {
public:
    using Function = std::function<Tensors(Tensors const&)>;

    /// Inputs are saved as any Node saves tensors: by the hooks on saved tensors that are active,
    /// also by those of an outer checkpoint().
    [[gnu::cold]] explicit CheckpointedCall(Tensors const& inputs);

    /// The first call.
    [[gnu::cold]] Tensors run(Function f);

private:
    /// What a pass has computed again and not used yet, and what the current Node uses, which may
    /// ask for it more than once.
    struct Recomputed {
        std::vector<std::shared_ptr<CheckpointSlot>> slots;
        std::vector<std::shared_ptr<CheckpointSlot>> in_use = {};

        std::shared_ptr<CheckpointSlot> take(std::size_t index);
    };

    /// In its scope tensors are packed by `pack` instead of the hooks of the program.
    class PackingScope {
    public:
        explicit PackingScope(std::function<std::shared_ptr<CheckpointSlot>(AnyTensor const&)> pack)
            : packing_(std::make_shared<Packing const>(Packing{std::move(pack), &unpack})),
              before_(std::exchange(default_packing, &packing_)) {}
        PackingScope(PackingScope const&) = delete;
        PackingScope& operator=(PackingScope const&) = delete;
        ~PackingScope() { default_packing = before_; }

    private:
        std::shared_ptr<Packing const> packing_;
        std::shared_ptr<Packing const> const* before_;
    };
    /// In its scope random numbers are drawn from a given state on; its end restores the state of
    /// before.
    class RandomScope {
    public:
        explicit RandomScope(std::mt19937_64 const& state)
            : before_(std::exchange(generator, state)) {}
        RandomScope(RandomScope const&) = delete;
        RandomScope& operator=(RandomScope const&) = delete;
        ~RandomScope() { generator = before_; }

    private:
        std::mt19937_64 before_;
    };

    std::shared_ptr<CheckpointSlot> slot_of(AnyTensor const& t) const;

    [[gnu::cold]] static AnyTensor unpack(void const* packed);

    /// Saved tensor `index`, from what the running pass has computed again. A tensor is released
    /// when the next Node asks for its own saved tensors, so that a pass holds no more than it
    /// needs.
    AnyTensor recomputed(std::size_t index) const;

    std::shared_ptr<Recomputed> run_again() const;

    static void compare(CheckpointSlot const& first, CheckpointSlot const& now);

    Identity identity_;
    Tensors arguments_; // for the first evaluation
    bool differentiated_;
    std::mt19937_64 generator_;
    mutable std::vector<SavedTensor> inputs_;
    std::vector<bool> requires_grad_;
    std::vector<Storage const*> memory_;
    Ref<Node> node_; // for which the inputs were saved
    Function function_;
    std::vector<std::weak_ptr<CheckpointSlot>> slots_;
};

} // namespace detail

/// f(inputs...), recorded without what its Nodes save for backward: only the inputs are saved, and
/// a backward pass that needs the rest calls f again. It saves the memory of one call of f and
/// costs the time of one more.
///
/// f takes a Tensor<T> const& for each input and returns a Tensor, an expression or a std::tuple of
/// such; what else it needs it captures, and captured tensors get gradients, too. A module that the
/// caller owns is stored by reference and must outlive the backward pass; any other f is copied or
/// moved. It must compute the same in each call: random numbers and grad mode are replayed, and the
/// call may be made by another thread. Throws VersionError in the backward pass where an input, or
/// a captured tensor that was saved, has been changed in place since, and GraphError where f saves
/// other tensors than before.
///
/// grad(), retain_graph (f is called in each pass), create_graph, hooks and checkpoint() inside f
/// work as without it. Hooks on saved tensors that are active around the call get the inputs.
template <class F, detail::TensorLike... X> auto checkpoint(F&& f, X const&... inputs) {
    using Callable = detail::KeptCallable<F>;
    using Of = detail::CheckedCall<Callable, std::tuple<detail::tensor_type<X>...>>;
    if constexpr (Of::fits) {
        detail::Tensors const x{detail::materialize(inputs)...};
        detail::check_defined("checkpoint", "input", x);
        auto const shared = std::make_shared<Callable>(std::forward<F>(f));
        if (!detail::recording())
            return Of::like_outputs(detail::erased(Of::Call::tensors(*shared, x)));
        auto const call = std::make_shared<detail::CheckpointedCall>(x);
        return Of::like_outputs(call->run([shared](detail::Tensors const& arguments) {
            return detail::listed(detail::erased(Of::Call::tensors(*shared, arguments)));
        }));
    }
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/checkpoint.ipp>
#endif

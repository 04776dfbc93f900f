// Reducer: brings the gradients of a list of parameters together during a backward pass. A
// hook after accumulation copies a complete gradient into its bucket. A full bucket is handed to
// the communication hook, once all buckets before it have been, so that all ranks do so in one
// order. After the last one a callback is queued, which waits for all futures at the end of the
// pass and writes the results into the gradients. Invariant: between begin_iteration() and the end
// of that callback, buckets [0, next_) have been handed over.
// Shapes: gradients have those of their parameters; a bucket is a vector of one scalar type.
// Gradients: the means over the ranks, unrecorded.
// Errors: GraphError for create_graph or an unfinished pass, DistributedError where ranks differ.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include <xgrad/tensor/hooks.hpp>
#include <xgrad_distributed/bucket_plan.hpp>
#include <xgrad_distributed/grad_bucket.hpp>

namespace xgrad::distributed {

/// Options of DistributedDataParallel.
struct DataParallelOptions {
    /// A bucket is full with so many MiB: 25, and 1 for the first one, unless this says otherwise.
    std::optional<double> bucket_cap_mb{};
    /// The first bucket, where it is to differ from bucket_cap_mb.
    std::optional<double> first_bucket_mb{};
    bool broadcast_buffers = true; // each forward in training begins with the buffers of rank 0
    /// Whether each forward looks for parameters that do not lead to its result. They then count as
    /// zeros on this rank.
    bool find_unused_parameters = false;
    /// Whether the gradients of parameters are views of the buckets, which saves their memory and
    /// one copy.
    bool gradient_as_bucket_view = false;
    /// Whether the first forward decides for all which parameters are unused.
    bool static_graph = false;
};

namespace detail {

class Reducer {
public:
    using Hook = std::function<Future<AnyTensor>(GradBucket&)>;

    Reducer(
        ProcessGroup group, std::vector<NamedTensor> parameters, DataParallelOptions const& options)
        : group_(std::move(group)), options_(options), parameters_(std::move(parameters)) {
        std::unordered_set<xgrad::detail::TensorImpl const*> seen; // parameters may be shared
        std::erase_if(parameters_, [&](NamedTensor const& p) {
            return !p.tensor.requires_grad() || !seen.insert(&p.tensor.impl()).second;
        });
        for (auto const& [name, p] : parameters_)
            if (!p.is_leaf())
                fail<GraphError>("DistributedDataParallel: parameter '", name, "' is not a leaf");
        slots_.resize(parameters_.size());
        used_.assign(parameters_.size(), true);
        divisor_ = group_.size();
        std::vector<std::size_t> order(parameters_.size());
        std::iota(order.rbegin(), order.rend(),
            std::size_t{0}); // gradients come from the last layer first
        make_buckets(order);
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            auto const edge = xgrad::detail::gradient_edge(parameters_[i].tensor);
            index_of_[edge.function.get()] = i;
            handles_.push_back(
                xgrad::detail::NodeHooks::made(*edge.function)
                    .post_accumulate.add([this, i](AnyTensor const&) { arrived(i); }));
        }
    }
    Reducer(Reducer const&) = delete;
    Reducer& operator=(Reducer const&) = delete;
    ~Reducer() {
        for (auto& handle : handles_) handle.remove();
    }

    ProcessGroup const& group() const noexcept { return group_; }
    DataParallelOptions const& options() const noexcept { return options_; }
    bool has_hook() const noexcept { return static_cast<bool>(hook_); }
    bool has_begun() const noexcept { return has_begun_; }
    void set_hook(Hook hook) { hook_ = std::move(hook); }
    std::size_t bucket_count() const noexcept { return buckets_.size(); }
    void set_divisor(int divisor) noexcept { divisor_ = divisor; }

    /// Counts the scopes in which gradients stay as they are.
    void enter_no_sync() noexcept { ++no_sync_; }
    void leave_no_sync() noexcept { --no_sync_; }

    /// Gradients of the next backward passes are reduced, or stay as they are. Returns which.
    bool begin_iteration() {
        bool const reduces = no_sync_ == 0;
        if (reduces && next_ < buckets_.size() && std::ranges::any_of(slots_, &Slot::ready))
            fail_unfinished();
        reduces_ = reduces;
        if (!reduces) return false;
        has_begun_ = true;
        reset();
        return true;
    }
    /// Finds the parameters that do not lead to these results, where that is wanted.
    void forward_ended(std::vector<AnyTensor> const& results) {
        bool const looks = options_.static_graph ? !knows_unused_ : options_.find_unused_parameters;
        if (!reduces_ || !looks) return;
        std::vector<bool> reached(parameters_.size(), false);
        std::unordered_set<Node const*> seen;
        std::vector<Node const*> to_visit;
        auto const visit = [&](Node const* node) {
            if (node && seen.insert(node).second) to_visit.push_back(node);
        };
        for (auto const& t : results)
            if (t.defined()) visit(xgrad::detail::gradient_edge(t).function.get());
        while (!to_visit.empty()) {
            auto const* const node = to_visit.back();
            to_visit.pop_back();
            if (auto const found = index_of_.find(node); found != index_of_.end())
                reached[found->second] = true;
            for (auto const& edge : node->next_edges()) visit(edge.function.get());
        }
        used_ = std::move(reached);
        knows_unused_ = true;
    }
    /// Takes part in a backward pass of the other ranks, with gradients of zero.
    void shadow() {
        has_begun_ = true;
        reset();
        for (auto& b : buckets_) b->memory.impl().type->zero_elements(b->memory.impl().array);
        while (next_ < buckets_.size()) hand_over();
        begin_agreement(std::vector<bool>(parameters_.size(), false));
        wait_for_buckets([](Bucket const&) {});
        end_agreement();
        rebuild();
        finished_ = true;
    }

private:
    struct Bucket {
        GradBucket bucket;
        AnyTensor memory; // the buffer that the bucket owns
        std::vector<std::size_t> members;
        std::size_t pending = 0;
        std::optional<Future<AnyTensor>> future;
    };
    /// Of a parameter: where its gradient is in the buckets.
    struct Slot {
        std::size_t bucket = 0;
        AnyTensor view;
        bool ready = false;
    };
    void make_buckets(std::vector<std::size_t> const& order) {
        constexpr double mib = 1024 * 1024;
        double const capacity = options_.bucket_cap_mb.value_or(25),
                     first = options_.first_bucket_mb.value_or(options_.bucket_cap_mb.value_or(1));
        auto plan = plan_buckets(parameters_, order, first * mib, capacity * mib);
        std::vector<std::unique_ptr<Bucket>> made;
        for (auto& members : plan) {
            auto b = std::make_unique<Bucket>();
            std::size_t elements = 0;
            for (auto const i : members) {
                b->bucket.parameters_.push_back(parameters_[i].tensor);
                b->bucket.offsets_.push_back(elements);
                elements += parameters_[i].tensor.numel();
            }
            auto const& type = *parameters_[members.front()].tensor.impl().type;
            b->memory = AnyTensor(xgrad::detail::TensorImpl::make(type, Shape{elements}));
            b->bucket.index_ = made.size();
            for (std::size_t k = 0; k < members.size(); ++k) {
                auto& slot = slots_[members[k]];
                auto const& t = parameters_[members[k]].tensor;
                auto const view = view_of_elements(b->memory, b->bucket.offsets_[k], t.shape());
                if (auto& grad = t.impl().grad;
                    grad && slot.view.handle() == grad) { // a view of the old bucket
                    view.impl().type->copy_elements(view.impl().array, grad->array);
                    grad = view.handle();
                }
                slot.bucket = made.size();
                slot.view = view;
            }
            b->members = std::move(members);
            made.push_back(std::move(b));
        }
        if (!made.empty()) made.back()->bucket.is_last_ = true;
        buckets_ = std::move(made);
        next_ = 0;
    }
    void reset() {
        for (auto& slot : slots_) slot.ready = false;
        for (auto& b : buckets_) {
            b->pending = b->members.size();
            b->future.reset();
            b->bucket.buffer_ = b->memory;
        }
        next_ = 0;
        finished_ = false;
        marked_unused_ = false;
        arrivals_.clear();
    }

    [[gnu::cold]] void fail_unfinished() const {
        std::string names;
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (!slots_[i].ready)
                names += (names.empty() ? "'" : ", '") + parameters_[i].name + "'";
        std::string const text =
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This rank's pass brought no gradient for parameters that were not used in producing "
            "its loss: " +
            names +
            ". You can enable unused parameter detection by passing find_unused_parameters = true, "
            "and make sure that all results of forward take part in the loss";
        group_.stop(text);
        fail<GraphError>(text);
    }

    /// A gradient is complete.
    void arrived(std::size_t i) {
        if (!reduces_) return;
        if (xgrad::detail::grad_mode)
            fail<GraphError>(
                "DistributedDataParallel: backward() with create_graph would differentiate "
                "gradients before they are reduced over the ranks; take second derivatives under "
                "no_sync(), or by grad()");
        watch_pass();
        if (finished_) reset(); // another pass over a graph that was kept
        if (slots_[i].ready)
            fail<GraphError>("Expected to mark a variable ready only once: parameter '",
                parameters_[i].name,
                "' got its gradient twice since forward() of DistributedDataParallel. Passes "
                "within a pass, and several passes "
                "of which each reaches a part of the parameters, must not share one");
        if (!std::exchange(marked_unused_, true))
            for (std::size_t k = 0; k < used_.size(); ++k)
                if (!used_[k] && !slots_[k].ready && k != i) mark_ready(k);
        arrivals_.push_back(i);
        if (options_.gradient_as_bucket_view) {
            copy_gradient(i);
            parameters_[i].tensor.impl().grad = slots_[i].view.handle();
        }
        mark_ready(i);
        group_.poll();
        group_.check_health(); // no need to compute on where another rank has failed
    }
    /// Once a pass: from its first gradient on, the other ranks hear of an exception that ends it.
    void watch_pass() {
        auto& data = xgrad::detail::pass_data(identity_);
        if (data) return;
        data = std::make_shared<bool>(true);
        xgrad::detail::on_pass_failure(
            [group = group_] { stop_by_exception(group, "an exception ended its backward pass"); });
    }
    /// The gradient of a parameter into its bucket.
    void copy_gradient(std::size_t i) {
        auto const& view = slots_[i].view.impl();
        auto const& grad = parameters_[i].tensor.impl().grad;
        if (!grad) view.type->zero_elements(view.array);
        else if (grad->array.data != view.array.data)
            view.type->copy_elements(view.array, grad->array);
    }
    void mark_ready(std::size_t i) {
        auto& slot = slots_[i];
        copy_gradient(i);
        slot.ready = true;
        --buckets_[slot.bucket]->pending;
        if (next_ == buckets_.size()) return;
        while (next_ < buckets_.size() && buckets_[next_]->pending == 0) hand_over();
        if (next_ < buckets_.size()) return;
        begin_agreement(used_);
        queue_callback([this] { finish(); });
    }
    /// The next bucket goes to the communication hook.
    void hand_over() {
        auto& b = *buckets_[next_];
        b.future = hook_ ? hook_(b.bucket)
                         : divide_and_sum(group_, b.bucket.buffer(), divisor_,
                               "bucket " + std::to_string(b.bucket.index()));
        ++next_;
    }
    /// Puts the results of all buckets into their memory, and calls done(bucket) for each. Hooks
    /// that take several steps go on side by side, in one order on all ranks.
    template <class F> void wait_for_buckets(F done) {
        for (bool all = false; !all;) {
            all = true;
            for (auto& b : buckets_) {
                if (!b->future) continue;
                if (!b->future->advance()) {
                    all = false;
                    continue;
                }
                AnyTensor const result = b->future->get();
                if (!result.defined() || result.dtype() != b->memory.dtype() ||
                    !(result.shape() == b->memory.shape()))
                    fail<TypeError>("a communication hook gave ", xgrad::detail::describe(result),
                        " for a bucket of ", xgrad::detail::describe(b->memory));
                if (result.impl().array.data != b->memory.impl().array.data)
                    xgrad::detail::overwrite(b->memory, result);
                b->future.reset();
                b->bucket.buffer_ = b->memory;
                done(*b);
            }
        }
    }
    /// At the end of a pass in which all buckets were handed over.
    void finish() {
        wait_for_buckets([&](Bucket const& b) {
            if (!agreement_) write_gradients(b); // else it is known later which are to be written
        });
        if (agreement_) {
            end_agreement();
            for (auto& b : buckets_) write_gradients(*b);
        }
        rebuild();
        finished_ = true;
    }
    void write_gradients(Bucket const& b) {
        for (auto const i : b.members) {
            if (used_by_all_ && !(*used_by_all_)[i]) continue; // no rank has a gradient
            auto& grad = parameters_[i].tensor.impl().grad;
            auto const& view = slots_[i].view;
            if (options_.gradient_as_bucket_view) grad = view.handle();
            else if (!grad || xgrad::detail::overlaps_itself(grad->array))
                grad = xgrad::detail::value_copy(view).handle();
            else xgrad::detail::overwrite(AnyTensor(grad), view);
        }
    }

    /// Where parameters may be unused, the ranks find out which are so on all of them: their
    /// gradients stay as they are.
    void begin_agreement(std::vector<bool> const& used) {
        if (!options_.find_unused_parameters && !options_.static_graph) return;
        auto const flags = Tensor<std::int64_t>::empty({used.size()});
        std::ranges::copy(used, flags.array_of().begin());
        agreement_ = group_.allreduce_async(flags, Reduction::max, "the parameters that are used");
    }
    void end_agreement() {
        if (!agreement_) return;
        auto const flags = agreement_->get().as<std::int64_t>();
        agreement_.reset();
        used_by_all_.emplace(flags.data(), flags.data() + flags.numel());
    }
    /// Once, after the first pass: buckets in the order in which gradients came on rank 0.
    void rebuild() {
        if (options_.find_unused_parameters || std::exchange(rebuilt_, true)) return;
        auto const order = Tensor<std::int64_t>::empty({parameters_.size()});
        auto* const to = order.array_of().begin();
        std::ranges::copy(complete_order(), to);
        group_.broadcast(order, 0, "the order of gradients");
        make_buckets({to, to + order.numel()});
        reset();
    }
    /// Those that came, in their order, then the others as they are in the buckets.
    std::vector<std::size_t> complete_order() const {
        std::vector<bool> came(parameters_.size(), false);
        auto order = arrivals_;
        for (auto const i : order) came[i] = true;
        for (auto const& b : buckets_)
            for (auto const i : b->members)
                if (!came[i]) order.push_back(i);
        return order;
    }

    xgrad::detail::Identity identity_;
    ProcessGroup group_;
    DataParallelOptions options_;
    std::vector<NamedTensor> parameters_;
    std::unordered_map<Node const*, std::size_t> index_of_; // by AccumulateGrad
    std::vector<HookHandle> handles_;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Bucket>> buckets_;
    Hook hook_;
    int divisor_ = 1, no_sync_ = 0;
    std::size_t next_ = 0; // buckets before it were handed over
    bool reduces_ = false, has_begun_ = false, finished_ = false, marked_unused_ = false,
         knows_unused_ = false, rebuilt_ = false;
    std::vector<std::size_t> arrivals_;
    std::vector<bool> used_; // on this rank, as the last forward has found
    std::optional<std::vector<bool>> used_by_all_;
    std::optional<Future<AnyTensor>> agreement_;
};

} // namespace detail
} // namespace xgrad::distributed

// DataLoader: a dataset in batches, in sequence or shuffled, prepared by a thread of its own while
// the program computes.
//
// Shapes: a batch stacks its items along a new first axis: at most batch_size, fewer at the end
// without drop_last.
// Gradients: none are recorded: batches are constants.
// Errors: a batch_size of 0, shuffle beside a sampler, and a sampler that gives another number of
// items than its size are an Error; an item that is not there is an IndexError; items of different
// shapes are a ShapeError. Items that DefaultCollate does not know do not compile.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include <xgrad/core/callable.hpp>
#include <xgrad/data/dataset.hpp>
#include <xgrad/tensor/generator.hpp>
#include <xgrad/tensor/join.hpp>

namespace xgrad::data {

/// Items to a batch: tensors are stacked, numbers become a vector (integers of int64), a std::tuple
/// or std::pair of items becomes a std::tuple of batches, and strings a std::vector.
struct DefaultCollate {
    template <class Item> auto operator()(std::vector<Item> const& items) const {
        if constexpr (requires { typename Item::scalar; } && std::derived_from<Item, AnyTensor>)
            return stack(items);
        else if constexpr (std::is_arithmetic_v<Item> || xgrad::detail::is_complex<Item>) {
            using T = std::conditional_t<std::integral<Item> && !std::same_as<Item, bool>,
                std::int64_t, Item>;
            auto const batch = Tensor<T>::empty(Shape{items.size()});
            std::copy(items.begin(), items.end(), batch.array_of().begin());
            return batch;
        } else if constexpr (requires { std::tuple_size<Item>::value; })
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return std::tuple((*this)(part<I>(items))...);
            }(std::make_index_sequence<std::tuple_size_v<Item>>());
        else {
            static_assert(std::same_as<Item, std::string>,
                "DataLoader: items are tensors, numbers, strings, or a std::tuple of such; give it "
                "a collate function for others");
            return items;
        }
    }

private:
    template <std::size_t I, class Item> static auto part(std::vector<Item> const& items) {
        std::vector<std::remove_cvref_t<std::tuple_element_t<I, Item>>> parts;
        for (auto const& item : items) parts.push_back(std::get<I>(item));
        return parts;
    }
};

/// A sampler: the items of an epoch, and their order.
class Sampler {
public:
    virtual ~Sampler() = default;
    /// The number of items in an epoch.
    virtual std::size_t size() const = 0;
    /// Their indices. Called at the start of each epoch.
    virtual std::vector<std::size_t> order() = 0;
};

/// Options of DataLoader.
struct LoaderOptions {
    std::size_t batch_size = 1; // The number of items in a batch. 0 is an Error.
    /// A new random order in each epoch.
    bool shuffle = false;
    /// True to omit a last batch that is not full.
    bool drop_last = false;
    /// The number of batches that a thread prepares ahead; 0: no thread, and each batch is made
    /// when the loop asks for it.
    std::size_t prefetch = 2;
    /// The seed of the order; without a value it is drawn from the calling thread's generator, so
    /// that manual_seed() decides.
    std::optional<std::uint64_t> seed = {};
    /// A sampler instead of `shuffle`; without it an epoch has all items.
    std::shared_ptr<Sampler> sampler = {};
};

namespace detail {

/// A queue that a thread fills ahead of its reader: it calls f() until that returns nothing or
/// throws, which the reader gets in sequence.
template <class Batch> class Prefetch {
public:
    template <class F>
    Prefetch(std::size_t most, F f)
        : most_(most), thread_([this, f = std::move(f)]() mutable { run(f); }) {}
    Prefetch(Prefetch const&) = delete;
    Prefetch& operator=(Prefetch const&) = delete;
    /// Waits only for the batch that is being made.
    ~Prefetch() {
        {
            std::lock_guard const lock(mutex_);
            unwanted_ = true;
        }
        change_.notify_all();
        thread_.join();
    }

    std::optional<Batch> next() {
        std::unique_lock lock(mutex_);
        change_.wait(lock, [&] { return !made_.empty() || ended_; });
        if (made_.empty()) {
            if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
            return {};
        }
        std::optional<Batch> batch(std::move(made_.front()));
        made_.pop_front();
        lock.unlock();
        change_.notify_all();
        return batch;
    }

private:
    template <class F> void run(F& f) noexcept {
        std::exception_ptr error;
        try {
            for (;;) {
                {
                    std::unique_lock lock(mutex_);
                    change_.wait(lock, [&] { return made_.size() < most_ || unwanted_; });
                    if (unwanted_) break;
                }
                std::optional<Batch> batch = f();
                if (!batch) break;
                {
                    std::lock_guard const lock(mutex_);
                    made_.push_back(*std::move(batch));
                }
                change_.notify_all();
            }
        } catch (...) { error = std::current_exception(); }
        {
            std::lock_guard const lock(mutex_);
            ended_ = true;
            error_ = std::move(error);
        }
        change_.notify_all();
    }

    std::size_t most_;
    std::mutex mutex_;
    std::condition_variable change_;
    std::deque<Batch> made_;
    std::exception_ptr error_;
    bool ended_ = false, unwanted_ = false;
    std::thread thread_; // the last member: it uses the others
};

} // namespace detail

/// `for (auto const& [x, y] : loader)`: each loop is an epoch. The dataset is read through a const
/// reference, without recording, by the thread that prepares batches if there is one. Its random
/// numbers are the same with and without that thread. Its exceptions leave the loop.
template <class D, class Collate = DefaultCollate> class DataLoader {
    static constexpr bool reads_dataset = detail::is_dataset<D>();
    static constexpr bool whole_batches =
        detail::HasBatches<D> && std::same_as<Collate, DefaultCollate>;
    using Generator = std::mt19937_64;

    struct Source {
        D dataset;
        Collate collate;

        Source(D d, Collate c) : dataset(std::move(d)), collate(std::move(c)) {}
        auto batch(std::span<std::size_t const> numbers) const {
            NoGradGuard const off;
            if constexpr (whole_batches) return dataset.get_batch(numbers);
            else if constexpr (reads_dataset) {
                std::vector<detail::item_type<D>> items;
                items.reserve(numbers.size());
                for (auto const i : numbers) items.push_back(detail::item(dataset, i));
                return collate(std::as_const(items));
            } else return 0;
        }
    };

public:
    /// What the loop gets for each batch: the result of collate.
    using Batch = decltype(std::declval<Source const&>().batch({}));

    /// Batches of `dataset`, made into tensors by `collate` where it is given.
    explicit DataLoader(D dataset, LoaderOptions const& options = {}, Collate collate = {})
        : source_(std::make_shared<Source>(std::move(dataset), std::move(collate))),
          options_(options), generator_(options.seed.value_or(0)) {
        if (options.batch_size == 0) detail::fail("DataLoader: the batch size must be positive");
        if (options.sampler && options.shuffle)
            detail::fail("DataLoader: sampler option is mutually exclusive with shuffle");
    }

    /// The number of batches of an epoch.
    std::size_t size() const {
        auto const items = options_.sampler ? options_.sampler->size()
                                            : static_cast<std::size_t>(source_->dataset.size());
        return items / options_.batch_size +
               (!options_.drop_last && items % options_.batch_size ? 1 : 0);
    }
    D const& dataset() const noexcept { return source_->dataset; }

private:
    /// The batches of an epoch, one after the other.
    struct Maker {
        std::shared_ptr<Source const> source;
        std::vector<std::size_t> order;
        std::size_t batch_size, batches, made = 0;
        Generator generator;

        std::optional<Batch> operator()() {
            if (made == batches) return {};
            auto const begin = batch_size * made++,
                       count = std::min(batch_size, order.size() - begin);
            struct Exchanged {
                Generator& mine;
                explicit Exchanged(Generator& g) : mine(g) {
                    std::swap(mine, xgrad::detail::generator());
                }
                ~Exchanged() { std::swap(mine, xgrad::detail::generator()); }
            } const exchanged(generator);
            return source->batch(std::span(order).subspan(begin, count));
        }
    };
    struct Epoch {
        Maker maker;
        std::optional<detail::Prefetch<Batch>> ahead;

        Epoch(Maker m, std::size_t prefetch) : maker(std::move(m)) {
            if (prefetch) ahead.emplace(prefetch, std::move(maker));
        }
        std::optional<Batch> next() { return ahead ? ahead->next() : maker(); }
    };

public:
    /// An input iterator over the batches of one epoch.
    class Iterator {
    public:
        using value_type = Batch;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit Iterator(std::unique_ptr<Epoch> epoch)
            : epoch_(std::move(epoch)), batch_(epoch_->next()) {}
        Batch const& operator*() const { return *batch_; }
        Batch const* operator->() const { return &*batch_; }
        Iterator& operator++() {
            batch_ = epoch_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(Iterator const& i, std::default_sentinel_t) { return !i.batch_; }

    private:
        std::unique_ptr<Epoch> epoch_;
        std::optional<Batch> batch_;
    };

    /// Starts an epoch, which ends with the iterator.
    Iterator begin() {
        Generator generator((options_.seed ? generator_ : xgrad::detail::generator())());
        auto const items = static_cast<std::size_t>(source_->dataset.size());
        std::vector<std::size_t> order;
        if (options_.sampler) {
            order = options_.sampler->order();
            if (order.size() != options_.sampler->size())
                detail::fail("DataLoader: a sampler of ", options_.sampler->size(), " items gave ",
                    order.size());
            for (auto const i : order)
                if (i >= items)
                    detail::fail<IndexError>(
                        "DataLoader: a sampler gave item ", i, " of a dataset of ", items);
        } else if (options_.shuffle) order = detail::permutation(items, generator);
        else {
            order.resize(items);
            std::iota(order.begin(), order.end(), std::size_t{0});
        }
        return Iterator(std::make_unique<Epoch>(
            Maker{source_, std::move(order), options_.batch_size, size(), 0, generator},
            options_.prefetch));
    }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    std::shared_ptr<Source> source_;
    LoaderOptions options_;
    Generator generator_;
};

/// The loader keeps the dataset, and a collate function that is no reference.
template <class D> DataLoader(D, LoaderOptions const& = {}) -> DataLoader<D>;
/// With a collate function.
template <class D, class Collate>
DataLoader(D, LoaderOptions const&, Collate&&)
    -> DataLoader<D, xgrad::detail::KeptCallable<Collate>>;

} // namespace xgrad::data

// DistributedSampler: the items of a dataset divided among ranks.
#pragma once

#include <xgrad/data/loader.hpp>
#include <xgrad_distributed/process_group.hpp>

namespace xgrad::distributed {

/// Options of DistributedSampler.
struct SamplerOptions {
    /// Another order in each epoch, the same on all ranks.
    bool shuffle = true;
    std::uint64_t seed = 0; // seed of the order, the same on all ranks
    /// Whether items at the end are left out so that all ranks have equally many. Without it some
    /// are taken twice.
    bool drop_last = false;
};

/// Of all items in the order of an epoch, rank r takes those at r, r + size(), r + 2 size(), ...
/// All ranks have equally many: `data::DataLoader loader(digits, {.batch_size = 32, .sampler =
/// sampler})`.
class DistributedSampler : public data::Sampler {
public:
    DistributedSampler(
        std::size_t items, ProcessGroup const& group, SamplerOptions const& options = {})
        : items_(items), rank_(static_cast<std::size_t>(group.rank())),
          ranks_(static_cast<std::size_t>(group.size())), options_(options) {}

    std::size_t size() const override {
        return options_.drop_last ? items_ / ranks_ : (items_ + ranks_ - 1) / ranks_;
    }
    std::vector<std::size_t> order() override {
        std::mt19937_64 generator(options_.seed + epoch_);
        std::vector<std::size_t> all(items_);
        if (options_.shuffle) all = data::detail::permutation(items_, generator);
        else std::iota(all.begin(), all.end(), std::size_t{0});
        std::vector<std::size_t> mine(size());
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = all[(rank_ + i * ranks_) % items_];
        return mine;
    }
    /// Before each epoch, with the same number on all ranks; without it each has the order of the
    /// first.
    void set_epoch(std::uint64_t epoch) noexcept { epoch_ = epoch; }

private:
    std::size_t items_, rank_, ranks_;
    SamplerOptions options_;
    std::uint64_t epoch_ = 0;
};

} // namespace xgrad::distributed

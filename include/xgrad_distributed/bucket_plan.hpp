// Which parameters travel together.
#pragma once

#include <map>
#include <numeric>

#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::distributed::detail {

/// Parameters, by index, in buckets: in the given order, of one scalar type each, closed when they
/// have the capacity in bytes. The first bucket of a type has a capacity of its own. Buckets are in
/// the order in which their last gradients come.
inline std::vector<std::vector<std::size_t>> plan_buckets(
    std::vector<NamedTensor> const& parameters, std::vector<std::size_t> const& order,
    double first_capacity, double capacity) {
    struct Open {
        std::vector<std::size_t> members;
        double bytes = 0;
        bool is_first = true;
    };
    std::vector<std::vector<std::size_t>> closed;
    std::map<DType, Open> open;
    for (auto const i : order) {
        auto const& t = parameters[i].tensor;
        auto& bucket = open[t.dtype()];
        bucket.members.push_back(i);
        bucket.bytes += static_cast<double>(t.numel() * t.impl().type->size);
        if (bucket.bytes < (bucket.is_first ? first_capacity : capacity)) continue;
        closed.push_back(std::move(bucket.members));
        bucket = {.members = {}, .bytes = 0, .is_first = false};
    }
    for (auto& [type, bucket] : open)
        if (!bucket.members.empty()) closed.push_back(std::move(bucket.members));
    std::vector<std::size_t> position(parameters.size());
    for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = p;
    std::ranges::sort(closed, {}, [&](auto const& members) { return position[members.back()]; });
    return closed;
}

} // namespace xgrad::distributed::detail

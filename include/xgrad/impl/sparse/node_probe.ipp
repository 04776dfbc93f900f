// NodeProbe: which elements of the outputs of a Node depend on which elements of its inputs. Before
// it, what it finds: links between elements, and patterns that follow from them.
#pragma once

#include <deque>
#include <optional>

#include <xgrad/sparse/pattern.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION double scattered(std::size_t i, std::size_t stream) {
    std::uint64_t z = i * 0x9e3779b97f4a7c15 + (stream + 1) * 0xd1b54a32d192ed03; // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return 1 + static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

XGRAD_LAZY_BODY std::vector<double> doubles_of(AnyTensor const& t, double imaginary) {
    std::vector<double> all(count_reals(t));
    read_reals(t, all.data());
    if (all.size() == t.numel()) return all;
    for (std::size_t i = 0; i < t.numel(); ++i) all[i] = all[2 * i] + imaginary * all[2 * i + 1];
    all.resize(t.numel());
    return all;
}

using Places = std::vector<int>;
inline constexpr int nowhere = -1;

/// Elements of an output that depend on elements of an input with a pattern, in pairs; an empty
/// list stands for 0, 1, 2, ... A pair with `nowhere` is none.
struct PatternLink {
    SparsePattern const* of;
    Places out, in;
};

/// The pattern of an output with these links.
XGRAD_LAZY SparsePattern linked_pattern(
    std::string_view name, std::size_t rows, std::size_t cols, std::span<PatternLink const> links) {
    struct Entry {
        SparsePattern const* of;
        std::size_t row;
    };
    std::vector<std::size_t> begin(rows + 1);
    auto const each = [&](auto f) {
        for (auto const& link : links)
            for (std::size_t i = 0, n = std::max(link.out.size(), link.in.size()); i < n; ++i) {
                int const out = link.out.empty() ? static_cast<int>(i) : link.out[i],
                          in = link.in.empty() ? static_cast<int>(i) : link.in[i];
                if (out != nowhere && in != nowhere)
                    f(static_cast<std::size_t>(out), Entry{link.of, static_cast<std::size_t>(in)});
            }
    };
    each([&](std::size_t out, Entry const&) { ++begin[out + 1]; });
    for (std::size_t i = 0; i < rows; ++i) begin[i + 1] += begin[i];
    std::vector<Entry> entries(begin[rows]);
    auto next = begin;
    each([&](std::size_t out, Entry const& e) { entries[next[out]++] = e; });
    std::vector<int> outer{0}, inner, last(cols, -1);
    outer.reserve(rows + 1);
    for (std::size_t i = 0; i < rows; ++i) {
        std::size_t const start = inner.size();
        for (auto at = begin[i]; at < begin[i + 1]; ++at)
            for (int const j : entries[at].of->row(entries[at].row))
                if (int& row = last[static_cast<std::size_t>(j)]; row != static_cast<int>(i)) {
                    row = static_cast<int>(i);
                    inner.push_back(j);
                }
        if (begin[i + 1] - begin[i] > 1)
            std::sort(inner.begin() + static_cast<std::ptrdiff_t>(start), inner.end());
        if (inner.size() > std::numeric_limits<int>::max() / 4)
            fail<Error>(name, ": the pattern has more than ", inner.size(),
                " entries: these derivatives are not sparse");
        outer.push_back(static_cast<int>(inner.size()));
    }
    return SparsePattern(rows, cols, std::move(outer), std::move(inner));
}

/// For each element of `space` the element of an array of shape `of`, which is broadcast to it.
XGRAD_LAZY Places places_in(Shape const& of, Shape const& space) {
    Strides const steps = broadcast_strides(of, row_major(of), space);
    std::ptrdiff_t const step = steps.empty() ? 0 : steps.back();
    Strides const* const all[] = {&steps};
    Places places;
    places.reserve(numel(space));
    for_each_run(space, all, [&](std::size_t n, std::ptrdiff_t const* at) {
        for (std::size_t i = 0; i < n; ++i)
            places.push_back(static_cast<int>(at[0] + static_cast<std::ptrdiff_t>(i) * step));
    });
    return places;
}

/// An output of a Node that depends on the inputs.
struct Dependence {
    TypeInfo const* type = nullptr; // null where it does not
    Shape shape = {};
    SparsePattern pattern = {};
    bool copies = false; // each element is one of the inputs, or a constant
};
using Links = std::vector<PatternLink>;

XGRAD_LAZY Dependence dependence(std::string_view name, std::size_t columns, TypeInfo const& type,
    Shape const& shape, Links const& links) {
    if (links.empty()) return {};
    return {&type, shape, linked_pattern(name, numel(shape), columns, links)};
}

/// In its scope a Node that is no custom one has random numbers in the place of those it saves.
template <class = void> class RandomSavedTensors {
public:
    explicit RandomSavedTensors(Node& node) {
        if (is_custom(node)) return;
        for (auto const& each : node.saved_tensors()) {
            AnyTensor const value = each.tensor->unpack(node);
            if (!is_differentiable(value.dtype())) continue;
            auto noise = SavedTensor::operand(scattered(*value.impl().type, value.shape(),
                [stream = 9 + saved_.size()](std::size_t i) { return scattered(i, stream); }));
            saved_.emplace_back(each.tensor, std::exchange(*each.tensor, std::move(noise)));
        }
    }
    RandomSavedTensors& operator=(RandomSavedTensors&&) = delete; // and no copies
    ~RandomSavedTensors() {
        for (auto& [place, value] : saved_) *place = std::move(value);
    }
    bool empty() const noexcept { return saved_.empty(); }

private:
    std::vector<std::pair<SavedTensor*, SavedTensor>> saved_;
};

/// Finds the links of a Node from what it does with random vectors.
template <class = void> class NodeProbe {
public:
    NodeProbe(std::string_view name, std::size_t columns, Node& node,
        std::vector<Dependence const*> const& from)
        : name_(name), columns_(columns), node_(node), from_(from) {}

    void run(std::span<Dependence> to) {
        outputs_ = push([](std::size_t) { return 1.; });
        std::vector<Links> links(to.size());
        bool const is_elementwise = node_.forward_rule() == ForwardRule::local,
                   is_selection = is_asked_ && selects(links);
        if (is_elementwise) connect_elements(links);
        else if (!is_selection && !(is_asked_ && adds(links))) connect(links);
        for (std::size_t o = 0; o < to.size(); ++o)
            if (outputs_[o].defined())
                to[o] = dependence(
                    name_, columns_, *outputs_[o].impl().type, outputs_[o].shape(), links[o]);
        for (std::size_t o = 0; o < to.size() && is_selection; ++o)
            if (outputs_[o].defined()) to[o].copies = copies(o, links[o]);
    }

private:
    static constexpr std::size_t all_edges = ~std::size_t{0};
    static constexpr double imaginary = 0.618; // real parts and these together
    static constexpr std::size_t base = 1024;  // of the digits of a number, exact in floats

    std::vector<std::vector<double>> numbers(std::span<AnyTensor const> all) const {
        std::vector<std::vector<double>> lists;
        for (auto const& t : all)
            lists.push_back(t.defined() ? doubles_of(t, imaginary) : std::vector<double>());
        return lists;
    }
    /// Tangents of the outputs for random ones of the inputs, times weight(number of the element
    /// among all inputs); or of one input alone.
    template <class Weight>
    std::vector<AnyTensor> push(Weight const& weight, std::size_t only = all_edges) const {
        std::vector<AnyTensor> tangents(from_.size()), results(node_.num_outputs());
        std::size_t first = 0;
        for (std::size_t e = 0; e < from_.size(); ++e) {
            if (!from_[e] || (only != all_edges && e != only)) continue;
            tangents[e] = scattered(
                *from_[e]->type, from_[e]->shape, [&](std::size_t i) { return weight(first + i); });
            if (only == all_edges) first += tangents[e].numel();
        }
        node_.pushforward(tangents, results);
        return results;
    }
    /// Gradients of the inputs for random ones of the outputs; undefined for other edges.
    template <class Weight> std::vector<AnyTensor> pull(Weight const& weight) const {
        std::vector<AnyTensor> gradients(outputs_.size()), results(from_.size());
        std::size_t first = 0;
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            if (!outputs_[o].defined()) continue;
            gradients[o] = scattered(*outputs_[o].impl().type, outputs_[o].shape(),
                [&](std::size_t i) { return weight(first + i); });
            first += gradients[o].numel();
        }
        ScopedValue<GraphTask*> const no_pass(current_pass, nullptr);
        node_.apply(gradients, results);
        for (std::size_t e = 0; e < results.size(); ++e)
            if (!from_[e]) results[e] = {};
        return results;
    }

    /// For a linear map of random vectors, times weights, of `count` elements: for each result the
    /// number of the one element that it has; nothing where one has several.
    template <class Map>
    std::optional<std::vector<Places>> sources(Map const& map, std::size_t count) const {
        auto const plain = numbers(map([](std::size_t) { return 1.; }));
        std::vector<Places> places;
        for (auto const& list : plain) places.emplace_back(list.size(), 0);
        for (std::size_t unit = 1; unit == 1 || unit < count; unit *= base) {
            auto const scaled = numbers(
                map([&](std::size_t i) { return static_cast<double>(i / unit % base + 1); }));
            for (std::size_t l = 0; l < plain.size(); ++l)
                for (std::size_t i = 0; i < plain[l].size(); ++i) {
                    if (plain[l][i] == 0) {
                        if (scaled[l][i] != 0 || !saved_.empty()) return std::nullopt;
                        places[l][i] = nowhere;
                        continue;
                    }
                    double const digit = scaled[l][i] / plain[l][i] - 1;
                    if (!(digit > -0.5 && digit < static_cast<double>(base) - 0.5))
                        return std::nullopt;
                    places[l][i] += static_cast<int>(digit + 0.5) * static_cast<int>(unit);
                }
        }
        auto const weight = [](std::size_t i) { return scattered(i, 5); };
        auto const check = numbers(map(weight));
        for (std::size_t l = 0; l < plain.size(); ++l)
            for (std::size_t i = 0; i < plain[l].size(); ++i) {
                double const wanted =
                    places[l][i] == nowhere
                        ? 0
                        : plain[l][i] * weight(static_cast<std::size_t>(places[l][i]));
                if (!(std::abs(check[l][i] - wanted) <= tolerance * std::abs(wanted)))
                    return std::nullopt;
            }
        return places;
    }

    /// Each element of the outputs has one element of the inputs.
    bool selects(std::vector<Links>& links) const {
        std::vector<std::size_t> sizes;
        for (auto const* x : from_) sizes.push_back(x ? numel(x->shape) : 0);
        return link_sources([&](auto const& weight) { return push(weight); }, sizes, links, true);
    }
    /// Each element of the inputs reaches one element of the outputs.
    bool adds(std::vector<Links>& links) const {
        std::vector<std::size_t> sizes;
        for (auto const& y : outputs_) sizes.push_back(y.defined() ? y.numel() : 0);
        return link_sources([&](auto const& weight) { return pull(weight); }, sizes, links, false);
    }
    /// True where an output has elements of the inputs, and not multiples of them.
    bool copies(std::size_t o, Links const& links) const {
        auto const values = doubles_of(outputs_[o], imaginary);
        for (auto const& link : links) {
            auto const x = std::ranges::find_if(
                from_, [&](auto const* each) { return each && &each->pattern == link.of; });
            if (!(*x)->copies || (*x)->type != outputs_[o].impl().type ||
                xgrad::is_complex(outputs_[o].dtype()))
                return false;
            for (std::size_t i = 0; i < link.out.size(); ++i) {
                double const copy = scattered(static_cast<std::size_t>(link.in[i]), 0);
                if (std::abs(values[static_cast<std::size_t>(link.out[i])] - copy) > 1e-6)
                    return false;
            }
        }
        return true;
    }
    /// The links of a map from tensors of these sizes to results that have one element of them
    /// each; false where there is no such map.
    template <class Map>
    bool link_sources(Map const& map, std::vector<std::size_t> const& sizes,
        std::vector<Links>& links, bool forward) const {
        std::vector<std::size_t> begins(sizes.size() + 1);
        std::partial_sum(sizes.begin(), sizes.end(), begins.begin() + 1);
        auto const found = sources(map, begins.back());
        if (!found) return false;
        for (std::size_t l = 0; l < found->size(); ++l) {
            std::vector<std::pair<Places, Places>> parts(sizes.size()); // of results and sources
            for (std::size_t i = 0; i < (*found)[l].size(); ++i) {
                if ((*found)[l][i] == nowhere) continue;
                auto const place = static_cast<std::size_t>((*found)[l][i]);
                auto const part = static_cast<std::size_t>(
                    std::ranges::upper_bound(begins, place) - begins.begin() - 1);
                parts[part].first.push_back(static_cast<int>(i));
                parts[part].second.push_back(static_cast<int>(place - begins[part]));
            }
            for (std::size_t part = 0; part < parts.size(); ++part) {
                auto& [results, of] = parts[part];
                if (results.empty()) continue;
                if (forward)
                    links[l].push_back({&from_[part]->pattern, std::move(results), std::move(of)});
                else links[part].push_back({&from_[l]->pattern, std::move(of), std::move(results)});
            }
        }
        return true;
    }

    /// Elements at the same place of operands that broadcast.
    void connect_elements(std::vector<Links>& links) const {
        for (auto const* const x : from_)
            for (std::size_t o = 0; x && o < links.size(); ++o)
                if (outputs_[o].defined())
                    links[o].push_back({&x->pattern, {}, places_in(x->shape, outputs_[o].shape())});
    }
    /// All elements to all, but along axes that the Node keeps apart.
    void connect(std::vector<Links>& links) {
        for (std::size_t e = 0; e < from_.size(); ++e) {
            auto const* const x = from_[e];
            if (!x) continue;
            std::vector<AnyTensor> plain;
            if (is_asked_) plain = push([](std::size_t) { return 1.; }, e);
            for (std::size_t o = 0; o < links.size(); ++o) {
                if (!outputs_[o].defined()) continue;
                Shape const& shape = outputs_[o].shape();
                Shape groups(x->shape.size(), 1);
                CachedVector<std::size_t> axis_of(shape.size(), x->shape.size());
                for (std::size_t s = 0; is_asked_ && s < x->shape.size(); ++s)
                    for (std::size_t r = 0; r < shape.size(); ++r)
                        if (groups[s] == 1 && x->shape[s] > 1 && shape[r] == x->shape[s] &&
                            axis_of[r] == x->shape.size() && keeps_apart(e, s, o, r, plain[o])) {
                            groups[s] = shape[r];
                            axis_of[r] = s;
                        }
                // from all elements of a group to the group, and from there to all its results
                groups_.push_back(linked_pattern(name_, numel(groups), columns_,
                    std::array{PatternLink{&x->pattern, places_in(groups, x->shape), {}}}));
                Strides const steps = row_major(groups);
                Places in(numel(shape));
                Strides const place = row_major(shape);
                for (std::size_t j = 0; j < in.size(); ++j)
                    for (std::size_t r = 0; r < shape.size(); ++r)
                        if (axis_of[r] < steps.size())
                            in[j] += static_cast<int>(index_of(j, r, shape, place)) *
                                     static_cast<int>(steps[axis_of[r]]);
                links[o].push_back({&groups_.back(), {}, std::move(in)});
            }
        }
    }
    static std::size_t index_of(
        std::size_t element, std::size_t axis, Shape const& shape, Strides const& steps) {
        return steps[axis] == 0 ? 0 : element / static_cast<std::size_t>(steps[axis]) % shape[axis];
    }
    /// True where weights along axis s of an input become weights along axis r of an output.
    bool keeps_apart(
        std::size_t e, std::size_t s, std::size_t o, std::size_t r, AnyTensor const& plain) const {
        if (!plain.defined()) return false;
        auto const weights = [](Shape const& shape, std::size_t axis) {
            return [&shape, axis, steps = row_major(shape)](
                       std::size_t i) { return scattered(index_of(i, axis, shape, steps), 7); };
        };
        auto const moved = push(weights(from_[e]->shape, s), e);
        auto const before = doubles_of(plain, imaginary), after = doubles_of(moved[o], imaginary);
        auto const weight = weights(plain.shape(), r);
        bool any = false;
        for (std::size_t j = 0; j < before.size(); ++j) {
            double const wanted = before[j] * weight(j);
            if (!(std::abs(after[j] - wanted) <= tolerance * std::abs(wanted))) return false;
            if (before[j] == 0 && !saved_.empty()) return false; // a mask that depends on values
            any |= before[j] != 0;
        }
        return any;
    }

    static constexpr double tolerance = 1e-4; // random numbers differ by more

    std::string_view name_;
    std::size_t columns_;
    Node& node_;
    std::vector<Dependence const*> const& from_;
    bool const is_asked_ = !is_custom(node_);
    RandomSavedTensors<> saved_{node_};
    std::vector<AnyTensor> outputs_; // zeros, undefined where no input has an effect
    std::deque<SparsePattern> groups_;
};

} // namespace xgrad::detail

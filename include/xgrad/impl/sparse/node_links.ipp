// NodeLinks: which elements of the outputs of a Node depend on which elements of its inputs. Before
// it, what it finds: links between elements, and patterns that follow from them.
#pragma once

#include <deque>

#include <xgrad/functional/graph_dependence.hpp>
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

/// For each element of `space` the place that it has by these strides.
XGRAD_LAZY Places places_by(Strides const& steps, Shape const& space) {
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
/// For each element of `space` the element of an array of shape `of`, which is broadcast to it.
XGRAD_LAZY Places places_in(Shape const& of, Shape const& space) {
    return places_by(broadcast_strides(of, row_major(of), space), space);
}

/// An output of a Node that depends on the inputs, and how.
struct Dependent : DependentOutput {
    SparsePattern pattern = {};
    bool copies = false; // each element is one of the inputs, or a constant
};
using Links = std::vector<PatternLink>;

XGRAD_LAZY Dependent dependent(std::string_view name, std::size_t columns, TypeInfo const& type,
    Shape const& shape, Links const& links) {
    if (links.empty()) return {};
    return {{&type, shape}, linked_pattern(name, numel(shape), columns, links)};
}

/// The links of a Node, from what it says of its dependence.
template <class = void> class NodeLinks {
public:
    NodeLinks(std::string_view name, std::size_t columns, Node& node,
        std::vector<Dependent const*> const& from)
        : name_(name), columns_(columns), node_(node), from_(from),
          inputs_(from.begin(), from.end()) {}

    void run(std::span<Dependent> to) {
        outputs_ = push(1);
        std::vector<Links> links(to.size());
        auto const kind = node_.dependence();
        bool const selects = kind == Dependence::selection;
        if (selects || kind == Dependence::transposed) connect_moved(links, selects);
        else if (kind == Dependence::elements) connect_elements(links);
        else connect_axes(links, kind == Dependence::axes);
        for (std::size_t o = 0; o < to.size(); ++o) {
            if (!outputs_[o].defined()) continue;
            auto const& type = *outputs_[o].impl().type;
            to[o] = dependent(name_, columns_, type, outputs_[o].shape(), links[o]);
            to[o].copies = selects && !xgrad::is_complex(type.dtype) &&
                           std::ranges::all_of(from_, [&](auto const* x) {
                               return !x || (x->copies && x->type == &type);
                           });
        }
    }

private:
    static constexpr std::size_t base = 1 << 20; // of the digits of a number, exact in floats

    /// Digits of the numbers of elements, counted from 1: unit is 1, base, base * base.
    static auto digit(std::size_t unit) {
        return [unit](std::size_t i) { return i / unit % base + 1; };
    }
    Tensors push(std::size_t unit) const { return push_numbers(node_, inputs_, digit(unit)); }
    /// The gradients of the inputs for such numbers of the elements of the outputs.
    Tensors pull(std::size_t unit) const {
        Tensors gradients(outputs_.size()), results(from_.size());
        for (std::size_t o = 0, first = 0; o < outputs_.size(); ++o) {
            if (!outputs_[o].defined()) continue;
            gradients[o] = numbered(*outputs_[o].impl().type, outputs_[o].shape(),
                [&](std::size_t i) { return digit(unit)(first + i); });
            first += gradients[o].numel();
        }
        ScopedValue<GraphTask*> const no_pass(current_pass, nullptr);
        node_.apply(gradients, results);
        for (std::size_t e = 0; e < results.size(); ++e)
            if (!from_[e]) results[e] = {};
        return results;
    }
    /// Each element of the outputs is one of the inputs, or each of the inputs reaches one of the
    /// outputs: numbers of elements say which.
    void connect_moved(std::vector<Links>& links, bool selects) const {
        std::vector<std::size_t> begins{0}; // of the elements of each tensor that has numbers
        auto const add = [&](std::size_t n) { begins.push_back(begins.back() + n); };
        if (selects)
            for (auto const* x : from_) add(x ? numel(x->shape) : 0);
        else
            for (auto const& y : outputs_) add(y.defined() ? y.numel() : 0);
        std::vector<Places> all;
        for (std::size_t unit = 1; unit == 1 || unit < begins.back(); unit *= base) {
            auto const moved = selects ? unit == 1 ? outputs_ : push(unit) : pull(unit);
            all.resize(moved.size());
            for (std::size_t l = 0; l < moved.size(); ++l) {
                auto const digits = numbers_in(moved[l]);
                all[l].resize(digits.size(), nowhere);
                for (std::size_t i = 0; i < digits.size(); ++i)
                    if (digits[i] != 0)
                        all[l][i] = std::max(all[l][i], 0) +
                                    (static_cast<int>(digits[i]) - 1) * static_cast<int>(unit);
            }
        }
        for (std::size_t l = 0; l < all.size(); ++l) {
            std::vector<std::pair<Places, Places>> parts(begins.size() - 1);
            for (std::size_t i = 0; i < all[l].size(); ++i) {
                if (all[l][i] == nowhere) continue;
                auto const number = static_cast<std::size_t>(all[l][i]);
                auto const part = static_cast<std::size_t>(
                    std::ranges::upper_bound(begins, number) - begins.begin() - 1);
                parts[part].first.push_back(static_cast<int>(i));
                parts[part].second.push_back(static_cast<int>(number - begins[part]));
            }
            for (std::size_t part = 0; part < parts.size(); ++part) {
                auto& [here, there] = parts[part];
                if (here.empty()) continue;
                if (selects)
                    links[l].push_back({&from_[part]->pattern, std::move(here), std::move(there)});
                else links[part].push_back({&from_[l]->pattern, std::move(there), std::move(here)});
            }
        }
    }
    void connect_elements(std::vector<Links>& links) const {
        for (auto const* const x : from_)
            for (std::size_t o = 0; x && o < links.size(); ++o)
                if (outputs_[o].defined())
                    links[o].push_back({&x->pattern, {}, places_in(x->shape, outputs_[o].shape())});
    }
    /// All elements to all that have the same index along each axis that the Node keeps.
    void connect_axes(std::vector<Links>& links, bool keeps_some) {
        for (std::size_t e = 0; e < from_.size(); ++e)
            for (std::size_t o = 0; from_[e] && o < links.size(); ++o) {
                if (!outputs_[o].defined()) continue;
                Shape const &shape = outputs_[o].shape(), &of = from_[e]->shape;
                Axes kept(shape.size(), -1);
                if (keeps_some) kept = node_.kept_axes(e, of.size(), shape.size());
                Shape groups(of.size(), 1);
                for (std::size_t r = 0; r < shape.size(); ++r)
                    if (kept[r] >= 0 && of[static_cast<std::size_t>(kept[r])] == shape[r])
                        groups[static_cast<std::size_t>(kept[r])] = shape[r];
                    else kept[r] = -1; // broadcast
                // from all elements of a group to the group, and from there to all its results
                groups_.push_back(linked_pattern(name_, numel(groups), columns_,
                    std::array{PatternLink{&from_[e]->pattern, places_in(groups, of), {}}}));
                Strides const steps = row_major(groups);
                Strides of_results(shape.size(), 0);
                for (std::size_t r = 0; r < shape.size(); ++r)
                    if (kept[r] >= 0) of_results[r] = steps[static_cast<std::size_t>(kept[r])];
                links[o].push_back({&groups_.back(), {}, places_by(of_results, shape)});
            }
    }

    std::string_view name_;
    std::size_t columns_;
    Node& node_;
    std::vector<Dependent const*> const& from_;
    DependentInputs inputs_; // the same
    Tensors outputs_;        // numbers, undefined where no input has an effect
    std::deque<SparsePattern> groups_;
};

} // namespace xgrad::detail

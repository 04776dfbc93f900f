// Bodies of plan.hpp.
#pragma once

#include <bit>

#include <xgrad/impl/sparse/assembly.ipp>
#include <xgrad/sparse/plan.hpp>

namespace xgrad::detail {

using By = CompressedPasses::By;

inline std::vector<Shape> shapes_of(TensorSpan all) {
    std::vector<Shape> shapes;
    for (auto const& t : all) shapes.push_back(t.shape());
    return shapes;
}
/// Throws ShapeError where tensors have other shapes than those of the plan.
inline void check_shapes(std::string_view transform, std::string_view what, TensorSpan all,
    std::vector<Shape> const& planned) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!(all[i].shape() == planned[i]))
            fail<ShapeError>(transform, ": ", what, i, " has shape ", all[i].shape(),
                ", and the plan was made for ", planned[i]);
}

/// The given pattern, checked, or the one that is found.
XGRAD_LAZY SparsePattern checked_pattern(Evaluation const& e, TensorSpan outputs,
    SparsePattern const* given, FusedGradients* fused = nullptr) {
    if (!given) return find_pattern(e.transform, e.inputs, outputs, fused);
    auto const rows = count_directions(outputs, false), cols = count_directions(e.inputs, false);
    if (given->rows() != static_cast<std::ptrdiff_t>(rows) ||
        given->cols() != static_cast<std::ptrdiff_t>(cols))
        fail<ShapeError>(e.transform, ": a pattern of ", given->rows(), " rows and ", given->cols(),
            " columns is given for derivatives of ", rows, " rows and ", cols, " columns");
    return *given;
}

/// Calls f(entry, row, column) for each entry.
template <class F> void each_entry(SparsePattern const& pattern, F const& f) {
    for (std::size_t i = 0, at = 0; i + 1 < pattern.outer().size(); ++i)
        for (int const j : pattern.row(i)) f(at++, i, static_cast<std::size_t>(j));
}
/// Stores where the entries are: place(entry, row, column) is the colour and the element.
template <class Place> void set_places(CompressedPasses& p, Place const& place) {
    auto const longest = static_cast<std::uint32_t>(std::max(p.pattern->rows(), p.pattern->cols()));
    p.shift = static_cast<int>(std::bit_width(longest));
    if (p.shift + static_cast<int>(std::bit_width(static_cast<std::uint32_t>(p.coloring.count))) >
        32)
        fail<Error>(p.transform, ": ", p.coloring.count, " colours for ", longest,
            " elements are too many: these derivatives are not sparse");
    p.from.resize(p.pattern->inner().size());
    each_entry(*p.pattern, [&](std::size_t at, std::size_t i, std::size_t j) {
        auto const [color, element] = place(at, i, j);
        p.from[at] =
            static_cast<std::uint32_t>(color) << p.shift | static_cast<std::uint32_t>(element);
    });
}

XGRAD_LAZY_BODY CompressedPasses jacobian_passes(Evaluation const& e, SparsePattern const* given) {
    CompressedPasses p;
    p.transform = "sparse_jacobian";
    p.inputs = shapes_of(e.inputs);
    p.outputs = shapes_of(e.outputs);
    p.pattern = std::make_shared<SparsePattern const>(checked_pattern(e, e.outputs, given));
    if (!given) p.graph.emplace(e.inputs, e.outputs);
    auto const transposed = p.pattern->transposed();
    static constexpr int no_limit = std::numeric_limits<int>::max();
    // A column takes one tangent of forward mode, or two where it is complex.
    int const tangents = xgrad::is_complex(e.inputs[0].dtype()) ? 2 : 1;
    int limit = no_limit;
    if (!ForwardPass(e.inputs, e.outputs).prefers_reverse()) {
        p.coloring = distance2_coloring(*p.pattern, transposed, no_limit);
        limit = p.coloring.count * tangents;
    }
    if (auto rows = distance2_coloring(transposed, *p.pattern, limit); rows.count < limit) {
        p.by = By::rows;
        p.coloring = std::move(rows);
    }
    set_places(p, [&](std::size_t, std::size_t i, std::size_t j) {
        return p.by == By::rows ? std::pair(p.coloring.color[i], j)
                                : std::pair(p.coloring.color[j], i);
    });
    return p;
}

XGRAD_LAZY_BODY CompressedPasses hessian_passes(Evaluation const& e, SparsePattern const* given) {
    CompressedPasses p;
    p.transform = "sparse_hessian";
    p.by = By::symmetric;
    p.inputs = p.outputs = shapes_of(e.inputs);
    auto const gradient = recorded_gradient(e);
    FusedGradients fused;
    auto pattern = checked_pattern(e, gradient, given, &fused);
    if (!given) p.graph.emplace(e.inputs, e.outputs);
    if (p.graph && p.graph->has_custom_nodes()) {
        p.graph.emplace(e.inputs, gradient);
        p.compares_gradients = true;
    }
    if (auto const transposed = pattern.transposed(); !(transposed == pattern)) {
        if (given)
            fail<ShapeError>(e.transform, ": the given pattern of a Hessian is not symmetric");
        Places all(static_cast<std::size_t>(pattern.rows()));
        std::iota(all.begin(), all.end(), 0);
        pattern = linked_pattern(e.transform, all.size(), all.size(),
            std::array{PatternLink{&pattern, all, {}}, PatternLink{&transposed, all, {}}});
    }
    p.pattern = std::make_shared<SparsePattern const>(std::move(pattern));
    auto const star = star_coloring(*p.pattern);
    p.coloring = star;
    set_places(p, [&](std::size_t at, std::size_t i, std::size_t j) {
        return star.in_own_row[at] ? std::pair(star.color[j], i) : std::pair(star.color[i], j);
    });
    if (!given && fused.are_direct && plan_assembly(p, fused)) try {
            // what else has second derivatives is seen in a product
            static_cast<void>(sparse_entries(p, e, true));
            return p;
        } catch (GraphError const&) {}
    p.assembled.clear();
    return p;
}

/// For each tensor 1 at the elements of some colours, from `first` on; `n` of them in a batch, or
/// one where n is 0. With `parts` of 2 the imaginary unit follows each 1.
XGRAD_LAZY Tensors seeds_of(
    TensorSpan all, std::vector<int> const& color, int first, std::size_t n, std::size_t parts) {
    Tensors seeds;
    int const* next = color.data();
    for (auto const& t : all) {
        auto const& type = *t.impl().type;
        std::size_t const count = t.numel(), width = xgrad::is_complex(type.dtype) ? 2 : 1;
        seeds.push_back(type.filled(n ? batch_shape(n * parts, t.shape()) : t.shape(), 0));
        with_reals(seeds.back(), [&]<class P>(P* to, std::size_t) {
            if (!n && width == 1)
                for (std::size_t i = 0; i < count; ++i) to[i] = next[i] == first ? P(1) : P(0);
            else
                for (std::size_t i = 0; i < count; ++i)
                    if (auto const c = static_cast<std::size_t>(next[i] - first);
                        next[i] >= first && c < std::max<std::size_t>(n, 1))
                        for (std::size_t part = 0; part < parts; ++part)
                            to[((c * parts + part) * count + i) * width + part] = P(1);
        });
        next += count;
    }
    return seeds;
}

/// Makes all passes. T is the scalar type, `forward` is null in reverse mode.
template <class T>
void compute_entries(
    CompressedPasses const& p, Evaluation const& e, ForwardPass* forward, T* entries) {
    static constexpr std::size_t small = std::size_t{1} << 16; // a batch stays in a cache
    std::size_t const parts = p.by == By::columns && is_complex<T> ? 2 : 1;
    auto const from = forward ? e.inputs : e.outputs, to = forward ? e.outputs : e.inputs;
    std::size_t const count = count_directions(to, false);
    bool const batches = forward && (parts == 2 || count + count_directions(from, false) <= small);
    auto const colors = static_cast<std::size_t>(p.coloring.count);
    std::vector<Tensors> kept(colors);
    std::vector<std::vector<T>> pieces(colors); // where a product is in several tensors
    std::vector<T const*> results(colors);      // of each colour
    for (std::size_t first = 0, n = 1; first < colors; first += n) {
        if (batches) n = std::min(max_directions / parts, colors - first);
        auto const seeds =
            seeds_of(from, p.coloring.color, static_cast<int>(first), batches ? n : 0, parts);
        Tensors& products = kept[first];
        products.resize(to.size());
        if (forward) forward->run(seeds, products, batches ? n * parts : 0);
        else pull_back(e, seeds, false, true, products);
        for (auto& y : products)
            if (y.defined() && !y.is_contiguous()) y = y.impl().type->copy(y);
        for (std::size_t c = 0; c < n; ++c) {
            if (products.size() == 1 && parts == 1 && products[0].defined()) {
                results[first + c] =
                    reinterpret_cast<T const*>(products[0].impl().array.data) + c * count;
                continue;
            }
            auto& piece = pieces[first + c];
            for (std::size_t k = 0; k < products.size(); ++k) {
                std::size_t const size = to[k].numel(), begin = piece.size();
                piece.resize(begin + size);
                if (!products[k].defined()) continue;
                auto const* at =
                    reinterpret_cast<T const*>(products[k].impl().array.data) + c * parts * size;
                if (parts == 1) std::copy_n(at, size, piece.data() + begin);
                if constexpr (is_complex<T>)
                    for (std::size_t i = 0; i < size && parts == 2; ++i)
                        piece[begin + i] = {at[i].real(), at[size + i].real()};
            }
            results[first + c] = piece.data();
        }
        if (!pieces[first].empty()) products.clear();
    }
    std::uint32_t const elements = (std::uint32_t{1} << p.shift) - 1;
    for (auto const place : p.from) *entries++ = results[place >> p.shift][place & elements];
}

/// Throws where a product with a random vector is not what the entries say.
XGRAD_LAZY void check_entries(CompressedPasses const& p, Evaluation const& e, ForwardPass* forward,
    AnyTensor const& entries) {
    struct Parts {
        std::vector<double> real, imaginary;
        void append(AnyTensor const& t) {
            auto const re = doubles_of(t, 0), sum = doubles_of(t, 1);
            for (std::size_t i = 0; i < re.size(); ++i) {
                real.push_back(re[i]);
                imaginary.push_back(sum[i] - re[i]);
            }
        }
    };
    Tensors v, product(forward ? e.outputs.size() : e.inputs.size());
    Parts vector, found, of_entries;
    for (auto const& t : forward ? e.inputs : e.outputs) {
        auto const& type = *t.impl().type;
        v.push_back(scattered(type, t.shape(),
            [begin = vector.real.size()](std::size_t i) { return scattered(begin + i, 3); }));
        // a row has derivatives of the real part
        if (!forward && xgrad::is_complex(type.dtype))
            set_to_zero(parts_of(type, v.back().impl().array, true), type.size / 2);
        vector.append(v.back());
    }
    if (forward) forward->run(v, product);
    else pull_back(e, v, false, true, product);
    for (std::size_t k = 0; k < product.size(); ++k) {
        auto const& like = forward ? e.outputs[k] : e.inputs[k];
        found.append(product[k].defined() ? product[k] : like.impl().type->filled(like.shape(), 0));
    }
    of_entries.append(entries);
    Parts sum{std::vector<double>(found.real.size()), std::vector<double>(found.real.size())};
    std::vector<double> size(found.real.size());
    each_entry(*p.pattern, [&](std::size_t at, std::size_t i, std::size_t j) {
        double const re = of_entries.real[at], im = of_entries.imaginary[at];
        std::size_t const to = forward ? i : j;
        double const x = vector.real[forward ? j : i], y = vector.imaginary[forward ? j : i];
        sum.real[to] += re * x + im * y;
        sum.imaginary[to] += forward ? 0 : im * x;
        size[to] += (std::abs(re) + std::abs(im)) * (x + std::abs(y));
    });
    double const most = size.empty() ? 0 : *std::ranges::max_element(size);
    double const tolerance = is_single(entries.dtype()) ? 0x1p-10 : 0x1p-39;
    for (std::size_t k = 0; k < size.size(); ++k) {
        double const error = std::abs(found.real[k] - sum.real[k]) +
                             (forward ? 0 : std::abs(found.imaginary[k] - sum.imaginary[k]));
        // where everything cancels, rounding errors of numbers near 1 are left
        if (error > tolerance * (size[k] + 1e-3 * most + 0.1))
            fail<GraphError>(p.transform, ": ", forward ? "row " : "column ", k,
                " has derivatives outside of the pattern at these values: a branch, an index or a "
                "mask of the function depends on them. Make another plan, or give a pattern");
    }
}

inline constexpr std::ptrdiff_t large_hessian = 1 << 15;

XGRAD_LAZY_BODY AnyTensor sparse_entries(
    CompressedPasses& p, Evaluation const& e, bool check, bool replan) {
    Tensors gradient;
    if (p.by == By::symmetric) gradient = recorded_gradient(e);
    Evaluation const of = p.by == By::symmetric ? e.with_outputs(gradient) : e;
    check_shapes(p.transform, "input ", of.inputs, p.inputs);
    TensorSpan const compared = p.compares_gradients ? of.outputs : e.outputs;
    if (auto const other = p.graph ? p.graph->difference(e.inputs, compared) : ""; !other.empty()) {
        if (!replan)
            fail<GraphError>(p.transform,
                ": the function records another graph at these values than "
                "where the plan was made: ",
                other, ". Make another plan, or give .replan = true");
        p = p.by == By::symmetric ? hessian_passes(e, nullptr) : jacobian_passes(e, nullptr);
        return sparse_entries(p, e, check);
    }
    check_shapes(p.transform, "result ", of.outputs, p.outputs);
    NoGradGuard const off;
    std::optional<ForwardPass> forward;
    if (p.by != By::rows) forward.emplace(of.inputs, of.outputs);
    // H is symmetric: without a batch a backward pass moves less memory
    if (p.by == By::symmetric && (p.pattern->rows() > large_hessian || forward->prefers_reverse()))
        forward.reset();
    auto* const pass = forward ? &*forward : nullptr;
    auto const& type = *e.inputs[0].impl().type;
    AnyTensor entries = tensor_of(type, AnyArray(Shape{p.from.size()}, type.size));
    with_type(entries, [&]<class T>(Tensor<T> const&) {
        if constexpr (Differentiable<T>) {
            T* const to = reinterpret_cast<T*>(entries.impl().array.data);
            if constexpr (!is_complex<T>)
                if (!p.assembled.empty()) return assemble_entries(p, of, to);
            compute_entries(p, of, pass, to);
        }
    });
    if (check) check_entries(p, of, pass, entries);
    return entries;
}

} // namespace xgrad::detail

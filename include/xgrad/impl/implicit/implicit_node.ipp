// The Node of a solution. Its edges lead to all tensors that the residual depends on, given or
// captured, other than x. A pass evaluates the residual F at the solution in a graph of its own and
// solves one linear system with the products of that graph:
//   backward  v with (dF/dx)^T v = -g, and the gradients are v^T dF/dtheta
//   forward   w with (dF/dx) w = -dF/dtheta t, which is the tangent
// In a recorded pass v and w are solutions of equations, too, and get such a Node.
// Read next: linear_system.ipp.
#pragma once

#include <bit>
#include <limits>

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/impl/implicit/linear_system.ipp>

namespace xgrad::detail {

/// Where the numbers of a list of tensors are in a vector of reals, row after row.
struct RealParts {
    std::vector<TypeInfo const*> types;
    std::vector<Shape> shapes;
    std::vector<std::size_t> counts; // of real numbers in a row of each tensor
    std::size_t rows = 1, size = 0;
    double eps = std::numeric_limits<double>::epsilon();

    XGRAD_LAZY RealParts(std::string_view name, TensorSpan x, bool by_rows);
    /// Undefined tensors are zeros.
    XGRAD_LAZY Reals pack(TensorSpan all) const;
    XGRAD_LAZY Tensors unpack(Reals const& all) const;
};

XGRAD_LAZY_BODY RealParts::RealParts(std::string_view name, TensorSpan x, bool by_rows) {
    if (by_rows) rows = rows_of({name, false, false, x}).count;
    for (auto const& t : x) {
        types.push_back(t.impl().type);
        shapes.push_back(t.shape());
        if (is_single(types.back()->dtype)) eps = std::numeric_limits<float>::epsilon();
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        counts.push_back(rows ? count_reals(x[i]) / rows : 0);
        size += counts.back();
    }
}
XGRAD_LAZY_BODY Reals RealParts::pack(TensorSpan all) const {
    Reals packed(rows * size, 0.), values;
    for (std::size_t k = 0, offset = 0; k < all.size(); offset += counts[k++])
        if (all[k].defined()) {
            values.resize(rows * counts[k]);
            read_reals(all[k], values.data());
            for (std::size_t r = 0; r < rows; ++r)
                std::copy_n(
                    values.data() + r * counts[k], counts[k], packed.data() + r * size + offset);
        }
    return packed;
}
XGRAD_LAZY_BODY Tensors RealParts::unpack(Reals const& packed) const {
    Tensors all;
    for (std::size_t k = 0, offset = 0; k < types.size(); offset += counts[k++]) {
        all.push_back(types[k]->filled(shapes[k], 0));
        with_reals(all.back(), [&]<class P>(P* to, std::size_t) {
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t i = 0; i < counts[k]; ++i)
                    *to++ = static_cast<P>(packed[r * size + offset + i]);
        });
    }
    return all;
}

inline void check_fits(std::string_view name, TensorSpan values, TensorSpan x) {
    check_defined(name, "the function's output", values);
    if (values.size() != x.size())
        fail<ShapeError>(
            name, ": the function returns ", values.size(), " tensors, and x has ", x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        if (values[i].shape() != x[i].shape())
            fail<ShapeError>(name, ": the function returns a tensor of shape ", values[i].shape(),
                " where x has shape ", x[i].shape());
}
/// A tolerance of the options, or the default: a power of eps.
inline double tolerance(double given, double eps, double power) {
    return given > 0. ? given : std::pow(eps, power);
}

/// An evaluation of a residual whose graph is cut off: it ends at x and at stand-ins for the
/// tensors of the outer graph that the residual depends on.
class LocalResidual {
public:
    /// `to_x`: edges to which x is connected in the end. `known`: edges that an earlier evaluation
    /// found.
    XGRAD_LAZY LocalResidual(ImplicitProblem const& p, Tensors const& x, Tensors const& theta,
        std::span<Edge const> to_x = {}, std::span<Edge const> known = {});

    RealParts const parts;
    /// The edges that lead out of the graph.
    std::span<Edge const> outside() const noexcept { return outside_; }
    Tensors const& residual() const noexcept { return residual_; }

    /// J v and J^T v for J = dF/dx, unrecorded.
    XGRAD_LAZY Reals product(Reals const& v);
    XGRAD_LAZY Reals adjoint(Reals const& v) const;
    /// A linear system with J, or with J^T.
    LinearSystem system(std::string_view what, bool transposed) {
        auto const forward = [this](Reals const& v) { return product(v); };
        auto const backward = [this](Reals const& v) { return adjoint(v); };
        LinearSystem a{name_, what, parts.rows, parts.size, parts.eps, forward, backward};
        if (transposed) std::swap(a.product, a.adjoint);
        return a;
    }
    /// Throws where rows meet.
    void check_rows() const {
        detail::check_rows({name_, false, false, x_, residual_}, {true, parts.rows});
    }
    /// |F| and |J s| of each row: see ImplicitOptions::tol.
    XGRAD_LAZY std::pair<Reals, Reals> distance(double x_scale);
    /// Throws where x is no solution.
    XGRAD_LAZY void check(ImplicitProblem const& p);

    /// v^T dF/dtheta for the edges `outside`, recorded in grad mode. It connects the graph to the
    /// outer one, and comes last.
    XGRAD_LAZY Tensors gradients(Tensors const& v);
    /// dF/dtheta t for tangents along those edges, likewise; then connect().
    XGRAD_LAZY Tensors tangents(Tensors const& t);
    void connect() { graph_.gradients({}, {}); }

private:
    XGRAD_LAZY void cut(std::uint64_t before, std::span<Edge const> known);

    std::string_view name_;
    LocalGraph graph_;
    Tensors x_, residual_, inputs_; // inputs_ stand for outside_
    std::vector<Edge> outside_;
    std::optional<ForwardPass> pass_;
};

XGRAD_LAZY_BODY LocalResidual::LocalResidual(ImplicitProblem const& p, Tensors const& x,
    Tensors const& theta, std::span<Edge const> to_x, std::span<Edge const> known)
    : parts(p.name, x, p.options.rows), name_(p.name) {
    InferenceMode const normal(false);
    EnableGradGuard const on;
    DifferentiatedScope const scope;
    link_second_order(); // sums of gradients are recorded
    // Nodes of other threads, too, are older than what is recorded here
    for (auto const& edge : known)
        if (!is_leaf(*edge.function))
            next_sequence = std::max(next_sequence, edge.function->sequence_nr());
    auto const normal_tensor = [](AnyTensor const& t) {
        return t.is_inference() ? t.impl().type->copy(alias(t)) : t;
    };
    Tensors parameters;
    for (auto const& t : theta) parameters.push_back(normal_tensor(t));
    for (std::size_t i = 0; i < x.size(); ++i)
        x_.push_back(graph_.input(normal_tensor(x[i]), to_x.empty() ? Edge() : to_x[i]));
    auto const before = next_sequence;
    auto const values = p.residual(x_, parameters);
    check_fits(p.name, values, x);
    residual_ = recorded_aliases("Residual", values);
    cut(before, known);
}

XGRAD_LAZY_BODY void LocalResidual::cut(std::uint64_t before, std::span<Edge const> known) {
    auto const is_same = [](Edge const& a) {
        return [&a](Edge const& b) { return a.function == b.function && a.input_nr == b.input_nr; };
    };
    Evaluation const call{name_, true, false, x_, residual_, before};
    call.for_each_captured([&](Edge const& edge) {
        auto const at = std::find_if(outside_.begin(), outside_.end(), is_same(edge));
        auto const index = static_cast<std::size_t>(at - outside_.begin());
        if (at == outside_.end()) {
            outside_.push_back(edge);
            inputs_.push_back(graph_.input(x_[0], edge));
        }
        // The graph is new and nobody else's, so that its edges may still change.
        const_cast<Edge&>(edge) = {inputs_[index].impl().grad_fn, 0};
    });
    if (known.empty()) return;
    for (auto const& edge : outside_)
        if (!is_leaf(*edge.function) && std::none_of(known.begin(), known.end(), is_same(edge)))
            fail<GraphError>(name_,
                ": the function depends on another tensor than when its "
                "solution was found: [",
                edge.function->name(), "]");
}

XGRAD_LAZY_BODY Reals LocalResidual::product(Reals const& v) {
    PassMode const off(false);
    if (!pass_) pass_.emplace(x_, residual_);
    Tensors results(residual_.size());
    pass_->run(parts.unpack(v), results);
    return parts.pack(results);
}
XGRAD_LAZY_BODY Reals LocalResidual::adjoint(Reals const& v) const {
    Tensors results(x_.size());
    pull_back({name_, false, false, x_, residual_}, parts.unpack(v), false, true, results);
    return parts.pack(results);
}
XGRAD_LAZY_BODY std::pair<Reals, Reals> LocalResidual::distance(double x_scale) {
    Reals s = parts.pack(x_);
    for (std::uint64_t i = 0; i < s.size(); ++i) {
        // a well-mixed bit of the index, so that no regular J has J s = 0
        bool const sign = std::popcount((i + 1) * 0x9E3779B97F4A7C15u >> 20) & 1;
        s[i] = (x_scale + std::abs(s[i])) * (sign ? 1. : -1.);
    }
    return {row_norms(parts.pack(residual_), parts.rows), row_norms(product(s), parts.rows)};
}
XGRAD_LAZY_BODY void LocalResidual::check(ImplicitProblem const& p) {
    if (!p.is_checked) return;
    auto const [norm, scale] = distance(p.options.x_scale);
    double const tol = tolerance(p.check_tol, parts.eps, 1. / 3);
    for (std::size_t r = 0; r < norm.size(); ++r)
        if (!std::isfinite(norm[r]) || !(norm[r] <= tol * scale[r]))
            fail<ConvergenceError>(p.name,
                ": there is no derivative at a point that is no solution: ",
                size_text(norm[r], tol * scale[r], r, parts.rows));
}

XGRAD_LAZY_BODY Tensors LocalResidual::gradients(Tensors const& v) {
    auto all = graph_.gradients(residual_, v);
    return {all.begin() + static_cast<std::ptrdiff_t>(x_.size()), all.end()};
}
XGRAD_LAZY_BODY Tensors LocalResidual::tangents(Tensors const& t) {
    Tensors inputs = x_, along(x_.size()), results(residual_.size());
    inputs.insert(inputs.end(), inputs_.begin(), inputs_.end());
    along.insert(along.end(), t.begin(), t.end());
    ForwardPass(inputs, residual_).run(along, results);
    for (std::size_t i = 0; i < results.size(); ++i)
        if (!results[i].defined()) results[i] = parts.types[i]->filled(parts.shapes[i], 0);
    return results;
}

inline void append_tensors(Tensors& to, TensorSpan more) {
    to.insert(to.end(), more.begin(), more.end());
}
/// Tensors from `begin` on.
inline Tensors slice_of(Tensors const& all, std::size_t begin, std::size_t count) {
    auto const first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
}
/// a + factor b, recorded in grad mode.
inline Tensors with_added(Tensors a, double factor, TensorSpan b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto const& type = *a[i].impl().type;
        a[i] = type.add(a[i], factor == 1. ? b[i] : type.scaled(b[i], factor));
    }
    return a;
}

/// The equation of v, or w (see above): J^T v + g = 0, or J w + t = 0, with (g, x, theta) or (t, x,
/// theta) in the place of theta.
XGRAD_LAZY ImplicitProblem derivative_problem(
    ImplicitProblem const& p, std::size_t count, bool transposed) {
    auto residual = [f = p.residual, name = p.name, count, transposed](
                        Tensors const& v, Tensors const& all) {
        Tensors inputs = slice_of(all, count, count);
        become_inputs(name, true, inputs);
        Tensors const outputs = [&] {
            EnableGradGuard const on;
            return f(inputs, slice_of(all, 2 * count, all.size() - 2 * count));
        }();
        Evaluation const e{name, grad_mode, false, inputs, outputs};
        Tensors products(count);
        if (transposed) vector_jacobian_product(e, v, products);
        else jacobian_vector_product(e, v, products);
        return with_added(std::move(products), 1., slice_of(all, 0, count));
    };
    ImplicitProblem of{p.name};
    of.residual = std::move(residual);
    of.options = p.options;
    of.is_symmetric = p.is_symmetric;
    return of;
}

class ImplicitNode final : public Node {
public:
    ImplicitNode(ImplicitProblem p, TensorSpan x, TensorSpan theta, std::span<Edge const> edges)
        : problem_(std::move(p)), found_(edges.begin(), edges.end()), edges_(found_) {
        for (std::size_t i = 0; i < x.size(); ++i)
            x_.push_back(SavedTensor::result(x[i], static_cast<std::uint32_t>(i)));
        for (auto const& t : theta) theta_.push_back(SavedTensor::operand(t));
        set_edges(edges_.data(), edges_.size());
        set_num_outputs(static_cast<std::uint32_t>(x_.size()));
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        differentiate(gradients, results, true);
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        differentiate(tangents, results, false);
    }
    std::string name() const override { return backward_name("Implicit"); }
    void release_saved() noexcept override {
        for (auto* all : {&x_, &theta_})
            for (auto& t : *all) t.release();
    }

private:
    void differentiate(
        std::span<AnyTensor const> given, std::span<AnyTensor> results, bool backward) {
        Tensors x, theta;
        for (auto& t : x_) x.push_back(t.unpack(*this));
        for (auto& t : theta_) theta.push_back(t.unpack(*this));
        std::vector<Edge> to_x;
        for (auto const& t : x) to_x.push_back(gradient_edge(t));
        LocalResidual local(problem_, x, theta, to_x, found_);
        local.check(problem_);
        // Which edges this evaluation has found; none of ours leads to a leaf that F makes.
        std::vector<std::size_t> index;
        for (auto const& edge : local.outside()) {
            std::size_t k = 0;
            while (k < found_.size() &&
                   (found_[k].function != edge.function || found_[k].input_nr != edge.input_nr))
                ++k;
            index.push_back(k);
        }
        Tensors v(backward ? x.size() : index.size());
        for (std::size_t i = 0; i < v.size(); ++i)
            if (backward)
                v[i] = given[i].defined() ? given[i] : x[i].impl().type->filled(x[i].shape(), 0);
            else if (index[i] < edges_.size()) v[i] = given[index[i]];
        if (!backward) v = local.tangents(v);
        Reals b = local.parts.pack(v);
        for (auto& number : b) number = -number;
        Tensors solution = local.parts.unpack(solve_linear(
            problem_, local.system(backward ? "a gradient" : "a tangent", backward), b));
        if (!backward) local.connect();
        if (recording()) {
            append_tensors(v, x);
            append_tensors(v, theta);
            solution = as_function_of(
                derivative_problem(problem_, x.size(), backward), std::move(solution), v);
        }
        if (backward) solution = local.gradients(solution);
        for (std::size_t i = 0; i < solution.size(); ++i)
            if (!backward || index[i] < edges_.size())
                results[backward ? index[i] : i] = std::move(solution[i]);
    }

    ImplicitProblem problem_;
    /// What an evaluation of the residual depends on, by which each one finds it. The edges of the
    /// Node lead to the same until a LocalResidual cuts them.
    std::vector<Edge> const found_;
    std::vector<Edge> edges_;
    std::vector<SavedTensor> x_, theta_;
};

XGRAD_LAZY_BODY Tensors as_function_of(
    ImplicitProblem p, Tensors x, Tensors const& theta, bool is_given) {
    check_defined(p.name, "x", x);
    check_defined(p.name, "theta", theta);
    for (auto& t : x) t = alias(t);
    if (!recording()) return x;
    LocalResidual local(p, x, theta);
    if (local.outside().empty()) return x;
    if (is_given) local.check(p), local.check_rows();
    Ref<Node> const node(new ImplicitNode(std::move(p), x, theta, local.outside()));
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i].impl().grad_fn = node;
        x[i].impl().output_nr = static_cast<std::uint32_t>(i);
    }
    return x;
}

} // namespace xgrad::detail

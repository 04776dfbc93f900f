// Bodies of jacobian.hpp, and what its option `rows` checks.
#pragma once

#include <xgrad/functional/graph_dependence.hpp>
#include <xgrad/functional/jacobian.hpp>
#include <xgrad/impl/functional/expression_jacobian.ipp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Problems rows_of(Evaluation const& e) {
    AnyTensor const* first = nullptr;
    for (TensorSpan const all : {e.inputs, e.outputs})
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!first) first = &all[i];
            if (all[i].dim() == 0 || all[i].shape()[0] != first->shape()[0])
                fail<ShapeError>(e.transform,
                    ": The first axis of all inputs and outputs numbers the rows, but ",
                    all.data() == e.inputs.data() ? "input " : "output ", i, " has shape ",
                    all[i].shape(), all[i].dim() ? ", and input 0 " : " and no axis",
                    all[i].dim() ? Piece(first->shape()) : Piece(""));
        }
    return {true, first ? first->shape()[0] : 1};
}

// Where the graph does not show that rows stay apart, directions do.
// A direction is a random vector that is 0 in half of the rows, or more. No row is moved in all the
// directions in which another one is (Sperner, 1928): for each pair, one direction moves only the
// first row. d directions serve d! / (d/2)!^2 rows: 14 serve a thousand.
XGRAD_LAZY_BODY void check_rows(Evaluation const& e, Problems const& rows) {
    std::size_t const n = rows.count;
    if (n < 2) return;
    ForwardPass pass(e.inputs, e.outputs);
    bool const forward = !pass.prefers_reverse(); // no hook, which may join rows, is called
    std::string const joins = find_joined_rows(e.inputs, e.outputs, n);
    if (forward && joins.empty()) return;
    std::size_t directions = 2;
    for (std::size_t served = 2; served < n;
         directions += 2) // of d + 2: (2d + 2) / (d/2 + 1) as many
        served = served * 2 * (directions + 1) / (directions / 2 + 1);
    std::vector<std::uint64_t> moved; // with a bit for each direction
    for (std::uint64_t code = (std::uint64_t{1} << directions / 2) - 1; moved.size() < n;) {
        moved.push_back(code);
        auto const lowest = code & -code, next = code + lowest; // with as many bits
        code = next | (((code ^ next) >> 2) / lowest);
    }
    std::uint32_t random = 1;
    NoGradGuard const off;
    TensorSpan const from = forward ? e.inputs : e.outputs, to = forward ? e.outputs : e.inputs;
    std::size_t const in_a_pass = forward ? max_directions : 1;
    for (std::size_t first = 0; first < directions; first += in_a_pass) {
        std::size_t const count = std::min(in_a_pass, directions - first);
        // calls f(element, row, 1 where this direction moves it)
        auto const visit = [&](AnyTensor const& t, auto const& f) {
            with_reals(t, [&](auto* at, std::size_t reals) {
                for (std::size_t d = first; d < first + count; ++d)
                    for (std::size_t row = 0; row < n; ++row)
                        for (std::size_t i = 0; i < reals / (n * count); ++i)
                            f(*at++, row, static_cast<unsigned>(moved[row] >> d & 1));
            });
        };
        Tensors vector, product(to.size());
        for (auto const& t : from) {
            Shape const shape = forward ? batch_shape(count, t.shape()) : t.shape();
            vector.push_back(t.impl().type->filled(shape, 0));
            visit(vector.back(), [&]<class P>(P& x, std::size_t, unsigned moves) {
                random = random * 747796405 + 2891336453; // between 1 and 2, times 2^20
                x = static_cast<P>(moves * (0x100000 + (random >> 12)));
            });
        }
        if (forward) pass.run(vector, product, count);
        else pull_back(e, vector, false, true, product);
        for (auto const& t : product)
            if (t.defined())
                visit(t.is_contiguous() ? t : t.impl().type->copy(t),
                    [&](auto const& x, std::size_t row, unsigned moves) {
                        if (moves || x == 0) return; // NaN may be an effect
                        fail<GraphError>(e.transform, ": Row ", row,
                            forward ? " depends" : " has an effect",
                            " on other rows: each row is a problem of its own",
                            joins.empty() ? "" : ", and " + joins + " joins rows");
                    });
    }
}

XGRAD_LAZY_BODY AnyArray parts_of(TypeInfo const& type, AnyArray a, bool imaginary) {
    if (!xgrad::is_complex(type.dtype)) return a;
    Strides twice = a.strides;
    for (auto& step : twice) step *= 2;
    a.set_view(Shape(a.shape), std::move(twice),
        imaginary ? static_cast<std::ptrdiff_t>(type.size / 2) : 0);
    return a;
}

XGRAD_LAZY_BODY void copy_parts(
    TypeInfo const& to_type, AnyArray const& to, TypeInfo const& from_type, AnyArray const& from) {
    auto const copy = [&](auto const& t) {
        is_single(from_type.dtype) ? copy_elements(t, as<float>(from))
                                   : copy_elements(t, as<double>(from));
    };
    is_single(to_type.dtype) ? copy(as<float>(to)) : copy(as<double>(to));
}

XGRAD_LAZY_BODY void set_unit(AnyTensor const& t, std::size_t place, bool imaginary) {
    with_reals(t, [&](auto* x, std::size_t n) { x[place * (n / t.numel()) + imaginary] = 1; });
}

XGRAD_LAZY_BODY std::vector<Tensors> zero_blocks(
    Evaluation const& e, Problems const& problems, std::size_t written) {
    auto const size_of = [&](TensorSpan all) { return count_directions(all, false, problems); };
    bool const all = written == problems.count * size_of(e.outputs) * size_of(e.inputs);
    std::vector<Tensors> blocks(e.outputs.size());
    for (std::size_t k = 0; k < blocks.size(); ++k)
        for (auto const& x : e.inputs) {
            Shape shape = e.outputs[k].shape();
            for (auto const n : problems.part_of(x.shape())) shape.push_back(n);
            auto const& type = *x.impl().type;
            blocks[k].push_back(all ? AnyTensor(TensorImpl::make(type, {shape, type.size}))
                                    : type.filled(shape, 0));
        }
    return blocks;
}

XGRAD_LAZY_BODY Tensors reverse_rows(
    Evaluation const& e, Problems const& problems, std::size_t index) {
    auto const& output = e.outputs[index];
    PassMode const mode(e.create_graph);
    Evaluation const of_output = e.with_outputs({&output, 1});
    std::vector<RowStack> blocks;
    for (auto const& x : e.inputs)
        blocks.emplace_back(*x.impl().type, output.shape(), x.shape(), problems.are_rows);
    std::size_t const size = numel(problems.part_of(output.shape()));
    for (std::size_t row = 0, rows = output.requires_grad() ? size : 0; row < rows; ++row) {
        AnyTensor const grad_output = output.impl().type->filled(output.shape(), 0);
        for (std::size_t i = 0; i < problems.count; ++i) set_unit(grad_output, i * size + row);
        Tensors gradients(e.inputs.size());
        pull_back(of_output, {&grad_output, 1}, e.create_graph, true, gradients);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (gradients[i].defined()) blocks[i].put(row, gradients[i]);
            else if (e.strict)
                fail<GraphError>(e.transform, ": Output ", index,
                    " of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode.");
        }
    }
    Tensors all;
    for (auto& block : blocks) all.push_back(block.finish());
    if (e.strict && e.create_graph)
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].numel() && !all[i].requires_grad())
                fail<GraphError>(e.transform,
                    ": The jacobian of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode when create_graph=True.");
    return all;
}

XGRAD_LAZY_BODY std::size_t count_directions(
    TensorSpan all, bool both_parts, Problems const& problems) {
    std::size_t n = 0;
    for (auto const& t : all)
        n += numel(problems.part_of(t.shape())) *
             (both_parts && xgrad::is_complex(t.dtype()) ? 2 : 1);
    return n;
}

XGRAD_LAZY_BODY void put_columns(AnyTensor const& block, std::size_t columns, Column const& first,
    std::size_t count, AnyTensor const& along, std::size_t row) {
    auto const &type = *block.impl().type, &from_type = *along.impl().type;
    AnyArray from = AxisSlice{0, row, count, true}.view_of(along.impl().array, from_type.size),
             to = block.impl().array;
    Strides steps = row_major(from.shape);
    for (auto& step : steps) step *= static_cast<std::ptrdiff_t>(columns);
    steps[0] = 1;
    to.set_view(
        from.shape, std::move(steps), static_cast<std::ptrdiff_t>(first.element * type.size));
    copy_parts(
        type, parts_of(type, to, first.imaginary), from_type, parts_of(from_type, from, false));
}

XGRAD_LAZY_BODY std::vector<Tensors> forward_columns(
    Evaluation const& e, Problems const& problems, ForwardPass& pass) {
    NoGradGuard const off;
    auto const blocks = zero_blocks(e, problems);
    std::vector<std::size_t> sizes;
    for (auto const& x : e.inputs) sizes.push_back(numel(problems.part_of(x.shape())));
    std::size_t const directions = count_directions(e.inputs, true, problems);
    Column next;
    for (std::size_t start = 0; start < directions; start += max_directions) {
        std::size_t const count = std::min(max_directions, directions - start);
        std::vector<Column> columns;
        Tensors tangents(e.inputs.size()), along(e.outputs.size());
        while (columns.size() < count) {
            auto const& x = e.inputs[next.input];
            if (next.element == sizes[next.input]) {
                next = {next.input + 1, 0, false};
                continue;
            }
            auto& tangent = tangents[next.input];
            if (!tangent.defined())
                tangent = x.impl().type->filled(batch_shape(count, x.shape()), 0);
            for (std::size_t i = 0; i < problems.count; ++i)
                set_unit(tangent,
                    (columns.size() * problems.count + i) * sizes[next.input] + next.element,
                    next.imaginary);
            columns.push_back(next);
            next.imaginary = xgrad::is_complex(x.dtype()) && !next.imaginary;
            next.element += !next.imaginary;
        }
        pass.run(tangents, along, count);
        // Columns of one real input are neighbours, and are copied together.
        for (std::size_t row = 0, rows = 0; row < count; row += rows) {
            std::size_t const i = columns[row].input;
            for (rows = 1; row + rows < count && columns[row + rows].input == i &&
                           !xgrad::is_complex(e.inputs[i].dtype());)
                ++rows;
            for (std::size_t k = 0; k < along.size(); ++k)
                if (along[k].defined())
                    put_columns(blocks[k][i], sizes[i], columns[row], rows, along[k], row);
        }
    }
    return blocks;
}

XGRAD_LAZY_BODY std::vector<Tensors> jacobian_blocks(
    Evaluation const& e, JacobianOptions const& options, bool is_symmetric) {
    check_outputs(e);
    bool const must_reverse = e.create_graph || e.strict;
    if (options.strategy == Mode::forward && must_reverse)
        fail<GraphError>(
            e.transform, ": create_graph or strict and Mode::forward are not supported together");
    Problems const problems = options.rows ? rows_of(e) : Problems();
    bool const chooses = options.strategy == Mode::automatic && !must_reverse && !anomaly.functions;
    if (chooses)
        if (auto blocks = ExpressionJacobian<>(e, problems).run(); !blocks.empty()) return blocks;
    if (options.rows) check_rows(e, problems);
    if (options.strategy == Mode::forward) {
        ForwardPass pass(e.inputs, e.outputs);
        return forward_columns(e, problems, pass);
    }
    if (chooses && count_directions(e.inputs, true, problems) <
                       count_directions(e.outputs, false, problems) + is_symmetric)
        if (ForwardPass pass(e.inputs, e.outputs); !pass.prefers_reverse()) try {
                return forward_columns(e, problems, pass);
            } catch (GraphError const&) {
                // A function without forward mode: what is wrong otherwise, reverse mode reports.
            }
    std::vector<Tensors> blocks;
    for (std::size_t k = 0; k < e.outputs.size(); ++k)
        blocks.push_back(reverse_rows(e, problems, k));
    return blocks;
}

XGRAD_LAZY_BODY Tensors recorded_gradient(Evaluation const& e, bool rows) {
    check_outputs(e);
    auto const& y = e.outputs[0];
    if (y.numel() != 1 && !(rows && y.dim() == 1))
        fail<ShapeError>(e.transform, ": The Tensor returned by the function given to ",
            e.transform, " should contain a single element", rows ? " for each row" : "",
            ", its shape is ", y.shape());
    if (rows && y.dim()) check_rows(e, rows_of(e));
    Tensors gradient(e.inputs.size());
    AnyTensor const ones = y.impl().type->filled(y.shape(), 1);
    pull_back(e, {&ones, 1}, true, true, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i)
        if (e.strict && gradient[i].defined() && !gradient[i].requires_grad())
            fail<GraphError>(e.transform,
                ": the jacobian of the user-provided function with respect to input ", i,
                " does not require gradients. This is not allowed in strict mode. You should "
                "ensure that your function is twice differentiable and the jacobian "
                "depends on the inputs (this would be violated by a linear function for example).");
    fill_in(e, "The output of the user-provided function", "jacobian", gradient);
    return gradient;
}

} // namespace xgrad::detail

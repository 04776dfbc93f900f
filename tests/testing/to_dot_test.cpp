// to_dot(): vertices and arrows of known graphs, names, saved tensors, hooks, escaping, large
// graphs.
#include <xgrad/testing/to_dot.hpp>

#include "tensor/compare.hpp"

namespace {
std::size_t count(std::string const& text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}
bool has(std::string const& text, std::string_view part) { return count(text, part) == 1; }
} // namespace

TEST_CASE("the picture of a small graph") {
    D const x({{1.}, {2.}}, xg::requires_grad), w({{3., 4.}, {5., 6.}}, xg::requires_grad);
    D const h = matmul(w, x);
    D const loss = sum(square(h) * x);
    std::string const wanted = R"dot(digraph graph_of_xgrad {
    node [shape=box, style=filled, fillcolor=lightgrey, fontname="monospace", fontsize=10];
    root0 [label="loss\nfloat64 []", fillcolor=palegreen];
    n0 -> root0;
    n0 [label="SumBackward\nSum(Mul(Square(a), b))"];
    n1 -> n0;
    n2 -> n0;
    n1 [label="MatmulBackward\nMatmul(a, b)"];
    n3 -> n1;
    n2 -> n1;
    n2 [label="x\nfloat64 [2, 1]", fillcolor=lightblue];
    n3 [label="w\nfloat64 [2, 2]", fillcolor=lightblue];
}
)dot";
    CHECK(xg::to_dot(loss, {.names = {{"x", x}, {"w", w}, {"loss", loss}}}) == wanted);
}

TEST_CASE("what is shown is chosen") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D y = exp(x) * w;
    D z = y * y;
    auto const plain = xg::to_dot(z, {.show_formulas = false});
    CHECK(count(plain, "MulBackward") == 2);
    CHECK_FALSE(has(plain, "Mul(a, b)"));
    CHECK(
        has(xg::to_dot(z, {.names = {{"y", y}}}), "y: float64 [2]\\nMulBackward\\nMul(Exp(a), b)"));
    auto const saved = xg::to_dot(z, {.show_saved = true});
    CHECK(has(saved, "Mul(Exp(a), b)\\nsaves a: float64 [2]\\nsaves b: float64 [2]"));
    w.detach() += 1.;
    CHECK(has(xg::to_dot(z, {.show_saved = true}), "saves b: changed in place since"));
    y.register_hook([](D const&) {});
    y.register_hook([](D const&) {});
    y.retain_grad();
    y.grad_fn()->register_prehook([](auto const&) {});
    y.grad_fn()->register_hook([](auto const&, auto const&) {});
    x.register_post_accumulate_grad_hook([](D const&) {});
    auto const hooks = xg::to_dot(z);
    CHECK(has(hooks, "2 tensor hooks\\nretains grad\\n1 prehook\\n1 hook"));
    CHECK(has(hooks, "float64 [2]\\n1 post-accumulate hook\", fillcolor=lightblue"));
    CHECK_FALSE(has(xg::to_dot(z, {.show_hooks = false}), "prehook"));
}

TEST_CASE("freed and packed tensors are not asked for") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = exp(x);
    sum(y).backward();
    CHECK(has(xg::to_dot(y, {.show_saved = true}), "saves result: freed"));
    int unpacked = 0;
    xg::SavedTensorsHooks const packing([](xg::AnyTensor const& t) { return t.as<double>(); },
        [&](D const& t) { return ++unpacked, t; });
    D const z = exp(x);
    CHECK(has(xg::to_dot(z, {.show_saved = true}), "saves result: packed"));
    CHECK(unpacked == 0);
}

TEST_CASE("several outputs, several roots, no graph at all") {
    D const m({{1., 2.}, {3., 4.}}, xg::requires_grad);
    auto const rows = m.unbind();
    D const y = rows[1] * 2.;
    auto const text = xg::to_dot({y, rows[0]}, {.names = {{"second", rows[1]}}});
    CHECK(has(text, "n0 -> root0;"));
    CHECK(has(text, "n1 -> root1 [label=\"0\"];"));
    CHECK(has(text, "n1 -> n0 [label=\"1\"];"));
    CHECK(has(text, "second (output 1): float64 [2]\\nUnbindBackward"));
    CHECK(has(xg::to_dot(D({1.})), "root0 [label=\"float64 [1]\", fillcolor=palegreen];\n}"));
    CHECK_THROWS_WITH_AS(xg::to_dot(y, {.names = {{"nothing", D()}}}),
        "to_dot: the tensor named 'nothing' is undefined", xg::GraphError);
}

TEST_CASE("labels are escaped") {
    D const x({1.}, xg::requires_grad);
    auto const text =
        xg::to_dot(D(x * 2.), {.names = {{"a \"quoted\" \\N &lt; name\nin two lines", x}}});
    std::string const label =
        R"(label="a \"quoted\" \\N &amp;lt; name\nin two lines\nfloat64 [1]")";
    CHECK(has(text, label));
}

TEST_CASE("a graph of 100,000 Nodes is written without recursion") {
    D const x({1.}, xg::requires_grad);
    D y = x;
    for (int i = 0; i < 100000; ++i) y = y + 1.;
    auto const text = xg::to_dot(y);
    CHECK(count(text, "AddBackward") == 100000);
    CHECK(count(text, " -> ") == 100001);
}

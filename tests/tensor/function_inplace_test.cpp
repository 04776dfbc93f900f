// Custom Functions that change arguments in place, or return them, or views of them.
#include "compare.hpp"

namespace {

/// a += b.
struct AddInPlace : xg::Function<AddInPlace> {
    static D forward(Context& ctx, D a, D const& b) {
        ctx.mark_dirty(a);
        a += b;
        return a;
    }
    static auto backward(Context&, D const& g) { return std::tuple(g, g); }
};

/// Doubles its argument by hand, and returns it twice.
struct DoubleInPlace : xg::Function<DoubleInPlace> {
    static std::tuple<D, D> forward(Context& ctx, D const& x) {
        ctx.mark_dirty(x);
        for (double& element : std::span(x.array_of().begin(), x.numel())) element *= 2;
        return {x, x};
    }
    static auto backward(Context&, D const& g, D const& h) { return 2. * g + 2. * h; }
};

/// exp in place, whose backward needs the new values.
struct ExpInPlace : xg::Function<ExpInPlace> {
    using Saved = std::tuple<D>;
    static auto forward(Context& ctx, D x, D const& factor) {
        ctx.mark_dirty(x);
        x.exp_();
        ctx.save_for_backward(x);
        return std::tuple(factor * 1., x);
    }
    static auto backward(Context& ctx, D const& g, D const& h) {
        auto const [y] = ctx.saved_tensors();
        return std::tuple(h * y, g);
    }
};

struct Forgetful : xg::Function<Forgetful> {
    static D forward(Context& ctx, D x) {
        ctx.mark_dirty(x);
        x += 1.;
        return x * 1.;
    }
    static auto backward(Context&, D const& g) { return g; }
};

/// Its first argument as it is, and the sum.
struct Identity : xg::Function<Identity> {
    static std::tuple<D, D> forward(Context&, D const& a, D const& b) { return {a, a + b}; }
    static auto backward(Context&, D const& g, D const& h) { return std::tuple(g + h, h); }
};
struct Same : xg::Function<Same> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        CHECK(x.defined());
        return 2. * g;
    }
};

/// A view of the argument; the gradient is ten times too large, so that one sees which way it took.
struct FirstRow : xg::Function<FirstRow> {
    static D forward(Context&, D const& x) { return x[0]; }
    static auto backward(Context&, D const& g) {
        D all = xg::zeros({2, 2});
        all[0] = 10. * g;
        return all;
    }
};
/// A view of what forward itself made.
struct Transposed : xg::Function<Transposed> {
    static D forward(Context&, D const& x) { return D(2. * x).t(); }
    static auto backward(Context&, D const& g) { return 2. * g.t(); }
};

/// Changes two arguments.
struct BothInPlace : xg::Function<BothInPlace> {
    static std::tuple<D, D> forward(Context& ctx, D a, D b) {
        ctx.mark_dirty(a, b);
        a += 1.;
        b += 1.;
        return {a, b};
    }
    static auto backward(Context&, D const& g, D const& h) { return std::tuple(g, h); }
};

struct MarksAResult : xg::Function<MarksAResult> {
    static D forward(Context& ctx, D const& x) {
        D y = 2. * x;
        ctx.mark_dirty(y);
        return y;
    }
    static auto backward(Context&, D const& g) { return 2. * g; }
};

constexpr char const* in_custom_function =
    "This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the "
    "custom backward associated with the custom Function, leading to incorrect gradients. This "
    "behavior is forbidden. You can fix this by cloning the output of "
    "the custom Function.";

template <class F> std::string message(F f) {
    try {
        f();
    } catch (xg::Error const& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace

TEST_CASE(
    "an argument that is marked dirty and returned is the result itself, with a new history") {
    D const x({1., 2.}), y({3., 4.}, xg::requires_grad);
    auto const before = x.version();
    D const q = AddInPlace::apply(x, y);
    CHECK(q.is_same(x));
    CHECK(x.requires_grad());
    CHECK(x.grad_fn()->name() == "AddInPlaceBackward");
    CHECK(x.version() > before);
    CHECK(difference(q, {4., 6.}) == "");
    sum(q).backward();
    CHECK(difference(y.grad(), {1., 1.}) == "");
}

TEST_CASE("what the argument was before keeps its own history, its hooks and its place in others' "
          "graphs") {
    D const x({1., 2.}, xg::requires_grad);
    D t = x * 1., early = t + 0.;
    std::vector<double> old_values, new_values;
    t.register_hook([&](D const& g) { old_values = values(g); });
    auto const [a, b] = DoubleInPlace::apply(t);
    CHECK(a.is_same(b));
    CHECK(a.is_same(t));
    t.register_hook([&](D const& g) { new_values = values(g); });
    t.retain_grad();
    sum(a + b * 10. + early).backward();
    CHECK(difference(a, {2., 4.}) == "");
    CHECK(new_values == std::vector{11., 11.});
    CHECK(old_values == std::vector{23., 23.});
    CHECK(difference(t.grad(), {11., 11.}) == "");
    CHECK(difference(x.grad(), {23., 23.}) == "");
}

TEST_CASE("writing through raw memory counts as a change where it is marked") {
    D const x({1., 2.});
    D const t = x * 1.;
    auto const before = t.version();
    DoubleInPlace::apply(t);
    CHECK(t.version() == before + 1);
    CHECK_FALSE(t.requires_grad());
    CHECK(difference(t, {2., 4.}) == "");
    D const w({1., 1.}, xg::requires_grad), v = w * 1.;
    D const product = v * v;
    DoubleInPlace::apply(v);
    CHECK_THROWS_AS(sum(product).backward(), xg::VersionError);
}

TEST_CASE("new values that are saved are those of the result") {
    D const x({0.5, 1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    D const t = x * 2.;
    auto const [p, q] = ExpInPlace::apply(t, w);
    CHECK(q.is_same(t));
    CHECK(q.output_nr() == 1);
    auto const [gx, gw] = xg::grad(sum(q + p), xg::inputs(x, w), {.create_graph = true});
    CHECK(difference(gx, D(2. * exp(2. * x))) == "");
    CHECK(difference(gw, {1., 1.}) == "");
    CHECK(difference(xg::grad(sum(gx), x), D(4. * exp(2. * x))) == "");
}

TEST_CASE(
    "leaves that collect a gradient may not be changed, and are not where it is marked first") {
    D const x({1., 2.}, xg::requires_grad);
    CHECK(message([&] { DoubleInPlace::apply(x); }) ==
          "DoubleInPlace: a leaf Variable that requires grad has been used in an in-place "
          "operation.");
    CHECK(difference(x, {1., 2.}) == "");
    CHECK(x.is_leaf());
    CHECK(message([&] { AddInPlace::apply(x[0], D(1., xg::requires_grad)); })
              .find("a view of a leaf Variable that requires grad is being used in an in-place "
                    "operation.") != std::string::npos);
    CHECK(difference(x, {1., 2.}) == "");
    xg::NoGradGuard const off;
    DoubleInPlace::apply(x);
    CHECK(difference(x, {2., 4.}) == "");
    CHECK(x.is_leaf());
}

TEST_CASE("a view may be changed: the gradient of its base takes the Function's way there") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad), y({10., 20.}, xg::requires_grad);
    D const base = x * 1., row = base[0], column = base(xt::all(), 1);
    CHECK(AddInPlace::apply(row, y).is_same(row));
    CHECK(difference(base, {{11., 22.}, {3., 4.}}) == "");
    sum(base * D({{1., 2.}, {3., 4.}}) + 0. * row).backward();
    CHECK(difference(x.grad(), {{1., 2.}, {3., 4.}}) == "");
    CHECK(difference(y.grad(), {1., 2.}) == "");
    CHECK(column.grad_fn()->name() == "AsStridedBackward");
    D const plain({{1., 2.}, {3., 4.}});
    AddInPlace::apply(plain[1], y);
    CHECK(plain.requires_grad());
    sum(plain).backward();
    CHECK(difference(y.grad(), {2., 3.}) == "");
    auto const [a, b] = DoubleInPlace::apply(plain[0]);
    sum(a + b).backward();
    CHECK(difference(plain, {{2., 4.}, {13., 24.}}) == "");
}

TEST_CASE("marks that cannot be right are errors") {
    D const x({1., 2.}, xg::requires_grad);
    D const t = x * 1.;
    CHECK(message([&] { Forgetful::apply(t); }) ==
          "Forgetful: Some elements marked as dirty during the forward method were not returned as "
          "output. The inputs that are modified inplace must all be outputs of the Function.");
    D const m = D({{1., 2.}, {3., 4.}}) * x;
    CHECK(message([&] { BothInPlace::apply(m[0], m[1]); }) ==
          "BothInPlace: two inputs that share memory are marked dirty");
    CHECK(message([&] {
        DoubleInPlace::apply(t.expand({2, 2}));
    })
              .find("DoubleInPlace::mark_dirty: unsupported operation: more than one element of "
                    "the written-to tensor") == 0);
    std::vector<std::string> warnings;
    auto const handler =
        xg::set_warning_handler([&](std::string const& text) { warnings.push_back(text); });
    D const y = MarksAResult::apply(x);
    xg::set_warning_handler(handler);
    CHECK(warnings == std::vector<std::string>{
                          "MarksAResult: Only input Tensors should be given to mark_dirty(). If a "
                          "Tensor is not an input, there is no need to pass it to mark_dirty()."});
    sum(y).backward();
    CHECK(difference(x.grad(), {2., 2.}) == "");
}

TEST_CASE(
    "an argument that is returned as it is comes back as a view with the Function's history") {
    D const x({1., 2.}, xg::requires_grad), y({3., 4.}, xg::requires_grad);
    auto [q, p] = Identity::apply(x, y);
    CHECK_FALSE(q.is_same(x));
    CHECK(share_memory(q, x));
    CHECK(x.is_leaf());
    CHECK(q.grad_fn()->name() == "IdentityBackward");
    int calls = 0;
    q.register_hook([&](D const& g) {
        ++calls;
        CHECK(difference(g, {1., 1.}) == "");
    });
    sum(q + p + x).backward();
    CHECK(calls == 1);
    CHECK(difference(x.grad(), {3., 3.}) == "");
    CHECK(difference(y.grad(), {1., 1.}) == "");

    D const z = Same::apply(y);
    CHECK_FALSE(z.is_same(y));
    CHECK(difference(xg::grad(sum(z), y), {2., 2.}) == "");
}

TEST_CASE("views that a Function returns may not be changed in place, nor what they look at before "
          "they are used") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const t = x * 1.;
    D row = FirstRow::apply(t);
    CHECK(share_memory(row, t));
    CHECK(row.grad_fn()->name() == "FirstRowBackward");
    CHECK(difference(xg::grad(sum(row), x, {.retain_graph = true}), {{10., 10.}, {0., 0.}}) == "");
    CHECK(message([&] { row += 1.; }) ==
          std::string("Output 0 of FirstRowBackward is a view and is being modified inplace. ") +
              in_custom_function);
    CHECK(message([&] { row[0] += 1.; }).find(in_custom_function) != std::string::npos);
    CHECK(difference(row, {1., 2.}) == "");
    D same = Same::apply(t);
    CHECK(message([&] { same.exp_(); }) ==
          std::string("Output 0 of SameBackward is a view and is being modified inplace. ") +
              in_custom_function);
    D other = Same::apply(t).clone();
    other += 1.;
    CHECK(difference(xg::grad(sum(other), x, {.retain_graph = true}), {{2., 2.}, {2., 2.}}) == "");
    D(t) += 1.;
    CHECK(message([&] { sum(row).backward(); }) ==
          std::string("Output 0 of FirstRowBackward is a view and its base or another view of its "
                      "base has been modified inplace. ") +
              in_custom_function);
    CHECK(to_string(row) == "Tensor([2, 3], shape=[2], dtype=float64, grad_fn=<Invalid>)");
}

TEST_CASE("a view of memory that forward made is an ordinary result") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D y = Transposed::apply(x);
    CHECK_FALSE(y.is_view());
    y += 1.;
    sum(y * y).backward();
    CHECK(difference(y, {{3., 7.}, {5., 9.}}) == "");
    CHECK(difference(x.grad(), {{12., 20.}, {28., 36.}}) == "");
}

TEST_CASE("where nothing is recorded an argument comes back as it is, without history") {
    D const x({1., 2.}, xg::requires_grad), plain({1., 2.});
    CHECK(Same::apply(plain).is_same(plain));
    xg::NoGradGuard const off;
    D const y = Same::apply(x);
    CHECK(share_memory(y, x));
    CHECK_FALSE(y.requires_grad());
    CHECK_FALSE(y.grad_fn());
    CHECK(x.requires_grad());
    CHECK_FALSE(FirstRow::apply(xg::ones({2, 2})).grad_fn());
}

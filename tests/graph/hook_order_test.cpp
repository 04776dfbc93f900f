// In which order hooks run, and what each of them sees.
#include "walk.hpp"

namespace {
using Gradients = std::vector<xg::AnyTensor>;

double number(xg::AnyTensor const& g) { return g.as<double>().item(); }

Gradients times(Gradients const& g, double factor) { return {D(g[0].as<double>() * factor)}; }

/// Records the name of each hook that is called, and a number.
struct Log {
    std::vector<std::string> lines;
    void operator()(std::string const& who, double g) {
        std::ostringstream out;
        out << who << ' ' << g;
        lines.push_back(out.str());
    }
};
using Lines = std::vector<std::string>;
} // namespace

TEST_CASE("at an intermediate: tensor hooks, retain_grad, Node prehooks, the Node, post hooks") {
    D x(1., xg::requires_grad);
    D y = x * 2.;
    Log log;
    // registered in the reverse order, since only hooks of one kind depend on that
    y.grad_fn()->register_hook([&](Gradients const& in, Gradients const& out) {
        log("post: inputs", number(in[0]));
        log("post: outputs", number(out[0]));
    });
    y.grad_fn()->register_prehook([&](Gradients const& g) {
        log("pre", number(g[0]));
        log("pre: retained", y.grad().item());
        return times(g, 5);
    });
    y.retain_grad();
    y.register_hook([&](D const& g) {
        log("first", g.item());
        return D(g * 3.);
    });
    y.register_hook([&](D const& g) {
        log("second", g.item());
        return D(g * 10.);
    });
    Lines const wanted{"first 1", "second 3", "pre 30", "pre: retained 30", "post: inputs 300",
        "post: outputs 150"};
    SUBCASE("at the root of the pass") { y.backward(); }
    SUBCASE("further on") { D(y + 1.).backward(); }
    CHECK(log.lines == wanted);
    CHECK(y.grad().item() == 30);
    CHECK(x.grad().item() == 300);
}

TEST_CASE("at a leaf: tensor hooks, prehooks, accumulation, post-accumulate hooks, post hooks") {
    D x(1., xg::requires_grad);
    auto const leaf = xg::detail::gradient_edge(x).function;
    Log log;
    leaf->register_hook([&](Gradients const& in, Gradients const& out) {
        CHECK(in.empty());
        log("post", number(out[0]));
    });
    x.register_post_accumulate_grad_hook([&](D const& t) {
        CHECK(t.is_same(x));
        log("accumulated", t.grad().item());
    });
    x.register_post_accumulate_grad_hook(
        [&](D const& t) { log("accumulated too", t.grad().item()); });
    leaf->register_prehook([&](Gradients const& g) {
        log("pre", number(g[0]));
        return times(g, 7);
    });
    bool defined_before = true;
    x.register_hook([&](D const& g) {
        log("hook", g.item());
        defined_before = x.grad().defined();
        return D(g * 3.);
    });
    D const y = x * 2.;
    y.backward();
    CHECK(log.lines == Lines{"hook 2", "pre 6", "accumulated 42", "accumulated too 42", "post 42"});
    CHECK_FALSE(defined_before);
    log.lines.clear();
    D const z = x * 2.;
    D(z + 0.).backward(); // the sum has grown, but the post hook sees what this pass has added
    CHECK(log.lines == Lines{"hook 2", "pre 6", "accumulated 84", "accumulated too 84", "post 42"});
}

TEST_CASE("prehooks of a Node run after the tensor hooks, whenever either was registered") {
    std::string order;
    D a(1., xg::requires_grad);
    D b = a.clone();
    auto const on_tensor = [&](D const& g) {
        order += 't';
        return D(g * 3.);
    };
    auto const on_node = [&](Gradients const& g) {
        order += 'n';
        return times(g, 2);
    };
    b.grad_fn()->register_prehook(on_node);
    b.register_hook(on_tensor);
    b.grad_fn()->register_prehook(on_node);
    auto const leaf = b.grad_fn()->next_edges()[0].function;
    a.register_hook(on_tensor);
    leaf->register_prehook(on_node);
    a.register_hook(on_tensor);
    D const z = sum(b);

    SUBCASE("in backward") {
        z.backward();
        CHECK(order == "tnnttn");
        CHECK(a.grad().item() == 12 * 18);
    }
    SUBCASE("in grad(), which does not run the leaf's Node") {
        CHECK(grad(z, a).item() == 12 * 9);
        CHECK(order == "tnntt");
        CHECK_FALSE(a.grad().defined());
    }
    SUBCASE("in backward to the intermediate, whose .grad is what the tensor hooks made") {
        z.backward({.inputs = {b}});
        CHECK(order == "tnn");
        CHECK(b.grad().item() == 3);
        CHECK_FALSE(a.grad().defined());
    }
}

TEST_CASE("retain_grad sees all tensor hooks and no Node hook, under grad() too") {
    D const x(1., xg::requires_grad);
    D y = x * 2.;
    y.register_hook([](D const& g) { return D(g * 2.); });
    y.retain_grad();
    y.register_hook([](D const& g) { return D(g * 2.); });
    y.grad_fn()->register_prehook([](Gradients const& g) { return times(g, 100); });
    SUBCASE("backward") { D(y * 1.).backward(); }
    SUBCASE("grad of it") { CHECK(grad(D(y * 1.), y).item() == 4); }
    SUBCASE("grad of what is behind it") { CHECK(grad(D(y * 1.), x).item() == 800); }
    CHECK(y.grad().item() == 4);
}

TEST_CASE("each Node is done with its hooks before the next one starts") {
    D x(1., xg::requires_grad), w(1., xg::requires_grad);
    std::string order;
    auto const watch = [&](D& t, char name) {
        t.register_hook([&order, name](D const&) { order += name; });
        auto const node = xg::detail::gradient_edge(t).function;
        node->register_prehook([&order](Gradients const&) { order += '<'; });
        node->register_hook([&order](Gradients const&, Gradients const&) { order += '>'; });
    };
    D a = x * 2., b = a * w;
    watch(x, 'x');
    watch(w, 'w');
    watch(a, 'a');
    watch(b, 'b');
    D(b + 1.).backward();
    CHECK(order == "b<>w<>a<>x<>");
}

TEST_CASE("where two passes share an intermediate, its hooks run once in each") {
    D const x(1., xg::requires_grad);
    D y = x * 2.;
    std::vector<double> seen;
    y.register_hook([&](D const& g) { seen.push_back(g.item()); });
    D const a = y * 3., b = y * 4.;
    a.backward({.retain_graph = true});
    b.backward();
    CHECK(seen == std::vector<double>{3, 4});
}

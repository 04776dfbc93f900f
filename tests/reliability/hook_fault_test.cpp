// Hooks that throw: the exception comes out of backward() as what it is, nothing leaks, and the
// graph can be used again.
#include "allocations.hpp"

namespace {

enum class Kind {
    tensor_hook,
    leaf_hook,
    node_prehook,
    node_posthook,
    post_accumulate,
    multi_grad,
    callback,
    pack,
    unpack
};
constexpr char const* names[] = {"a tensor hook", "a leaf's hook", "a Node's prehook",
    "a Node's hook", "a hook after accumulation", "a hook of several gradients", "a callback",
    "pack", "unpack"};

/// No std::exception, and of no type that the library knows.
struct Boom {
    Kind kind;
    long call;
};

/// Throws at the k-th call of one kind.
struct Fault {
    Kind kind;
    long k, calls = 0;
    void operator()(Kind at) {
        if (at != kind || k < 0 || calls++ != k) return;
        allocations::injected = true;
        throw Boom{kind, k};
    }
    bool is_what(Boom const& boom) const { return boom.kind == kind && boom.call == k; }
};

/// A graph with every kind of hook on it; none changes a gradient.
struct Hooked {
    LeafTensors leaf;
    std::shared_ptr<Fault> fault;
    std::shared_ptr<std::vector<xg::WeakTensor>> unpacked =
        std::make_shared<std::vector<xg::WeakTensor>>();
    Steps s;

    Hooked(Kind kind, long k) : fault(std::make_shared<Fault>(Fault{kind, k})) {}

    void record() {
        auto const at = fault;
        xg::SavedTensorsHooks const hooks(
            [at](xg::AnyTensor const& t) {
                (*at)(Kind::pack);
                return t;
            },
            [at, seen = unpacked](xg::AnyTensor const& t) -> xg::AnyTensor {
                (*at)(Kind::unpack);
                xg::AnyTensor const copy = t.dtype() == xg::DType::float64
                                               ? xg::AnyTensor(t.as<double>().clone())
                                               : xg::AnyTensor(t.as<complex<double>>().clone());
                seen->emplace_back(copy);
                return copy;
            });
        s = ::record(leaf);
    }

    void add_hooks() {
        auto const at = fault;
        auto const on_tensor = [at](Kind kind) {
            return [at, kind](auto const& g) {
                (*at)(kind);
                return g;
            };
        };
        s.a.register_hook(on_tensor(Kind::tensor_hook));
        s.e.register_hook(on_tensor(Kind::tensor_hook));
        s.h.register_hook(on_tensor(Kind::tensor_hook));
        s.row.register_hook(on_tensor(Kind::tensor_hook));
        leaf.x.register_hook(on_tensor(Kind::leaf_hook));
        leaf.z.register_hook(on_tensor(Kind::leaf_hook));
        for (xg::AnyTensor const& t :
            {xg::AnyTensor(s.joined), xg::AnyTensor(s.e), xg::AnyTensor(s.loss)}) {
            t.grad_fn()->register_prehook([at](auto const& g) {
                (*at)(Kind::node_prehook);
                return g;
            });
            t.grad_fn()->register_hook([at](auto const& in, auto const&) {
                (*at)(Kind::node_posthook);
                return in;
            });
        }
        leaf.w.register_post_accumulate_grad_hook([at](D const&) { (*at)(Kind::post_accumulate); });
        leaf.b.register_post_accumulate_grad_hook([at](D const&) { (*at)(Kind::post_accumulate); });
        xg::register_multi_grad_hook({s.a, leaf.z}, [at](auto const&) { (*at)(Kind::multi_grad); });
        s.h.register_hook([at](D const&) {
            for (int i = 0; i < 3; ++i) xg::queue_callback([at] { (*at)(Kind::callback); });
        });
    }

    bool nothing_stays_unpacked() const {
        for (auto const& t : *unpacked)
            if (t.lock().defined()) return false;
        return true;
    }

    /// Runs f; true where it threw the fault, as itself.
    template <class F> bool throws(F f) {
        try {
            f();
        } catch (Boom const& boom) { return fault->is_what(boom); }
        return false;
    }
};

/// The gradients where no hook throws: those of the same graph without hooks.
Gradients4 gradients_with_hooks() {
    Hooked graph(Kind::pack, -1);
    graph.record();
    graph.add_hooks();
    graph.s.loss.backward();
    Gradients4 const found{
        graph.leaf.x.grad(), graph.leaf.w.grad(), graph.leaf.b.grad(), graph.leaf.z.grad()};
    CHECK(agrees(found, gradients(LeafTensors())));
    return found;
}

/// True where xgrad says that nothing of a pass is going on.
bool is_idle() {
    try {
        xg::queue_callback([] {});
    } catch (xg::GraphError const&) { return xg::is_grad_enabled(); }
    return false;
}

} // namespace

TEST_CASE(
    "whatever a hook throws at whichever call comes out as itself, and the pass can be repeated") {
    Gradients4 const right = gradients_with_hooks();
    for (auto const kind :
        {Kind::tensor_hook, Kind::leaf_hook, Kind::node_prehook, Kind::node_posthook,
            Kind::post_accumulate, Kind::multi_grad, Kind::callback, Kind::pack, Kind::unpack}) {
        INFO(std::string(names[static_cast<int>(kind)]));
        auto const outcome = allocations::each_fault([&](long k) -> char const* {
            Hooked graph(kind, k);
            bool met = graph.throws([&] { graph.record(); });
            if (met) graph.record();
            if (!graph.leaf.untouched()) return "an operand changed";
            graph.add_hooks();
            met |= graph.throws([&] { graph.s.loss.backward({.retain_graph = true}); });
            if (k >= 0 && met != allocations::injected) return "the exception was lost or changed";
            graph.fault->k = -1;
            if (!is_idle()) return "the pass goes on";
            if (!graph.nothing_stays_unpacked()) return "an unpacked tensor is still held";
            if (!whole_or_none(graph.leaf, right)) return "a leaf has part of its gradient";
            if (kind == Kind::callback && !complete(graph.leaf, right))
                return "a callback ran before the pass was complete";
            graph.leaf.zero_grad();
            graph.s.loss.backward();
            return complete(graph.leaf, right) ? nullptr : "the repeated pass is wrong";
        });
        CHECK(outcome.faults > 0);
        CHECK(outcome.leaked == 0);
        CHECK(outcome.wrong == nullptr);
    }
}

TEST_CASE("a graph that is not kept can be recorded anew after a hook threw, and the rest of the "
          "old one still knows what it lost") {
    Gradients4 const right = gradients_with_hooks();
    for (auto const kind : {Kind::tensor_hook, Kind::leaf_hook, Kind::node_prehook,
             Kind::node_posthook, Kind::unpack}) {
        INFO(std::string(names[static_cast<int>(kind)]));
        auto const outcome = allocations::each_fault([&](long k) -> char const* {
            Hooked graph(kind, k);
            graph.record();
            graph.add_hooks();
            bool const met = graph.throws([&] { graph.s.loss.backward(); });
            if (k >= 0 && met != allocations::injected) return "the exception was lost or changed";
            graph.fault->k = -1;
            if (met) {
                graph.leaf.zero_grad();
                try {
                    graph.s.loss.backward();
                    if (!complete(graph.leaf, right)) return "the old graph gives a wrong gradient";
                } catch (xg::GraphError const& e) {
                    if (std::string_view(e.what()).find("Specify .retain_graph = true") ==
                        std::string_view::npos)
                        return "another error than that of a freed graph";
                }
            }
            graph.leaf.zero_grad();
            graph.record();
            graph.s.loss.backward();
            return complete(graph.leaf, right) ? nullptr : "the new graph gives a wrong gradient";
        });
        CHECK(outcome.faults > 0);
        CHECK(outcome.leaked == 0);
        CHECK(outcome.wrong == nullptr);
    }
}

TEST_CASE("the gradients of the graph of all operations are those of its central differences") {
    LeafTensors const leaf;
    auto const right = gradients(leaf);
    double const step = 1e-5;
    auto const slope = [&](D const& t, std::ptrdiff_t i) {
        double* const at = D(t).mutable_data() + i;
        double const before = *at;
        *at = before + step;
        double const above = record(leaf).loss.item();
        *at = before - step;
        double const below = record(leaf).loss.item();
        *at = before;
        return (above - below) / (2 * step);
    };
    for (auto const& [t, g] :
        {std::pair(leaf.x, right.x), std::pair(leaf.w, right.w), std::pair(leaf.b, right.b)})
        for (std::size_t i = 0; i < t.numel(); ++i)
            CHECK(slope(t, static_cast<std::ptrdiff_t>(i)) ==
                  doctest::Approx(g.data()[i]).epsilon(1e-7));
}

TEST_CASE(
    "where a leaf's own hooks throw, its .grad is there from the hooks after accumulation on") {
    D x({1., 2.}, xg::requires_grad);
    D const y = x * 3.;
    xg::Node* const accumulates = y.grad_fn()->next_edges()[0].function.get();
    xg::HookHandle handle;
    bool there = false;
    auto const fail = [] { throw Boom{Kind::leaf_hook, 0}; };
    SUBCASE("a tensor hook") {
        handle = x.register_hook([=](D const&) { fail(); });
    }
    SUBCASE("a prehook of its Node") {
        handle = accumulates->register_prehook([=](auto const&) { fail(); });
    }
    SUBCASE("a hook after accumulation") {
        handle = x.register_post_accumulate_grad_hook([=](D const&) { fail(); });
        there = true;
    }
    SUBCASE("a hook of its Node") {
        handle = accumulates->register_hook([=](auto const&, auto const&) { fail(); });
        there = true;
    }
    SUBCASE("a callback") {
        handle = x.register_hook([=](D const&) { xg::queue_callback(fail); });
        there = true;
    }
    CHECK_THROWS_AS(sum(y).backward(), Boom);
    CHECK(difference(x.grad(), there ? D({3., 3.}) : D()) == "");
    handle.remove();
    x.zero_grad();
    sum(y).backward();
    CHECK(difference(x.grad(), {3., 3.}) == "");
}

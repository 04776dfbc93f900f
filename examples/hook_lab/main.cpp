// Every kind of hook at once on one small model, as a log of what fires when and with which
// numbers. The log is compared with expected.txt beside this file.
// ctest:
//
// The model is y = (w x + b)^2 with w = 3, b = 1 and x = 2, and the loss is y itself: with s = w x
// + b = 7, dL/dy = 1, dL/ds = 2 s = 14, dL/dw = x dL/ds = 28, dL/db = 14 and dL/dx = w dL/ds = 42.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <xgrad/nn.hpp>

#include <options.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
using D = xg::Tensor<double>;
using Tensors = std::vector<xg::AnyTensor>;

namespace {

/// The log: one line for each hook, further in where a call or a pass is under way.
class Log {
public:
    void heading(std::string const& text) { text_ << text << '\n'; }
    void operator()(std::string const& who, Tensors const& seen = {}) {
        text_ << "  " << who;
        char const* separator = ": ";
        for (auto const& t : seen) text_ << std::exchange(separator, ", ") << number(t);
        text_ << '\n';
    }
    /// For each gradient, or pair of lists of gradients.
    void operator()(std::string const& who, Tensors const& inputs, Tensors const& outputs) {
        (*this)(who + ", inputs", inputs);
        (*this)(who + ", outputs", outputs);
    }
    std::string text() const { return text_.str(); }

private:
    static std::string number(xg::AnyTensor const& t) {
        std::ostringstream s;
        if (t.defined()) s << t.as<double>().item();
        else s << "undefined";
        return s.str();
    }
    std::ostringstream text_;
};

struct Affine : nn::Module<Affine> {
    nn::Parameter<double> weight{*this, "weight", D({3.})}, bias{*this, "bias", D({1.})};
    D forward(D const& x) { return weight * x + bias; }
};

/// y = s^2 with s = w x + b. Hooks on the tensor s, and on the Node that squares it, are set while
/// it runs.
struct Net : nn::Module<Net> {
    nn::Child<Affine> affine{*this, "affine"};
    Log& log;
    explicit Net(Log& l) : log(l) {}

    D forward(D const& x) {
        D s = affine(x);
        D y = square(s);
        s.register_hook([this](D const& g) {
            log("tensor hook of s, which queues a callback", {g});
            xg::queue_callback([this] { log("the callback"); });
        });
        s.retain_grad();
        y.grad_fn()->register_prehook(
            [this](Tensors const& outputs) { log("prehook of the Node of y", outputs); });
        y.grad_fn()->register_hook([this](Tensors const& inputs, Tensors const& outputs) {
            log("hook of the Node of y", inputs, outputs);
        });
        inner = s;
        return y;
    }
    D inner;
};

std::string run() {
    Log log;
    Net net(log);
    auto const kind = [](nn::AnyModule& m) { return std::string(m.kind()); };
    xg::HookHandle of_all[] = {
        nn::register_module_forward_pre_hook([&](nn::AnyModule& m, Tensors const& in) {
            log("forward pre-hook of all modules, " + kind(m), in);
        }),
        nn::register_module_forward_hook(
            [&](nn::AnyModule& m, Tensors const& in, Tensors const& out) {
                log("forward hook of all modules, " + kind(m), in, out);
            }),
        nn::register_module_full_backward_pre_hook([&](nn::AnyModule& m, Tensors const& out) {
            log("backward pre-hook of all modules, " + kind(m), out);
        }),
        nn::register_module_full_backward_hook(
            [&](nn::AnyModule& m, Tensors const& in, Tensors const& out) {
                log("backward hook of all modules, " + kind(m), in, out);
            }),
    };
    auto pre = net.register_forward_pre_hook(
        [&](Net&, D const& x) { log("forward pre-hook of Net", {x}); });
    net.register_forward_hook([&](Net&, std::tuple<D> const& in, D const& y) {
        log("forward hook of Net", {std::get<0>(in)}, {y});
    });
    net.register_full_backward_pre_hook(
        [&](Net&, Tensors const& out) { log("backward pre-hook of Net", out); });
    net.register_full_backward_hook(
        [&](Net&, Tensors const& in, Tensors const& out) { log("backward hook of Net", in, out); });
    net.affine.register_full_backward_hook([&](Affine&, Tensors const& in, Tensors const& out) {
        log("backward hook of Affine", in, out);
    });

    D weight = net.affine.weight, bias = net.affine.bias;
    weight.register_hook([&](D const& g) { log("tensor hook of weight", {g}); });
    weight.register_post_accumulate_grad_hook([&](D const& leaf) {
        log("post-accumulate hook of weight, which sees .grad()", {leaf.grad()});
    });
    xg::register_multi_grad_hook({weight, bias},
        [&](Tensors const& all) { log("multi-grad hook of weight and bias", all); });
    xg::register_multi_grad_hook(
        {weight, bias},
        [&](xg::AnyTensor const& first) { log("multi-grad hook of weight or bias", {first}); },
        xg::any);

    D const x({2.}, xg::requires_grad);
    log.heading("forward");
    D y;
    {
        xg::SavedTensorsHooks const packing(
            [&](xg::AnyTensor const& t) {
                log("pack", {t});
                return t.as<double>().clone();
            },
            [&](D const& t) {
                log("unpack", {t});
                return t;
            });
        y = net(x);
    }
    log.heading("backward");
    y.backward();
    log.heading("gradients");
    log("s, retained", {net.inner.grad()});
    log("weight, bias and x", {weight.grad(), bias.grad(), x.grad()});

    log.heading("without hooks of all modules, and without the pre-hook of Net: forward");
    for (auto& handle : of_all) handle.remove();
    pre.remove();
    y = net(x);
    log.heading("grad(y, weight)");
    auto const g = xg::grad(y, weight);
    log("it is", {g});
    return log.text();
}

int compare(std::string const& expected_path) {
    auto const text = run();
    std::fputs(text.c_str(), stdout);
    std::ifstream file(expected_path);
    std::string const expected{std::istreambuf_iterator<char>(file), {}};
    if (text == expected) return 0;
    std::istringstream got(text), wanted(expected);
    std::string a, b;
    std::size_t line = 1;
    while (std::getline(got, a) && std::getline(wanted, b) && a == b) ++line;
    std::fprintf(stderr, "error: the log differs from '%s' in line %zu, which should be '%s'\n",
        expected_path.c_str(), line, b.c_str());
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    return examples::exit_code([&] {
        std::string expected =
            (std::filesystem::path(__FILE__).parent_path() / "expected.txt").string();
        examples::Options options(
            "Fires every kind of hook, and compares the log with an expected one.");
        options.text("expected", expected, "the file with the expected log");
        options.parse(argc, argv);
        return compare(expected);
    });
}

// A library that a program opens, with a copy of xgrad's headers of its own.
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void apply(D const& x, D& y) { y = sum(sin(x) * x); }
EXPORTED void use_constant(D const& constant) {
    D const w({3., 4.}, xg::requires_grad);
    (sum(w * constant) + dot(w, constant) + sum(xg::cat({w, constant}))).backward();
}
EXPORTED void differentiate(D const& y) { y.backward(); }
EXPORTED void make_leaf(D& x) { x = D({1., 2.}, xg::requires_grad); }
EXPORTED void call_after(D& x, bool& called) {
    x.register_hook([&called](D const&) { xg::queue_callback([&called] { called = true; }); });
}
EXPORTED bool records() { return xg::is_grad_enabled(); }
EXPORTED void count_calls(D& x, int& calls) {
    x.register_hook([&calls](D const& g) {
        ++calls;
        return 2 * g;
    });
}
EXPORTED void second(D const& y, D const& x, D& result) {
    D const first = xg::grad(y, x, {.create_graph = true});
    result = xg::grad(sum(first), x);
}
EXPORTED void seed(unsigned number) { xg::manual_seed(number); }
EXPORTED void fail(D const& x) { D const y = matmul(x, x); }

// expect: verdict::Function<\s*Twice\s*>::forward_takes_no_Context_and_no_setup_context_takes<xgrad::Context<Twice> ?, std::tuple<xgrad::Tensor<double> ?>, xgrad::Tensor<double>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(D const& x) { return 2. * x; }
#ifndef MISTAKE
    static void setup_context(Context&, std::tuple<D> const&, D const&) {}
#endif
    static D backward(Context&, D const& g) { return 2. * g; }
};

int main() { D y = Twice::apply(D({3.})); }

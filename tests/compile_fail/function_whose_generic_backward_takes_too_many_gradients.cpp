// expect: (?s)\A(?!.*Function<\s*\w+\s*>::(?:has_no_|backward_))(?=.*no matching function for call to .{0,20}backward)
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
#ifdef MISTAKE
    static D backward(Context&, auto const& g, auto const& h) { return g + h; }
#else
    static D backward(Context&, auto const& g) { return 2. * g; }
#endif
};

int main() { D y = Twice::apply(D({1., 2.})); }

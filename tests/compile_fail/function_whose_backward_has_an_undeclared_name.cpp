// expect: (?s)\A(?!.*Function<\s*\w+\s*>::(?:has_no_|backward_(?!returns_nothing_or_has_an_error_told_above)))(?!.*error:.*error:.*error:)(?=.*(?:scales. was not declared|undeclared identifier 'scales'))
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Scaled : xgrad::Function<Scaled> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static auto backward(Context&, D const& g) {
        double const scale = 2.;
#ifdef MISTAKE
        D const gradient = scales * g;
#else
        D const gradient = scale * g;
#endif
        return gradient;
    }
};

int main() { D y = Scaled::apply(D({1., 2.})); }

// expect: verdict::Function<\s*Twice\s*>::backward_returns_too_many_gradients<xgrad::verdict::given<2>, xgrad::verdict::wanted<1>
#include <xgrad/xgrad.hpp>

using D = xgrad::Tensor<double>;

struct Twice : xgrad::Function<Twice> {
    static D forward(Context&, D const& x) { return 2. * x; }
    static auto backward(Context&, D const& g) {
#ifdef MISTAKE
        return std::tuple(2. * g, std::nullopt);
#else
        return std::tuple(2. * g);
#endif
    }
};

int main() { D y = Twice::apply(D({1., 2.})); }

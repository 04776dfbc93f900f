// expect: vmap: it takes a function, \[&\]\(auto const& x\) \{ \.\.\. \}
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const a({{2., 0.}, {0., 3.}}), x({{1., 2.}});
#ifdef MISTAKE
    xgrad::vmap(a)(x);
#else
    xgrad::vmap([&](auto const& each) { return matmul(a, each); })(x);
#endif
}

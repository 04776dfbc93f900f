// expect: deleted function.*no_such_option_or_wrong_arguments.*hessian
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
    auto const f = [](auto const& y) { return sum(y * y); };
#ifdef MISTAKE
    xgrad::hessian(f, x, {.create_graf = true});
#else
    xgrad::hessian(f, x, {.create_graph = true});
#endif
}

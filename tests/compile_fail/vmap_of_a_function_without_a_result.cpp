// expect: vmap: the function must return tensors
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    xgrad::vmap([](auto const& each) { static_cast<void>(each + 1.); })(x);
#else
    xgrad::vmap([](auto const& each) { return each + 1.; })(x);
#endif
}

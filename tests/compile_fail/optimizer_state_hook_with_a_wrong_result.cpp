// expect: a hook on the state of an optimizer returns nothing, or the StateDict to go on with
#include <xgrad/optim.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.}, xgrad::requires_grad);
    xgrad::optim::SGD sgd(std::vector<xgrad::AnyTensor>{x}, {.lr = 0.1});
#ifdef MISTAKE
    sgd.register_state_dict_post_hook(
        [](xgrad::optim::Optimizer&, xgrad::StateDict const& state) { return state.size(); });
#else
    sgd.register_state_dict_post_hook(
        [](xgrad::optim::Optimizer&, xgrad::StateDict const& state) { return state; });
#endif
}

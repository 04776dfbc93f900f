// expect: register_load_state_dict_pre_hook: a hook takes the module, the state and the prefix of the module's names
#include <xgrad/nn.hpp>

int main() {
    xgrad::nn::Linear<double> layer(2, 1);
#ifdef MISTAKE
    layer.register_load_state_dict_pre_hook([](auto&, xgrad::StateDict&, int) {});
#else
    layer.register_load_state_dict_pre_hook([](auto&, xgrad::StateDict&, std::string const&) {});
#endif
}

// expect: a registration hook returns nothing, or the tensor to go on with
#include <xgrad/nn.hpp>

int main() {
#ifdef MISTAKE
    xgrad::nn::register_module_buffer_registration_hook(
        [](xgrad::nn::AnyModule&, std::string const&, xgrad::AnyTensor const&) { return 1; });
#else
    xgrad::nn::register_module_buffer_registration_hook(
        [](xgrad::nn::AnyModule&, std::string const&, xgrad::AnyTensor const& t) { return t; });
#endif
}

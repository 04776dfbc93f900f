// expect: saved tensor hooks: unpack takes a const& to what pack returns
#include <xgrad/xgrad.hpp>

int main() {
    auto const pack = [](xgrad::AnyTensor const& t) { return t.as<double>(); };
#ifdef MISTAKE
    xgrad::SavedTensorsHooks const hooks(pack, [](int) { return xgrad::Tensor<double>(); });
#else
    xgrad::SavedTensorsHooks const hooks(pack, [](xgrad::Tensor<double> const& t) { return t; });
#endif
}

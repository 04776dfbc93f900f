// Bodies of layers.hpp.
#pragma once

#include <xgrad/package/layers.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION Registry& registry() {
    [[maybe_unused]] static bool const added = (add_layers(Registry::program()), true);
    return Registry::program();
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> make_container(
    std::string_view name, std::optional<DType> dtype) {
    if (name == "xgrad.nn.ModuleList" && !dtype)
        return std::make_unique<nn::ModuleList<nn::AnyModule>>();
    if (name != "xgrad.nn.Sequential" || !dtype) return nullptr;
    switch (*dtype) {
    case DType::float32:
        return std::make_unique<nn::Sequential<float>>();
    case DType::float64:
        return std::make_unique<nn::Sequential<double>>();
    case DType::complex64:
        return std::make_unique<nn::Sequential<std::complex<float>>>();
    case DType::complex128:
        return std::make_unique<nn::Sequential<std::complex<double>>>();
    default:
        return nullptr;
    }
}

} // namespace xgrad::package::detail

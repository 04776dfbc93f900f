// Bodies of initializers.hpp.
#pragma once

#include <xgrad/nn/initializers.hpp>

namespace xgrad::nn::init {

XGRAD_FUNCTION double calculate_gain(
    Choice<Nonlinearity> nonlinearity, std::optional<double> param) {
    double const slope = param.value_or(0.01);
    switch (nonlinearity) {
    case Nonlinearity::tanh:
        return 5. / 3;
    case Nonlinearity::relu:
        return std::numbers::sqrt2;
    case Nonlinearity::leaky_relu:
        return std::sqrt(2 / (1 + slope * slope));
    case Nonlinearity::selu:
        return 0.75;
    default:
        return 1;
    }
}

} // namespace xgrad::nn::init

namespace xgrad::nn::init::detail {

XGRAD_FUNCTION Fans fans(std::string_view name, Shape const& shape) {
    if (shape.size() < 2)
        xgrad::detail::fail<ShapeError>(name,
            ": Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, of "
            "shape ",
            shape);
    double field = 1;
    for (std::size_t d = 2; d < shape.size(); ++d) field *= static_cast<double>(shape[d]);
    return {static_cast<double>(shape[1]) * field, static_cast<double>(shape[0]) * field};
}

} // namespace xgrad::nn::init::detail

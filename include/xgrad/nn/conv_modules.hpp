// Convolutions as modules: `nn::Conv2d<float> layer(3, 16, 3, {.stride = 2, .padding = 1});`
//
// Shapes: those of the functions in conv.hpp; weight: [O, C/groups, K...], transposed [C, O/groups,
// K...].
// Gradients: of input, weight and bias, as those of the functions in conv.hpp.
// Errors: channels that groups do not divide, and options that are not positive, are a ShapeError
// of the constructor; an input that does not fit is a ShapeError of the call. A tensor of another
// scalar type does not compile.
#pragma once

#include <xgrad/nn/conv.hpp>
#include <xgrad/nn/init.hpp>
#include <xgrad/nn/module.hpp>

namespace xgrad::nn {

namespace detail {

/// weight [first, second / groups, kernel...] and bias [out_channels]. Both are initialised
/// uniformly on
/// +-1/sqrt(fan_in), where fan_in is the product of the weight's extents after the first; for
/// complex numbers both parts are.
template <class Self, Differentiable T, std::size_t D, class OptionsOf>
struct ConvLayer : Module<Self> {
    using Options = OptionsOf;
    Options options;
    Parameter<T> weight, bias;

    ConvLayer(std::size_t in_channels, std::size_t out_channels, PerAxis<D> kernel_size,
        Options const& o = {})
        : options(checked(in_channels, out_channels, kernel_size, o)),
          weight(*this, "weight", begin(in_channels, out_channels, kernel_size, true)),
          bias(*this, "bias",
              o.bias ? begin(in_channels, out_channels, kernel_size, false) : Tensor<T>()) {}
    ConvLayer(std::size_t in_channels, std::size_t out_channels, PerAxis<D> kernel_size,
        PerAxis<D> stride, PerAxis<D> padding = 0)
        : ConvLayer(in_channels, out_channels, kernel_size,
              Options{.stride = stride, .padding = padding}) {}
    std::string extra_repr() const override {
        PerAxis<D> kernel(0);
        for (std::size_t d = 0; d < D; ++d)
            kernel.along[d] = static_cast<std::ptrdiff_t>(weight.shape()[2 + d]);
        std::size_t const first = weight.shape()[0], second = weight.shape()[1] * options.groups;
        std::string text = std::to_string(transposed ? first : second) + ", " +
                           std::to_string(transposed ? second : first) +
                           ", kernel_size=" + option_text(kernel) +
                           ", stride=" + option_text(options.stride);
        auto const add = [&text](char const* name, PerAxis<D> const& value, int usual) {
            if (value.along != PerAxis<D>(usual).along) text += ", " + (name + option_text(value));
        };
        add("padding=", options.padding, 0);
        add("dilation=", options.dilation, 1);
        if constexpr (transposed) add("output_padding=", options.output_padding, 0);
        if (options.groups != 1) text += ", groups=" + std::to_string(options.groups);
        return bias.defined() ? text : text + ", bias=false";
    }

private:
    static constexpr bool transposed = std::same_as<Options, ConvTransposeOptions<D>>;
    static Options const& checked(
        std::size_t in, std::size_t out, PerAxis<D> const& kernel, Options const& o) {
        constexpr auto name = xgrad::detail::type_name<Self>;
        if (o.groups == 0)
            xgrad::detail::fail<ShapeError>(name, ": groups must be a positive integer");
        if (in % o.groups || out % o.groups)
            xgrad::detail::fail<ShapeError>(name,
                in % o.groups ? ": in_channels " : ": out_channels ", in % o.groups ? in : out,
                " must be divisible by groups ", o.groups);
        check_window(name, kernel, o.stride, o.padding, o.dilation);
        return o;
    }
    Tensor<T> begin(
        std::size_t in, std::size_t out, PerAxis<D> const& kernel, bool is_weight) const {
        std::size_t const first = transposed ? in : out, second = transposed ? out : in;
        Shape shape{first, second / options.groups};
        for (auto const n : kernel.along) shape.push_back(static_cast<std::size_t>(n));
        std::size_t const fan_in = first ? numel(shape) / first : 0;
        return uniform_for<T>(fan_in, is_weight ? shape : Shape{out});
    }
};

} // namespace detail

/// functional::conv1d() with a weight and a bias, initialised uniformly on
/// +-1/sqrt(in_channels kernel_size / groups).
template <Differentiable T = double>
struct Conv1d : detail::ConvLayer<Conv1d<T>, T, 1, ConvOptions<1>> {
    using detail::ConvLayer<Conv1d, T, 1, ConvOptions<1>>::ConvLayer;
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv1d(x, this->weight, this->bias, this->options);
    }
};
Conv1d(std::size_t, std::size_t, PerAxis<1>, ConvOptions<1> const& = {}) -> Conv1d<>;
Conv1d(std::size_t, std::size_t, PerAxis<1>, PerAxis<1>, PerAxis<1> = 0) -> Conv1d<>;
/// functional::conv2d() with a weight and a bias.
template <Differentiable T = double>
struct Conv2d : detail::ConvLayer<Conv2d<T>, T, 2, ConvOptions<2>> {
    using detail::ConvLayer<Conv2d, T, 2, ConvOptions<2>>::ConvLayer;
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv2d(x, this->weight, this->bias, this->options);
    }
};
Conv2d(std::size_t, std::size_t, PerAxis<2>, ConvOptions<2> const& = {}) -> Conv2d<>;
Conv2d(std::size_t, std::size_t, PerAxis<2>, PerAxis<2>, PerAxis<2> = 0) -> Conv2d<>;
/// functional::conv_transpose1d() with a weight and a bias, initialised uniformly on
/// +-1/sqrt(out_channels kernel_size / groups).
template <Differentiable T = double>
struct ConvTranspose1d : detail::ConvLayer<ConvTranspose1d<T>, T, 1, ConvTransposeOptions<1>> {
    using detail::ConvLayer<ConvTranspose1d, T, 1, ConvTransposeOptions<1>>::ConvLayer;
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv_transpose1d(x, this->weight, this->bias, this->options);
    }
};
ConvTranspose1d(std::size_t, std::size_t, PerAxis<1>, ConvTransposeOptions<1> const& = {})
    -> ConvTranspose1d<>;
ConvTranspose1d(std::size_t, std::size_t, PerAxis<1>, PerAxis<1>, PerAxis<1> = 0)
    -> ConvTranspose1d<>;
/// functional::conv_transpose2d() with a weight and a bias.
template <Differentiable T = double>
struct ConvTranspose2d : detail::ConvLayer<ConvTranspose2d<T>, T, 2, ConvTransposeOptions<2>> {
    using detail::ConvLayer<ConvTranspose2d, T, 2, ConvTransposeOptions<2>>::ConvLayer;
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv_transpose2d(x, this->weight, this->bias, this->options);
    }
};
ConvTranspose2d(std::size_t, std::size_t, PerAxis<2>, ConvTransposeOptions<2> const& = {})
    -> ConvTranspose2d<>;
ConvTranspose2d(std::size_t, std::size_t, PerAxis<2>, PerAxis<2>, PerAxis<2> = 0)
    -> ConvTranspose2d<>;

} // namespace xgrad::nn

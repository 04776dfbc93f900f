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

    ConvLayer(std::string_view name, std::size_t in, std::size_t out, bool transposed,
        PerAxis<D> kernel, Options const& o)
        : options(checked(name, in, out, kernel, o)),
          weight(
              *this, "weight", begin(transposed ? in : out, transposed ? out : in, kernel, true)),
          bias(*this, "bias",
              o.bias ? begin(transposed ? in : out, transposed ? out : in, kernel, false, out)
                     : Tensor<T>()) {}
    std::string extra_repr() const override {
        PerAxis<D> kernel(0);
        for (std::size_t d = 0; d < D; ++d)
            kernel.along[d] = static_cast<std::ptrdiff_t>(weight.shape()[2 + d]);
        constexpr bool transposed = std::same_as<Options, ConvTransposeOptions<D>>;
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
    static Options const& checked(std::string_view name, std::size_t in, std::size_t out,
        PerAxis<D> const& kernel, Options const& o) {
        if (o.groups == 0)
            xgrad::detail::fail<ShapeError>(name, ": groups must be a positive integer");
        if (in % o.groups)
            xgrad::detail::fail<ShapeError>(name, ": in_channels must be divisible by groups");
        if (out % o.groups)
            xgrad::detail::fail<ShapeError>(name, ": out_channels must be divisible by groups");
        check_window(name, kernel, o.stride, o.padding, o.dilation);
        return o;
    }
    Tensor<T> begin(std::size_t first, std::size_t second, PerAxis<D> const& kernel, bool is_weight,
        std::size_t length = 0) const {
        Shape shape{first, second / options.groups};
        for (auto const n : kernel.along) shape.push_back(static_cast<std::size_t>(n));
        std::size_t const fan_in = first ? numel(shape) / first : 0;
        return uniform_for<T>(fan_in, is_weight ? shape : Shape{length});
    }
};

} // namespace detail

/// functional::conv1d() with a weight and a bias, initialised uniformly on
/// +-1/sqrt(in_channels kernel_size / groups).
template <Differentiable T = double>
struct Conv1d : detail::ConvLayer<Conv1d<T>, T, 1, ConvOptions<1>> {
    Conv1d(std::size_t in_channels, std::size_t out_channels, PerAxis<1> kernel_size,
        ConvOptions<1> const& o = {})
        : detail::ConvLayer<Conv1d<T>, T, 1, ConvOptions<1>>(
              "Conv1d", in_channels, out_channels, false, kernel_size, o) {}
    Conv1d(std::size_t in_channels, std::size_t out_channels, PerAxis<1> kernel_size,
        PerAxis<1> stride, PerAxis<1> padding = 0)
        : Conv1d(in_channels, out_channels, kernel_size,
              ConvOptions<1>{.stride = stride, .padding = padding}) {}
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv1d(x, this->weight, this->bias, this->options);
    }
};
/// functional::conv2d() with a weight and a bias.
template <Differentiable T = double>
struct Conv2d : detail::ConvLayer<Conv2d<T>, T, 2, ConvOptions<2>> {
    Conv2d(std::size_t in_channels, std::size_t out_channels, PerAxis<2> kernel_size,
        ConvOptions<2> const& o = {})
        : detail::ConvLayer<Conv2d<T>, T, 2, ConvOptions<2>>(
              "Conv2d", in_channels, out_channels, false, kernel_size, o) {}
    Conv2d(std::size_t in_channels, std::size_t out_channels, PerAxis<2> kernel_size,
        PerAxis<2> stride, PerAxis<2> padding = 0)
        : Conv2d(in_channels, out_channels, kernel_size,
              ConvOptions<2>{.stride = stride, .padding = padding}) {}
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv2d(x, this->weight, this->bias, this->options);
    }
};
/// functional::conv_transpose1d() with a weight and a bias, initialised uniformly on
/// +-1/sqrt(out_channels kernel_size / groups).
template <Differentiable T = double>
struct ConvTranspose1d : detail::ConvLayer<ConvTranspose1d<T>, T, 1, ConvTransposeOptions<1>> {
    ConvTranspose1d(std::size_t in_channels, std::size_t out_channels, PerAxis<1> kernel_size,
        ConvTransposeOptions<1> const& o = {})
        : detail::ConvLayer<ConvTranspose1d<T>, T, 1, ConvTransposeOptions<1>>(
              "ConvTranspose1d", in_channels, out_channels, true, kernel_size, o) {}
    ConvTranspose1d(std::size_t in_channels, std::size_t out_channels, PerAxis<1> kernel_size,
        PerAxis<1> stride, PerAxis<1> padding = 0)
        : ConvTranspose1d(in_channels, out_channels, kernel_size,
              ConvTransposeOptions<1>{.stride = stride, .padding = padding}) {}
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv_transpose1d(x, this->weight, this->bias, this->options);
    }
};
/// functional::conv_transpose2d() with a weight and a bias.
template <Differentiable T = double>
struct ConvTranspose2d : detail::ConvLayer<ConvTranspose2d<T>, T, 2, ConvTransposeOptions<2>> {
    ConvTranspose2d(std::size_t in_channels, std::size_t out_channels, PerAxis<2> kernel_size,
        ConvTransposeOptions<2> const& o = {})
        : detail::ConvLayer<ConvTranspose2d<T>, T, 2, ConvTransposeOptions<2>>(
              "ConvTranspose2d", in_channels, out_channels, true, kernel_size, o) {}
    ConvTranspose2d(std::size_t in_channels, std::size_t out_channels, PerAxis<2> kernel_size,
        PerAxis<2> stride, PerAxis<2> padding = 0)
        : ConvTranspose2d(in_channels, out_channels, kernel_size,
              ConvTransposeOptions<2>{.stride = stride, .padding = padding}) {}
    Tensor<T> forward(Tensor<T> const& x) const {
        return functional::conv_transpose2d(x, this->weight, this->bias, this->options);
    }
};

} // namespace xgrad::nn

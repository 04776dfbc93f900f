// Pooling layers as modules: `nn::MaxPool2d pool(3, {.stride = 2});`
//
// Shapes: those of the functions in pooling.hpp.
// Gradients: those of the functions in pooling.hpp, of any order, in backward and forward mode.
// Errors: those of the functions, when the module is called: ShapeError for shapes and options that
// do not fit, Error for a divisor of 0.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/pooling.hpp>

namespace xgrad::nn {

namespace detail {
template <class Self, std::size_t D, class OptionsOf> struct PoolLayer : Module<Self> {
    using Options = OptionsOf;
    PerAxis<D> kernel_size; // extents of a window
    Options options;        // all but the kernel size
    explicit PoolLayer(PerAxis<D> kernel, Options const& o = {})
        : kernel_size(kernel), options(o) {}
    /// MaxPool2d({3, 2}), which could otherwise be a kernel and a stride.
    explicit PoolLayer(std::initializer_list<std::ptrdiff_t> kernel, Options const& o = {})
        requires(D > 1)
        : PoolLayer(PerAxis<D>::from(kernel), o) {}
    PoolLayer(PerAxis<D> kernel, PerAxis<D> stride, PerAxis<D> padding = 0)
        : PoolLayer(kernel, Options{.stride = stride, .padding = padding}) {}
    std::string extra_repr() const override {
        return "kernel_size=" + option_text(kernel_size) +
               ", stride=" + option_text(options.stride.value_or(kernel_size)) +
               ", padding=" + option_text(options.padding) +
               (options.ceil_mode ? ", ceil_mode=true" : "");
    }
};
template <class Self, std::size_t D> struct AdaptivePoolLayer : Module<Self> {
    PerAxis<D> output_size; // extents of the output
    explicit AdaptivePoolLayer(PerAxis<D> size) : output_size(size) {}
    std::string extra_repr() const override { return "output_size=" + option_text(output_size); }
};
} // namespace detail

/// functional::max_pool1d() with a kernel size, which is the default stride, too.
struct MaxPool1d : detail::PoolLayer<MaxPool1d, 1, MaxPoolOptions<1>> {
    using PoolLayer::PoolLayer;
    template <RealScalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::max_pool1d(x, kernel_size, options);
    }
};
/// functional::max_pool2d() with a kernel size, which is the default stride, too.
struct MaxPool2d : detail::PoolLayer<MaxPool2d, 2, MaxPoolOptions<2>> {
    using PoolLayer::PoolLayer;
    template <RealScalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::max_pool2d(x, kernel_size, options);
    }
};
/// functional::avg_pool1d() with a kernel size.
struct AvgPool1d : detail::PoolLayer<AvgPool1d, 1, AvgPoolOptions<1>> {
    using PoolLayer::PoolLayer;
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::avg_pool1d(x, kernel_size, options);
    }
};
/// functional::avg_pool2d() with a kernel size, which is the default stride, too.
struct AvgPool2d : detail::PoolLayer<AvgPool2d, 2, AvgPoolOptions<2>> {
    using PoolLayer::PoolLayer;
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::avg_pool2d(x, kernel_size, options);
    }
};
/// functional::adaptive_avg_pool1d() to an output size.
struct AdaptiveAvgPool1d : detail::AdaptivePoolLayer<AdaptiveAvgPool1d, 1> {
    using AdaptivePoolLayer::AdaptivePoolLayer;
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::adaptive_avg_pool1d(x, output_size);
    }
};
/// functional::adaptive_avg_pool2d() to an output size.
struct AdaptiveAvgPool2d : detail::AdaptivePoolLayer<AdaptiveAvgPool2d, 2> {
    using AdaptivePoolLayer::AdaptivePoolLayer;
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::adaptive_avg_pool2d(x, output_size);
    }
};

} // namespace xgrad::nn

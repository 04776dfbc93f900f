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
template <std::size_t D, class Options>
std::string pool_text(PerAxis<D> const& kernel, Options const& o) {
    return "kernel_size=" + option_text(kernel) +
           ", stride=" + option_text(o.stride.value_or(kernel)) +
           ", padding=" + option_text(o.padding) + (o.ceil_mode ? ", ceil_mode=true" : "");
}
} // namespace detail

/// functional::max_pool1d() with a kernel size, which is the default stride, too.
struct MaxPool1d : Module<MaxPool1d> {
    using Options = MaxPoolOptions<1>;
    PerAxis<1> kernel_size; // extent of a window
    Options options;        // all but the kernel size
    explicit MaxPool1d(PerAxis<1> kernel, MaxPoolOptions<1> const& o = {})
        : kernel_size(kernel), options(o) {}
    MaxPool1d(PerAxis<1> kernel, PerAxis<1> stride, PerAxis<1> padding = 0)
        : MaxPool1d(kernel, Options{.stride = stride, .padding = padding}) {}
    template <RealScalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::max_pool1d(x, kernel_size, options);
    }
    std::string extra_repr() const override { return detail::pool_text(kernel_size, options); }
};
/// functional::max_pool2d() with a kernel size, which is the default stride, too.
struct MaxPool2d : Module<MaxPool2d> {
    using Options = MaxPoolOptions<2>;
    PerAxis<2> kernel_size; // extents of a window
    Options options;        // all but the kernel size
    explicit MaxPool2d(PerAxis<2> kernel, MaxPoolOptions<2> const& o = {})
        : kernel_size(kernel), options(o) {}
    /// MaxPool2d({3, 2}), which could otherwise be a kernel and a stride.
    explicit MaxPool2d(std::initializer_list<std::ptrdiff_t> kernel, Options const& o = {})
        : MaxPool2d(PerAxis<2>::from(kernel), o) {}
    MaxPool2d(PerAxis<2> kernel, PerAxis<2> stride, PerAxis<2> padding = 0)
        : MaxPool2d(kernel, Options{.stride = stride, .padding = padding}) {}
    template <RealScalar T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::max_pool2d(x, kernel_size, options);
    }
    std::string extra_repr() const override { return detail::pool_text(kernel_size, options); }
};
/// functional::avg_pool1d() with a kernel size.
struct AvgPool1d : Module<AvgPool1d> {
    using Options = AvgPoolOptions<1>;
    PerAxis<1> kernel_size; // extent of a window
    Options options;        // all but the kernel size
    explicit AvgPool1d(PerAxis<1> kernel, AvgPoolOptions<1> const& o = {})
        : kernel_size(kernel), options(o) {}
    AvgPool1d(PerAxis<1> kernel, PerAxis<1> stride, PerAxis<1> padding = 0)
        : AvgPool1d(kernel, Options{.stride = stride, .padding = padding}) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::avg_pool1d(x, kernel_size, options);
    }
    std::string extra_repr() const override { return detail::pool_text(kernel_size, options); }
};
/// functional::avg_pool2d() with a kernel size, which is the default stride, too.
struct AvgPool2d : Module<AvgPool2d> {
    using Options = AvgPoolOptions<2>;
    PerAxis<2> kernel_size; // extents of a window
    Options options;        // all but the kernel size
    explicit AvgPool2d(PerAxis<2> kernel, AvgPoolOptions<2> const& o = {})
        : kernel_size(kernel), options(o) {}
    /// AvgPool2d({3, 2}), which could otherwise be a kernel and a stride.
    explicit AvgPool2d(std::initializer_list<std::ptrdiff_t> kernel, Options const& o = {})
        : AvgPool2d(PerAxis<2>::from(kernel), o) {}
    AvgPool2d(PerAxis<2> kernel, PerAxis<2> stride, PerAxis<2> padding = 0)
        : AvgPool2d(kernel, Options{.stride = stride, .padding = padding}) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::avg_pool2d(x, kernel_size, options);
    }
    std::string extra_repr() const override { return detail::pool_text(kernel_size, options); }
};
/// functional::adaptive_avg_pool1d() to an output size.
struct AdaptiveAvgPool1d : Module<AdaptiveAvgPool1d> {
    PerAxis<1> output_size; // extent of the output
    explicit AdaptiveAvgPool1d(PerAxis<1> size) : output_size(size) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::adaptive_avg_pool1d(x, output_size);
    }
    std::string extra_repr() const override {
        return "output_size=" + detail::option_text(output_size);
    }
};
/// functional::adaptive_avg_pool2d() to an output size.
struct AdaptiveAvgPool2d : Module<AdaptiveAvgPool2d> {
    PerAxis<2> output_size; // extents of the output
    explicit AdaptiveAvgPool2d(PerAxis<2> size) : output_size(size) {}
    template <Differentiable T> Tensor<T> forward(Tensor<T> const& x) const {
        return functional::adaptive_avg_pool2d(x, output_size);
    }
    std::string extra_repr() const override {
        return "output_size=" + detail::option_text(output_size);
    }
};

} // namespace xgrad::nn

// Instances of templates that a program with XGRAD_SEPARATE_COMPILATION compiles once: in other
// files they are declared. nn.hpp includes this file last.
#pragma once

#ifdef XGRAD_IMPLEMENTATION
#    define XGRAD_INSTANCE template
#else
#    define XGRAD_INSTANCE extern template
#endif

namespace xgrad {
#define XGRAD_INSTANCES(T)                                                                         \
    XGRAD_INSTANCE void uniform_(Tensor<T>, double, double);                                       \
    XGRAD_INSTANCE void normal_(Tensor<T>, double, double);
XGRAD_INSTANCES(float)
XGRAD_INSTANCES(double)
XGRAD_INSTANCES(std::complex<float>)
XGRAD_INSTANCES(std::complex<double>)
#undef XGRAD_INSTANCES
} // namespace xgrad

namespace xgrad::nn {

#define XGRAD_INSTANCES(T)                                                                         \
    XGRAD_INSTANCE Tensor<T> functional::linear(                                                   \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&);                                     \
    XGRAD_INSTANCE Tensor<T> functional::bilinear(                                                 \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, Tensor<T> const&);                   \
    XGRAD_INSTANCE Tensor<T> functional::conv1d(                                                   \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, ConvOptions<1> const&);              \
    XGRAD_INSTANCE Tensor<T> functional::conv2d(                                                   \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, ConvOptions<2> const&);              \
    XGRAD_INSTANCE Tensor<T> functional::conv_transpose1d(                                         \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, ConvTransposeOptions<1> const&);     \
    XGRAD_INSTANCE Tensor<T> functional::conv_transpose2d(                                         \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, ConvTransposeOptions<2> const&);     \
    XGRAD_INSTANCE Tensor<T> functional::avg_pool1d(                                               \
        Tensor<T> const&, PerAxis<1>, AvgPoolOptions<1> const&);                                   \
    XGRAD_INSTANCE Tensor<T> functional::avg_pool2d(                                               \
        Tensor<T> const&, PerAxis<2>, AvgPoolOptions<2> const&);                                   \
    XGRAD_INSTANCE Tensor<T> functional::embedding(                                                \
        Tensor<std::int64_t> const&, Tensor<T> const&, std::optional<std::int64_t>);
XGRAD_INSTANCES(float)
XGRAD_INSTANCES(double)
XGRAD_INSTANCES(std::complex<float>)
XGRAD_INSTANCES(std::complex<double>)
#undef XGRAD_INSTANCES

#define XGRAD_INSTANCES(T)                                                                         \
    XGRAD_INSTANCE Tensor<T> functional::max_pool1d(                                               \
        Tensor<T> const&, PerAxis<1>, MaxPoolOptions<1> const&);                                   \
    XGRAD_INSTANCE Tensor<T> functional::max_pool2d(                                               \
        Tensor<T> const&, PerAxis<2>, MaxPoolOptions<2> const&);                                   \
    XGRAD_INSTANCE Tensor<T> functional::batch_norm(Tensor<T> const&, Tensor<T>, Tensor<T>,        \
        Tensor<T> const&, Tensor<T> const&, bool, double, double);                                 \
    XGRAD_INSTANCE Tensor<T> functional::group_norm(                                               \
        Tensor<T> const&, std::size_t, Tensor<T> const&, Tensor<T> const&, double);                \
    XGRAD_INSTANCE Tensor<T> functional::layer_norm(                                               \
        Tensor<T> const&, Shape const&, Tensor<T> const&, Tensor<T> const&, double);               \
    XGRAD_INSTANCE Tensor<T> functional::scaled_dot_product_attention(                             \
        Tensor<T> const&, Tensor<T> const&, Tensor<T> const&, AttentionOptions<T> const&);         \
    XGRAD_INSTANCE Tensor<T> functional::nll_loss(                                                 \
        Tensor<T> const&, Tensor<std::int64_t> const&, ClassLossOptions<T> const&);                \
    XGRAD_INSTANCE Tensor<T> functional::cross_entropy(                                            \
        Tensor<T> const&, Tensor<std::int64_t> const&, ClassLossOptions<T> const&);                \
    XGRAD_INSTANCE Tensor<T> functional::cross_entropy(                                            \
        Tensor<T> const&, Tensor<T> const&, ClassLossOptions<T> const&);                           \
    XGRAD_INSTANCE Tensor<T> functional::binary_cross_entropy_with_logits(Tensor<T> const&,        \
        Tensor<T> const&, Choice<Reduction>, Tensor<T> const&, Tensor<T> const&);                  \
    XGRAD_INSTANCE Tensor<T> functional::binary_cross_entropy(                                     \
        Tensor<T> const&, Tensor<T> const&, Choice<Reduction>, Tensor<T> const&);                  \
    XGRAD_INSTANCE Tensor<T> functional::kl_div(                                                   \
        Tensor<T> const&, Tensor<T> const&, Choice<Reduction>, bool);
XGRAD_INSTANCES(float)
XGRAD_INSTANCES(double)
#undef XGRAD_INSTANCES

} // namespace xgrad::nn

#undef XGRAD_INSTANCE

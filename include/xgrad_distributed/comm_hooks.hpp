// Communication hooks that send fewer bytes than the gradients have.
//
// Shapes: the result has the shape and the scalar type of the bucket's buffer, a vector.
// Gradients: become the mean over the ranks, rounded to the format in which they travel;
// unrecorded. Complex ones travel as pairs of real numbers.
// Errors: DistributedError where the ranks differ, stop or do not answer; ShapeError for more
// elements than MPI counts; TypeError for elements that are no gradients.
#pragma once

#include <algorithm>

#include <xgrad_distributed/grad_bucket.hpp>

namespace xgrad::distributed {

namespace detail {

inline std::string name_of(GradBucket const& bucket) {
    return "bucket " + std::to_string(bucket.index());
}

/// The range of the numbers that 256 codes stand for.
struct QuantizedRange {
    double least, step;
};

} // namespace detail

/// The mean over the ranks, added up in numbers of 16 bits (IEEE binary16): a half of float's
/// bytes, a quarter of double's. The gradients are divided by the number of ranks first; what is
/// above 65504 then is infinite.
inline Future<AnyTensor> fp16_compress_hook(ProcessGroup& group, GradBucket& bucket) {
    detail::SendingFormat const scope(&detail::half_format<detail::Float16>);
    return allreduce_hook(group, bucket);
}
/// The same in bfloat16, which has float's range and 8 bits of precision.
inline Future<AnyTensor> bf16_compress_hook(ProcessGroup& group, GradBucket& bucket) {
    detail::SendingFormat const scope(&detail::half_format<detail::BFloat16>);
    return allreduce_hook(group, bucket);
}

/// The mean over the ranks of gradients in 8 bits, for which each rank divides the range of its
/// bucket into 255 steps. Every rank gets the bytes of all others (allgather), so it pays for few
/// ranks.
inline Future<AnyTensor> quantize_hook(ProcessGroup& group, GradBucket& bucket) {
    using Range = detail::QuantizedRange;
    AnyTensor const buffer = bucket.buffer();
    std::vector<std::byte> message;
    detail::with_real_parts(buffer, [&](auto const* x, std::size_t n) {
        message.resize(sizeof(Range) + n);
        auto const [least, greatest] = std::minmax_element(x, x + n);
        Range const range =
            n ? Range{static_cast<double>(*least),
                    (static_cast<double>(*greatest) - static_cast<double>(*least)) / 255}
              : Range{0, 0};
        std::memcpy(message.data(), &range, sizeof range);
        for (std::size_t i = 0; i < n; ++i) {
            double const code =
                range.step > 0 ? (static_cast<double>(x[i]) - range.least) / range.step : 0;
            message[sizeof range + i] =
                static_cast<std::byte>(std::lround(std::clamp(code, 0., 255.)));
        }
    });
    return group.allgather_async(std::move(message), detail::name_of(bucket) + " in 8 bits")
        .then([buffer](std::vector<std::vector<std::byte>> const& all) {
            detail::with_real_parts(buffer, [&]<class T>(T* x, std::size_t n) {
                std::fill_n(x, n, T(0));
                for (auto const& from : all) {
                    Range range;
                    std::memcpy(&range, from.data(), sizeof range);
                    for (std::size_t i = 0; i < n; ++i) {
                        double const value =
                            range.least + range.step * static_cast<double>(from[sizeof range + i]);
                        x[i] += static_cast<T>(value / static_cast<double>(all.size()));
                    }
                }
            });
            return buffer;
        });
}

/// Sends nothing: every rank keeps its own gradients. To measure what communication costs.
inline Future<AnyTensor> noop_hook(ProcessGroup&, GradBucket& bucket) {
    return Future<AnyTensor>::of(bucket.buffer());
}

/// A hook around another one, which gets buckets of double in single precision: a half of the
/// bytes, whatever it does with them.
template <class F> auto float32_compress_wrapper(F hook) {
    return [hook = std::move(hook)]<class State>(
               State& state, GradBucket& bucket) mutable -> Future<AnyTensor> {
        AnyTensor const buffer = bucket.buffer();
        auto const run = [&]<Scalar Narrow>(Tensor<Narrow> const& narrow) {
            bucket.set_buffer(narrow);
            return Future<AnyTensor>(hook(state, bucket)).then([buffer](AnyTensor const& result) {
                return xgrad::detail::converted_copy(result, *buffer.impl().type);
            });
        };
        auto const narrowed = [&]<Scalar Narrow>(Narrow) {
            return run(xgrad::detail::converted_copy(buffer, xgrad::detail::type_info<Narrow>)
                           .template as<Narrow>());
        };
        if (buffer.dtype() == DType::float64) return narrowed(float());
        if (buffer.dtype() == DType::complex128) return narrowed(std::complex<float>());
        return hook(state, bucket);
    };
}

namespace detail {

template <class Format, class F> auto compress_wrapper(F hook) {
    return [hook = std::move(hook)]<class State>(
               State& state, GradBucket& bucket) mutable -> Future<AnyTensor> {
        SendingFormat const scope(&half_format<Format>);
        return hook(state, bucket);
    };
}

} // namespace detail

/// A hook around another one: what that hook, and functions that follow its futures, send as
/// tensors of real or complex numbers travels in 16 bits (IEEE binary16) a real number, and is
/// rounded after each step of a reduction. The hook computes in the type of the gradients.
template <class F> auto fp16_compress_wrapper(F hook) {
    return detail::compress_wrapper<detail::Float16>(std::move(hook));
}
/// The same in bfloat16.
template <class F> auto bf16_compress_wrapper(F hook) {
    return detail::compress_wrapper<detail::BFloat16>(std::move(hook));
}

} // namespace xgrad::distributed

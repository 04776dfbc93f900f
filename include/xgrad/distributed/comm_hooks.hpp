// Communication hooks that send fewer bytes than the gradients have.
//
// Shapes: the result has the shape and the scalar type of the bucket's buffer, a vector.
// Gradients: become the mean over the ranks, rounded to the format in which they travel;
// unrecorded. Complex ones travel as pairs of real numbers.
// Errors: DistributedError where the ranks differ, stop or do not answer; ShapeError for more
// elements than MPI counts; TypeError for elements that are no gradients.
#pragma once

#include <algorithm>

#include <xgrad/distributed/grad_bucket.hpp>
#include <xgrad/distributed/half.hpp>

namespace xgrad::distributed {

namespace detail {

inline std::string name_of(GradBucket const& bucket) {
    return "bucket " + std::to_string(bucket.index());
}

/// Calls f(first, n) with the elements of a tensor without gaps as real numbers: a complex one is
/// two.
template <class F> decltype(auto) with_real_parts(AnyTensor const& t, F f) {
    return xgrad::detail::with_type(t, [&]<Scalar T>(Tensor<T> const& x) {
        if constexpr (!Differentiable<T>)
            fail<TypeError>(
                "a communication hook: elements of type ", name(dtype_of<T>), " are no gradients");
        else
            return f(reinterpret_cast<precision_of<T>*>(x.array_of().begin()),
                x.numel() * (xgrad::detail::is_complex<T> ? 2 : 1));
    });
}

template <class Format> Future<AnyTensor> compress_16_bit(ProcessGroup& group, GradBucket& bucket) {
    auto const codes = std::make_shared<std::vector<std::uint16_t>>();
    AnyTensor const buffer = bucket.buffer();
    int const ranks = group.size();
    with_real_parts(buffer, [&](auto const* x, std::size_t n) {
        codes->resize(n);
        for (std::size_t i = 0; i < n; ++i)
            (*codes)[i] = Format::encode(static_cast<float>(x[i]) / static_cast<float>(ranks));
    });
    auto const count = mpi_count("allreduce", codes->size());
    return group.state().begin(
        {.operation = "allreduce",
            .name = name_of(bucket) + " in " + std::string(Format::name),
            .dtype = buffer.dtype(),
            .shape = buffer.shape()},
        [codes, count](MPI_Comm c, MPI_Request* r) {
            return MPI_Iallreduce(
                MPI_IN_PLACE, codes->data(), count, MPI_UINT16_T, sum_op<Format>(), c, r);
        },
        [codes, buffer] {
            with_real_parts(buffer, [&]<class T>(T* x, std::size_t n) {
                for (std::size_t i = 0; i < n; ++i)
                    x[i] = static_cast<T>(Format::decode((*codes)[i]));
            });
            return buffer;
        });
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
    return detail::compress_16_bit<detail::Float16>(group, bucket);
}
/// The same in bfloat16, which has float's range and 8 bits of precision.
inline Future<AnyTensor> bf16_compress_hook(ProcessGroup& group, GradBucket& bucket) {
    return detail::compress_16_bit<detail::BFloat16>(group, bucket);
}

/// The mean over the ranks of gradients in 8 bits, for which each rank divides the range of its
/// bucket into 255 steps. Every rank gets the bytes of all others (allgather), so it pays for few
/// ranks.
inline Future<AnyTensor> quantize_hook(ProcessGroup& group, GradBucket& bucket) {
    using Range = detail::QuantizedRange;
    AnyTensor const buffer = bucket.buffer();
    auto const ranks = static_cast<std::size_t>(group.size());
    auto const message = std::make_shared<std::vector<std::byte>>(),
               all = std::make_shared<std::vector<std::byte>>();
    detail::with_real_parts(buffer, [&](auto const* x, std::size_t n) {
        message->resize(sizeof(Range) + n);
        auto const [least, greatest] = std::minmax_element(x, x + n);
        Range const range =
            n ? Range{static_cast<double>(*least),
                    (static_cast<double>(*greatest) - static_cast<double>(*least)) / 255}
              : Range{0, 0};
        std::memcpy(message->data(), &range, sizeof range);
        for (std::size_t i = 0; i < n; ++i) {
            double const code =
                range.step > 0 ? (static_cast<double>(x[i]) - range.least) / range.step : 0;
            (*message)[sizeof range + i] =
                static_cast<std::byte>(std::lround(std::clamp(code, 0., 255.)));
        }
    });
    all->resize(ranks * message->size());
    auto const count = detail::mpi_count("allgather", message->size());
    return group.state().begin(
        {.operation = "allgather",
            .name = detail::name_of(bucket) + " in 8 bits",
            .dtype = buffer.dtype(),
            .shape = buffer.shape()},
        [message, all, count](MPI_Comm c, MPI_Request* r) {
            return MPI_Iallgather(
                message->data(), count, MPI_BYTE, all->data(), count, MPI_BYTE, c, r);
        },
        [all, buffer, ranks] {
            detail::with_real_parts(buffer, [&]<class T>(T* x, std::size_t n) {
                std::fill_n(x, n, T(0));
                for (std::size_t rank = 0; rank < ranks; ++rank) {
                    auto const* const from = all->data() + rank * (sizeof(Range) + n);
                    Range range;
                    std::memcpy(&range, from, sizeof range);
                    for (std::size_t i = 0; i < n; ++i) {
                        double const value =
                            range.least + range.step * static_cast<double>(from[sizeof range + i]);
                        x[i] += static_cast<T>(value / static_cast<double>(ranks));
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

} // namespace xgrad::distributed

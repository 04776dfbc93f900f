// SentElements: elements on their way through MPI. Those of a tensor are there without gaps, or as
// numbers of 16 bits where that is the format of the thread (half.hpp); those of other memory of
// the program are there as they are.
//
// Shapes: any; MPI sees a count.
// Gradients: none are recorded.
// Errors: none are thrown.
#pragma once

#include <memory>
#include <ranges>
#include <vector>

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/state_dict.hpp>
#include <xgrad_distributed/half.hpp>

namespace xgrad::distributed {

/// Memory without gaps that holds numbers or bytes, and is no tensor: std::vector<std::uint8_t>,
/// std::span<int>, xt::xtensor<std::int8_t, 2>.
template <class R>
concept SentRange =
    !std::convertible_to<R const&, AnyTensor const&> && std::ranges::contiguous_range<R> &&
    std::ranges::sized_range<R> && detail::can_be_sent<std::ranges::range_value_t<R>>;
/// A range that can be written to, and that is there when an operation ends.
template <class R>
concept WritableRange =
    SentRange<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {

/// A view of `count` elements of a one-dimensional tensor from `start` on, with a shape of as many
/// elements. Unrecorded.
inline AnyTensor view_of_elements(AnyTensor const& flat, std::size_t start, Shape const& shape) {
    auto a = flat.impl().array;
    a.set_view(shape, xgrad::detail::row_major(shape),
        static_cast<std::ptrdiff_t>(start * flat.impl().type->size));
    return AnyTensor(xgrad::detail::TensorImpl::make(*flat.impl().type, std::move(a)));
}

/// Calls f(first, n) with the elements of a tensor without gaps as real numbers: a complex one is
/// two.
template <class F> void with_real_parts(AnyTensor const& t, F f) {
    xgrad::detail::with_type(t, [&]<Scalar T>(Tensor<T> const& x) {
        if constexpr (Differentiable<T>)
            f(reinterpret_cast<precision_of<T>*>(x.array_of().begin()),
                x.numel() * (xgrad::detail::is_complex<T> ? 2 : 1));
        else
            fail<TypeError>(
                "a communication hook: elements of type ", name(dtype_of<T>), " are no gradients");
    });
}

/// How many bytes an element of a tensor is in the format of the thread.
inline std::size_t bytes_sent(DType type) noexcept {
    std::size_t const real = sending_format                                       ? 2
                             : type == DType::float32 || type == DType::complex64 ? 4
                                                                                  : 8;
    return is_complex(type) ? 2 * real : real;
}

class SentElements {
public:
    /// Of a tensor, which `by` will reduce. Without `has_values` its elements are only written to.
    explicit SentElements(AnyTensor const& t, Reduction by = Reduction::sum, bool has_values = true)
        : tensor_(t), elements_(t.is_contiguous() ? t : xgrad::detail::value_copy(t)),
          type_(sent_type(t.dtype())), shape_(t.shape()), count_(t.numel()) {
        memory_ = elements_.impl().array.data;
        // the product of complex numbers is no product of their parts
        if (!sending_format || !is_differentiable(t.dtype()) ||
            (is_complex(t.dtype()) && by == Reduction::product))
            return;
        format_ = sending_format;
        if (is_complex(t.dtype())) count_ *= 2;
        codes_ = std::make_shared<std::vector<std::uint16_t>>(count_);
        memory_ = codes_->data();
        if (has_values)
            with_real_parts(elements_,
                [&](auto const* x, std::size_t n) { format_->encode(x, n, codes_->data()); });
    }
    /// Of other memory. That of a temporary is kept.
    template <SentRange R> static SentElements of(R&& range) {
        if constexpr (std::ranges::borrowed_range<R>)
            return SentElements(std::ranges::data(range), std::ranges::size(range), nullptr);
        else {
            auto const kept = std::make_shared<std::remove_cvref_t<R>>(std::forward<R>(range));
            return SentElements(std::ranges::data(*kept), std::ranges::size(*kept), kept);
        }
    }

    void* data() const noexcept { return memory_; }
    std::size_t count() const noexcept { return count_; }
    Shape const& shape() const noexcept { return shape_; }
    /// For messages, and what ranks must agree on: "float64 as bfloat16".
    std::string type_name() const {
        std::string name(type_.name);
        if (format_) name += " as " + std::string(format_->name);
        return name;
    }
    MPI_Datatype type() const noexcept { return format_ ? MPI_UINT16_T : type_.type; }
    MPI_Op op(std::string_view operation, Reduction by) const {
        auto const own = mpi_op(operation, by, type_);
        return format_ ? format_->ops[static_cast<int>(by)]() : own;
    }
    /// The elements have changed: brings them to the tensor.
    void written() const {
        if (!tensor_.defined()) return;
        if (format_)
            with_real_parts(
                elements_, [&](auto* x, std::size_t n) { format_->decode(codes_->data(), n, x); });
        if (elements_.is_same(tensor_)) tensor_.impl().array.storage->bump();
        else xgrad::detail::overwrite(tensor_, elements_);
    }

private:
    template <class T>
    SentElements(T* first, std::size_t n, std::shared_ptr<void> kept)
        : type_(sent_type<std::remove_const_t<T>>()), shape_{n}, count_(n),
          memory_(const_cast<std::remove_const_t<T>*>(first)), kept_(std::move(kept)) {}

    AnyTensor tensor_, elements_;
    SentType type_;
    Shape shape_;
    std::size_t count_; // as MPI counts
    void* memory_;
    HalfFormat const* format_ = nullptr;
    std::shared_ptr<std::vector<std::uint16_t>> codes_;
    std::shared_ptr<void> kept_;
};

} // namespace detail
} // namespace xgrad::distributed

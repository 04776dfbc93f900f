// Views whose assignment is not that of a variable: TensorView, which writes, and TensorParts, a
// list of views, of which a loop variable is not assigned to.
//
// Shapes: assigned values broadcast to the shape of the view.
// Gradients: an assignment that writes is recorded as a change in place, as copy_().
// Errors: those of copy_().
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

namespace detail {
/// A class that is derived from Tensor.
template <class X>
concept DerivedTensor = Operand<X> && requires { typename X::tensor_tag; } &&
                        !std::same_as<X, Tensor<typename X::scalar>>;
/// In an expression it is its tensor.
template <DerivedTensor X> struct OperandTraits<X> {
    using type = Tensor<typename X::scalar>;
    static type const& make(X const& x) { return x; }
};
} // namespace detail

/// A view as xtensor has them: an assignment writes to the elements of the tensor that it is a view
/// of, `auto v = xt::view(x, 0); v = sin(y);`. A copy is another handle to the same view. A
/// Tensor<T> made of it is a variable of its own, and so is what other functions return.
template <Scalar T> class TensorView : public Tensor<T> {
public:
    explicit TensorView(Tensor<T> view) noexcept : Tensor<T>(std::move(view)) {}
    TensorView(TensorView const&) noexcept = default;

    /// Overwrites the elements: copy_().
    template <detail::OperandLike X> TensorView& operator=(X const& x) {
        this->copy_(x);
        return *this;
    }
    TensorView& operator=(Tensor<T> const& x) {
        this->copy_(x);
        return *this;
    }
    TensorView& operator=(TensorView const& x) { return *this = static_cast<Tensor<T> const&>(x); }
};

/// A view of which it is not clear what an assignment shall mean, so that none compiles: an element
/// of a loop over unbind(), and xt::view() of a const tensor. It is changed in place by copy_() and
/// by `+=`.
template <Scalar T> class UnassignableTensor : public Tensor<T> {
public:
    explicit UnassignableTensor(Tensor<T> view) noexcept : Tensor<T>(std::move(view)) {}
    UnassignableTensor(UnassignableTensor const&) noexcept = default;

    template <class X> void operator=(X const&) {
        static_assert(sizeof(X) == 0,
            "view = value: of a loop over x.unbind(), or of xt::view() of a const tensor. "
            "view.copy_(value) writes to the tensor that it is a view of; a Tensor<T>, as in "
            "`for (Tensor<double> row : x.unbind())`, is a variable of its own");
    }
    void operator=(UnassignableTensor const& x) {
        *this = static_cast<Tensor<T> const&>(x); // to the sentence above
    }
};

/// The views that unbind(), split() and chunk() return: a list of Tensor<T>, which converts to a
/// std::vector of them. A variable of a loop over it, `for (auto row : x.unbind())`, is not
/// assigned to.
template <Scalar T> class TensorParts {
public:
    using value_type = Tensor<T>;

    TensorParts() = default;
    TensorParts(TensorParts const&) = default;
    TensorParts(TensorParts&&) noexcept = default;
    TensorParts& operator=(TensorParts parts) noexcept {
        parts_.swap(parts.parts_);
        return *this;
    }
    /// A copy of the list; its elements are the same tensors.
    operator std::vector<Tensor<T>>() const {
        return std::vector<Tensor<T>>(parts_.begin(), parts_.end());
    }

    /// As those of std::vector.
    std::size_t size() const noexcept { return parts_.size(); }
    bool empty() const noexcept { return parts_.empty(); }
    Tensor<T>& operator[](std::size_t i) & { return parts_[i]; }
    Tensor<T> const& operator[](std::size_t i) const& { return parts_[i]; }
    Tensor<T> operator[](std::size_t i) && { return parts_[i]; }
    Tensor<T>& at(std::size_t i) & { return parts_.at(i); }
    Tensor<T> const& at(std::size_t i) const& { return parts_.at(i); }
    Tensor<T> at(std::size_t i) && { return parts_.at(i); }
    Tensor<T>& front() & { return parts_.front(); }
    Tensor<T> const& front() const& { return parts_.front(); }
    Tensor<T> front() && { return parts_.front(); }
    Tensor<T>& back() & { return parts_.back(); }
    Tensor<T> const& back() const& { return parts_.back(); }
    Tensor<T> back() && { return parts_.back(); }
    auto begin() noexcept { return parts_.begin(); }
    auto begin() const noexcept { return parts_.begin(); }
    auto end() noexcept { return parts_.end(); }
    auto end() const noexcept { return parts_.end(); }
    void reserve(std::size_t n) { parts_.reserve(n); }
    void push_back(Tensor<T> part) { parts_.emplace_back(std::move(part)); }

private:
    std::vector<UnassignableTensor<T>> parts_;
};

} // namespace xgrad

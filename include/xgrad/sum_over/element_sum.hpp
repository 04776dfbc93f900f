// ElementSum: a sum over elements at some x, its gradient and its Hessian. ElementTerms are what
// does not depend on x: the function, the index and the constants.
//
// Shapes: value() has no axes, gradient() has the shape of x, and hessian() a row and a column for
// each number of x, in row-major order.
// Gradients: value() is recorded: backward, forward mode and second derivatives of x.
// Errors: those of sum_over(). A third derivative is a GraphError.
#pragma once

#include <numeric>
#include <optional>

#include <xgrad/sum_over/element_kernel.hpp>
#include <xgrad/sum_over/positive_part.hpp>
#include <xgrad/tensor/function.hpp>

namespace xgrad {

namespace detail {

/// The function of a sum, its elements and their constants.
template <RealScalar T, class Form, bool on_batches, class F, class... C> struct ElementTerms {
    using scalar = T;
    using CallOfElements = ElementKernel<Form, T, on_batches>;
    struct Derivatives {
        T value{};
        Tensor<T> gradient, hessian; // the entries of the Hessian
    };

    F f;
    Shape shape; // of x
    ElementIndex<Form> index;
    std::tuple<C...> constants;
    bool checks_calls; // compares the value of a second evaluation with that of the first one

    /// The value and the derivatives up to an order; the Hessian with the positive part of each
    /// element's if `positive`.
    template <Order order> Derivatives at(Tensor<T> const& given, bool positive = false) const {
        auto const x = given.detach().contiguous();
        static constexpr std::size_t width = element_batch<T>, part = std::size_t{2048};
        std::size_t const n = index.size(), padded = (n + width - 1) / width * width;
        auto const scratch = [&](bool wanted, std::size_t entries) {
            Shape const size{wanted ? padded * entries : 0};
            return on_batches ? Array<T>(size) : Array<T>(size, T(0));
        };
        auto const gradients = scratch(order >= Order::gradient, Form::size),
                   hessians = scratch(order == Order::hessian, packed_size(Form::size));
        std::vector<double> sums((n + part - 1) / part);
        for_each_index(
            sums.size(),
            [&](std::size_t i) {
                std::size_t const first = i * part, last = std::min(n, first + part);
                sums[i] = std::apply(
                    [&](auto const&... c) {
                        return CallOfElements::template run<order>(
                            std::make_index_sequence<Form::size>{}, f, x.data(), index, first, last,
                            gradients.begin(), hessians.begin(), ConstantArray<T>(c)...);
                    },
                    constants);
                if constexpr (order == Order::hessian)
                    for (std::size_t e = first; positive && e < last; e += width)
                        keep_positive_part<T, Form::size>(
                            hessians.begin() + element_offset<T, packed_size(Form::size)>(e));
            },
            Wake::for_long_work);
        Derivatives d{static_cast<T>(std::accumulate(sums.begin(), sums.end(), 0.)), {}, {}};
        if constexpr (order >= Order::gradient) d.gradient = assemble_gradient(gradients);
        if constexpr (order == Order::hessian) d.hessian = assemble_hessian(hessians);
        return d;
    }

private:
    /// Calls f for each row of x.
    template <class Body> void each_row(Body const& body) const {
        static constexpr std::size_t part = 2048;
        for_each_index((index.rows() + part - 1) / part,
            [&](std::size_t i) {
                for (std::size_t row = i * part; row < std::min(index.rows(), (i + 1) * part);
                     ++row)
                    body(row);
            },
            Wake::for_long_work);
    }
    Tensor<T> assemble_gradient(Array<T> const& of_elements) const {
        Array<T> sums(shape);
        each_row([&](std::size_t row) {
            double sum[Form::in_row] = {};
            for (std::size_t const c : index.corners()[row]) {
                T const* const from =
                    of_elements.begin() + element_offset<T, Form::size>(c / Form::corners);
                for (std::size_t i = 0; i < Form::in_row; ++i)
                    sum[i] += static_cast<double>(
                        from[(c % Form::corners * Form::in_row + i) * element_batch<T>]);
            }
            for (std::size_t i = 0; i < Form::in_row; ++i)
                sums.begin()[row * Form::in_row + i] = static_cast<T>(sum[i]);
        });
        return Tensor<T>(std::move(sums));
    }
    Tensor<T> assemble_hessian(Array<T> const& of_elements) const {
        constexpr std::size_t d = Form::in_row, pairs = Form::pairs;
        // Where the entries of each pair of corners are, beside each other.
        static constexpr auto offsets = [] {
            std::array<std::array<std::size_t, d * d>, pairs> at{};
            for (std::size_t p = 0; p < pairs; ++p)
                for (std::size_t k = 0; k < d * d; ++k)
                    at[p][k] =
                        packed_index(p / Form::corners * d + k / d, p % Form::corners * d + k % d) *
                        element_batch<T>;
            return at;
        }();
        auto const& blocks = index.blocks();
        Array<T> sums(Shape{static_cast<std::size_t>(blocks.pattern->nonzeros())});
        each_row([&](std::size_t row) {
            std::size_t const first = blocks.begin[row], count = blocks.begin[row + 1] - first;
            for (std::size_t block = 0; block < count; ++block) {
                double sum[d * d] = {};
                for (std::size_t const pair : blocks.pairs[first + block]) {
                    T const* const from = of_elements.begin() +
                                          element_offset<T, packed_size(Form::size)>(pair / pairs);
                    auto const& at = offsets[pair % pairs];
                    for (std::size_t k = 0; k < d * d; ++k)
                        sum[k] += static_cast<double>(from[at[k]]);
                }
                for (std::size_t k = 0; k < d * d; ++k)
                    sums.begin()[first * d * d + (k / d * count + block) * d + k % d] =
                        static_cast<T>(sum[k]);
            }
        });
        return Tensor<T>(std::move(sums));
    }
};

/// The gradient of a sum as a Function: its derivative is the Hessian.
template <class Terms> struct SumOverElementsGradient : Function<SumOverElementsGradient<Terms>> {
    using T = typename Terms::scalar;
    using Context = xgrad::Context<SumOverElementsGradient>;
    using Saved = std::tuple<Tensor<T>>;
    struct Data {
        std::shared_ptr<Terms const> terms;
    };

    static Tensor<T> forward(
        Context& ctx, std::shared_ptr<Terms const> const& terms, Tensor<T> const& x) {
        ctx.save_for_backward(x);
        ctx.terms = terms;
        return terms->template at<Order::gradient>(x).gradient;
    }
    static auto backward(Context& ctx, Tensor<T> const& g) {
        return std::tuple(std::nullopt, product(ctx, g));
    }
    static Tensor<T> jvp(Context& ctx, std::nullopt_t, Tensor<T> const& tangent) {
        return product(ctx, tangent);
    }

private:
    /// The Hessian times a vector.
    static Tensor<T> product(Context& ctx, Tensor<T> const& given) {
        auto const [x] = ctx.saved_tensors();
        auto const h = ctx.terms->template at<Order::hessian>(x).hessian;
        auto const v = given.detach().contiguous();
        auto const& pattern = *ctx.terms->index.blocks().pattern;
        Array<T> y(x.shape());
        for (std::size_t i = 0, at = 0; i < y.numel; ++i) {
            double sum = 0;
            for (int const j : pattern.row(i))
                sum += static_cast<double>(h.data()[at++]) *
                       static_cast<double>(v.data()[static_cast<std::size_t>(j)]);
            y.begin()[i] = static_cast<T>(sum);
        }
        return last_derivative("sum_over: there are derivatives up to the second", {x, given},
            Tensor<T>(std::move(y)));
    }
};
/// The value of a sum as a Function.
template <class Terms> struct SumOverElements : Function<SumOverElements<Terms>> {
    using T = typename Terms::scalar;
    using Context = xgrad::Context<SumOverElements>;
    using Saved = std::tuple<Tensor<T>>;
    struct Data {
        std::shared_ptr<Terms const> terms;
        T value;
    };

    static Tensor<T> forward(
        Context& ctx, std::shared_ptr<Terms const> const& terms, Tensor<T> const& x, T value) {
        ctx.save_for_backward(x);
        ctx.terms = terms;
        ctx.value = value;
        return Tensor<T>(value);
    }
    static auto backward(Context& ctx, Tensor<T> const& g) {
        return std::tuple(std::nullopt, Tensor<T>(g * gradient(ctx)), std::nullopt);
    }
    static Tensor<T> jvp(Context& ctx, std::nullopt_t, Tensor<T> const& tangent, std::nullopt_t) {
        return sum(gradient(ctx) * tangent);
    }

private:
    static Tensor<T> gradient(Context& ctx) {
        auto const [x] = ctx.saved_tensors();
        if (ctx.terms->checks_calls &&
            differ<T>(ctx.terms->template at<Order::value>(x).value, ctx.value))
            fail_second_call("sum_over");
        return SumOverElementsGradient<Terms>::apply(ctx.terms, x);
    }
};

} // namespace detail

/// A sum over elements at some x, which sum_over() made. What was computed is kept until x changes
/// in place: ask for the highest derivative first, since it brings the others along.
template <class Terms> class ElementSum {
    using T = typename Terms::scalar;
    using Order = detail::Order;

public:
    ElementSum(std::shared_ptr<Terms const> terms, Tensor<T> x)
        : terms_(std::move(terms)), x_(std::move(x)) {}

    /// The same sum at another x of the same shape; what is known of the index is shared.
    ElementSum at(Tensor<T> const& x) const {
        if (x.shape() != terms_->shape)
            detail::fail<ShapeError>("sum_over: at() takes an x of shape ", terms_->shape,
                ", as the first one, not of ", x.shape());
        return {terms_, x};
    }
    /// The sum, recorded if x requires a gradient.
    Tensor<T> value() {
        return detail::SumOverElements<Terms>::apply(terms_, x_, known<Order::value>().value);
    }
    /// The gradient for x.
    Tensor<T> gradient() { return known<Order::gradient>().gradient; }
    /// The second derivatives.
    SparseMatrix<T> hessian() {
        return {terms_->index.blocks().pattern, known<Order::hessian>().hessian};
    }
    /// The second derivatives, but of each element's Hessian only the positive semidefinite part:
    /// with it a step of Newton's method descends.
    SparseMatrix<T> positive_hessian() {
        return {terms_->index.blocks().pattern, known<Order::hessian>(true).hessian};
    }

private:
    /// What is known, with derivatives up to `order` at least.
    template <Order order> auto const& known(bool positive = false) {
        bool const fits = order != Order::hessian || positive == positive_;
        if (!has_ || *has_ < order || !fits || version_ != x_.version()) {
            known_ = terms_->template at<order>(x_, positive);
            has_ = order;
            positive_ = positive;
            version_ = x_.version();
        }
        return known_;
    }

    std::shared_ptr<Terms const> terms_;
    Tensor<T> x_;
    typename Terms::Derivatives known_;
    std::optional<Order> has_;
    bool positive_ = false;
    std::uint32_t version_ = 0;
};

} // namespace xgrad

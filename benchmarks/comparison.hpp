// A row in which xgrad's value and gradients are checked against those by hand before either is
// timed.
#pragma once

#include <limits>
#include <string>
#include <tuple>

#include <xgrad/xgrad.hpp>

#include "table.hpp"

namespace bench {

/// A tensor to differentiate for, with a place for its gradient by hand: memory like that of
/// xgrad's own, so that neither has the better alignment.
template <class T> struct Leaf {
    xgrad::Tensor<T> x, by_hand = xgrad::zeros<T>(x.shape());
    T const* data = x.data();
    T* gradient = by_hand.mutable_data();

    explicit Leaf(xgrad::Tensor<T> values) : x(std::move(values)) { x.requires_grad_(); }
    /// No gradient by hand is there any more that the next competitor could live on.
    void forget() { by_hand.fill_(std::numeric_limits<xgrad::precision_of<T>>::quiet_NaN()); }
};

/// Memory for results by hand that are no gradients. Whoever copies it keeps it.
template <class T = double> struct Buffer {
    xgrad::Tensor<T> values;
    T* data = values.mutable_data();

    explicit Buffer(xgrad::Shape const& shape) : values(xgrad::zeros<T>(shape)) {}
};

/// A callable that zeroes the gradients of the leaves, computes all of them again and returns the
/// value of the function.
template <class Function, class... T>
auto differentiated(Function function, Leaf<T> const&... leaves) {
    return [=, x = std::tuple(leaves.x...)]() mutable {
        std::apply([](auto&... each) { (each.zero_grad(), ...); }, x);
        auto const loss = function();
        loss.backward();
        return loss.item();
    };
}

/// A case with its xgrad, for which competitors by hand are added. Stops the program where they
/// disagree.
template <class Function, class... T> class Comparison {
public:
    Comparison(std::string const& name, std::size_t n, Function function, Leaf<T> const&... leaves)
        : name_(name), xgrad_(differentiated(function, leaves...)), leaves_(leaves...),
          case_(name, n) {
        xgrad_(); // the second time is as every time from then on
        value_ = xgrad_();
        case_.xgrad(xgrad_);
    }
    /// A competitor that returns the value and writes every gradient into its Leaf.
    template <class F> Comparison& hand(std::string const& who, F f) {
        std::apply([](auto&... leaf) { (leaf.forget(), ...); }, leaves_);
        agree(name_ + ": value, beside " + who, value_, static_cast<decltype(value_)>(f()));
        std::apply(
            [&](auto&... leaf) {
                (agree(name_ + ": a gradient, beside " + who, leaf.x.grad().data(), leaf.gradient,
                     leaf.x.numel()),
                    ...);
            },
            leaves_);
        case_.peer(who, f);
        return *this;
    }
    Case& goal() { return case_; }
    auto const& xgrad() const { return xgrad_; }

private:
    using Run = decltype(differentiated(std::declval<Function>(), std::declval<Leaf<T>>()...));
    std::string name_;
    Run xgrad_;
    std::tuple<Leaf<T>...> leaves_;
    Case case_;
    decltype(std::declval<Run&>()()) value_;
};

/// Single precision beside double: what has twice as many numbers in a register should take half
/// the time.
template <class Single, class Double>
void float_beside_double(
    char const* name, std::size_t n, Single const& in_float, Double const& in_double) {
    Case(std::string("float / double: ") + name, n)
        .peer("xgrad, double", in_double.xgrad())
        .xgrad(in_float.xgrad())
        .at_most(0.55);
}

} // namespace bench

// How xgrad stores a callable that the user passes.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// A callable with parameters of its own, such as a module.
template <class F>
concept HasParameters = requires(F& f) { f.parameters(); };

/// The type that stores a callable passed as F&&. An lvalue with parameters is stored by reference:
/// a copy would have its own parameters, and gradients would accumulate in those. Any other
/// callable is copied or moved.
template <class F>
using KeptCallable =
    std::conditional_t<std::is_lvalue_reference_v<F> && HasParameters<std::remove_reference_t<F>>,
        std::reference_wrapper<std::remove_reference_t<F>>, std::decay_t<F>>;

} // namespace xgrad::detail

namespace xgrad {

/// A function that is called at each step of an iteration. Where it returns false, that ends.
template <class Step> class StepCallback {
public:
    StepCallback() = default;
    template <class F> StepCallback(F f) {
        constexpr bool fits = std::invocable<F&, Step const&>;
        static_assert(fits, "callback: it takes one argument, [](auto const& step) { ... }");
        if constexpr (fits) {
            using Y = std::remove_cvref_t<std::invoke_result_t<F&, Step const&>>;
            static_assert(std::same_as<Y, bool> || std::is_void_v<Y>,
                "callback: it returns nothing, or a bool, of which false ends the iteration");
            if constexpr (std::same_as<Y, bool>) call_ = std::move(f);
            else if (std::function<void(Step const&)> g = std::move(f))
                call_ = [g](Step const& step) { return g(step), true; };
        }
    }
    bool operator()(Step const& step) const { return !call_ || call_(step); }

private:
    std::function<bool(Step const&)> call_;
};

} // namespace xgrad

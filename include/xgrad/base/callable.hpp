// How callables of the user are kept.
#pragma once

#include <functional>
#include <type_traits>

#include <xgrad/base/config.hpp>

namespace xgrad::detail {

/// A module, or whatever else has parameters of its own.
template <class F>
concept HasParameters = requires(F& f) { f.parameters(); };

/// The type in which a callable that was given as F&& is kept. One that has parameters is kept by
/// reference where the caller holds it: a copy would have other parameters, and gradients would go
/// to those. Anything else is copied or moved.
template <class F>
using KeptCallable =
    std::conditional_t<std::is_lvalue_reference_v<F> && HasParameters<std::remove_reference_t<F>>,
        std::reference_wrapper<std::remove_reference_t<F>>, std::decay_t<F>>;

} // namespace xgrad::detail

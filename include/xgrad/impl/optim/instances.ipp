// Instances of templates that a program with XGRAD_SEPARATE_COMPILATION compiles once: in other
// files they are declared. optim.hpp includes this file last.
#pragma once

#ifdef XGRAD_IMPLEMENTATION
#    define XGRAD_INSTANCE template
#else
#    define XGRAD_INSTANCE extern template
#endif

namespace xgrad::optim {

XGRAD_INSTANCE class Optimizing<detail::AdagradRule>;
XGRAD_INSTANCE class Optimizing<detail::AdamRule<AdamOptions, false>>;
XGRAD_INSTANCE class Optimizing<detail::AdamRule<AdamWOptions, true>>;
XGRAD_INSTANCE class Optimizing<detail::RMSpropRule>;
XGRAD_INSTANCE class Optimizing<detail::SGDRule>;

} // namespace xgrad::optim

#undef XGRAD_INSTANCE

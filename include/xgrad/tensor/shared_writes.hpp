// A mode for porting programs of xtensor, where a copy is a copy of the elements: with the macro
// XGRAD_WARN_ON_SHARED_WRITES a change in place of a tensor to which another Tensor of the program
// refers, too, is a warning, once for each place in the program. The warning handler gets it.
// Invariant: the list has the address of each Tensor of the program that lives. What the library
// holds is not on it: operands of expressions, saved tensors, Nodes and gradients. So what it says
// is certain; where a Tensor is not on the list, a warning is missing.
#pragma once

#include <string_view>

#include <xgrad/autograd/any_tensor.hpp>

namespace xgrad::detail {

/// Warns if two Tensors or more of the program refer to t, which is about to change. Views, which
/// are there to write to another tensor, and leaves that require a gradient, which are changed
/// between passes, are left out.
XGRAD_LAZY [[gnu::cold]] void check_shared_write(AnyTensor const& t, std::string_view operation);

#ifdef XGRAD_WARN_ON_SHARED_WRITES
#    ifdef XGRAD_SEPARATE_COMPILATION
#        error "XGRAD_WARN_ON_SHARED_WRITES needs the bodies of all functions: link xgrad::xgrad"
#    endif

inline constexpr bool watches_handles = true;

XGRAD_LAZY void add_handle(AnyTensor const* handle) noexcept;
XGRAD_LAZY void remove_handle(AnyTensor const* handle) noexcept;

#else

inline constexpr bool watches_handles = false;

#endif

} // namespace xgrad::detail

namespace xgrad {

// Not in `detail`: names in the namespace of a base class are found by the arguments of a call.
#ifdef XGRAD_WARN_ON_SHARED_WRITES

/// Base of Tensor: puts it on the list.
template <class Self> class HandleOfProgram {
public:
    HandleOfProgram() noexcept { detail::add_handle(self()); }
    HandleOfProgram(HandleOfProgram const&) noexcept : HandleOfProgram() {}
    HandleOfProgram& operator=(HandleOfProgram const&) noexcept = default;
    ~HandleOfProgram() { detail::remove_handle(self()); }
    /// Takes it from the list. A parameter or a member of the library, which stands for a Tensor of
    /// the program, says so.
    void belongs_to_library() noexcept { detail::remove_handle(self()); }

private:
    AnyTensor const* self() const noexcept { return static_cast<Self const*>(this); }
};

#else

template <class Self> class HandleOfProgram {};

#endif

} // namespace xgrad

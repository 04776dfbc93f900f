// StateDict: an ordered map from names to tensors: the state of a module or an optimiser.
//
// Shapes: entries have any shapes and types; nothing is converted.
// Errors: at() and operator[] throw IndexError for a name that is not there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

/// A tensor under its name.
struct NamedTensor {
    std::string name; // such as "hidden.weight"
    AnyTensor tensor; // of any scalar type
};

/// An ordered map from unique names to tensors.
class StateDict {
public:
    StateDict() = default;
    XGRAD_LAZY StateDict(std::initializer_list<NamedTensor> entries);

    /// Adds a tensor, or replaces the tensor of that name.
    XGRAD_LAZY void set(std::string const& name, AnyTensor tensor);
    XGRAD_LAZY void erase(std::string_view name);
    /// The tensor of that name, or null. It is found in O(log n) comparisons.
    XGRAD_LAZY AnyTensor const* find(std::string_view name) const;
    XGRAD_LAZY bool contains(std::string_view name) const { return find(name); }
    /// The tensor of that name; throws IndexError where there is none.
    XGRAD_LAZY AnyTensor const& at(std::string_view name) const;
    XGRAD_LAZY AnyTensor const& operator[](std::string_view name) const { return at(name); }
    /// The same, to assign to; set() adds an entry.
    XGRAD_LAZY AnyTensor& operator[](std::string_view name);

    /// The entries, in the order in which they were set.
    std::size_t size() const noexcept { return entries_.size(); }
    bool empty() const noexcept { return entries_.empty(); }
    auto begin() const noexcept { return entries_.begin(); }
    auto end() const noexcept { return entries_.end(); }

private:
    std::vector<NamedTensor> entries_;
    std::map<std::string, std::size_t, std::less<>> positions_; // of the names in entries_
};

namespace detail {

/// A copy of the values without grad_fn.
XGRAD_LAZY AnyTensor value_copy(AnyTensor const& t);

/// True where one type converts to another: precision may change, and real numbers become complex.
constexpr bool converts(DType from, DType to) noexcept {
    return from == to || (is_differentiable(from) && is_differentiable(to) &&
                             (xgrad::is_complex(to) || !xgrad::is_complex(from)));
}

/// The sum of |x|^p over the elements; for infinity the largest |x|.
XGRAD_LAZY double sum_of_powers(AnyTensor const& t, double p);

/// A copy of the values, converted to `type`.
XGRAD_LAZY AnyTensor converted_copy(AnyTensor const& from, TypeInfo const& type);

/// Overwrites the elements of a tensor by those of another one of the same shape and type. Not
/// recorded; counts as an in-place change.
XGRAD_LAZY void overwrite(AnyTensor const& to, AnyTensor const& from);

} // namespace detail
} // namespace xgrad

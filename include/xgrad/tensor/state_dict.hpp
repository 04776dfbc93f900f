// StateDict: an ordered map from names to tensors: the state of a module or an optimiser.
//
// Shapes: entries have any shapes and types; nothing is converted.
// Gradients: none: entries are handles to the tensors themselves.
// Errors: at() and operator[] throw IndexError for a name that is not there.
#pragma once

#include <string>
#include <vector>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

/// A tensor under its name.
struct NamedTensor {
    std::string name; // such as "hidden.weight"
    AnyTensor tensor; // of any scalar type
};

namespace detail {

/// Finds elements of a list by name where no name occurs twice, in O(log^2 n) comparisons. The list
/// grows at its end. An element is a struct with a member `name`.
///
/// A list of less than `min_size` elements is searched from its beginning. A longer one has an
/// index: the positions of its elements in runs that are sorted by name, each at least twice as
/// long as the next.
class NameIndex {
public:
    /// The position of a name in a list of n elements; n if it is not there.
    template <class E> std::size_t find(std::string_view name, E const* list, std::size_t n) const {
        return find(name, list, n, name_of<E>);
    }
    /// To be called where the list has grown to n elements.
    template <class E> void extend(E const* list, std::size_t n) noexcept {
        extend(list, n, name_of<E>);
    }
    /// To be called where element i was removed.
    XGRAD_LAZY void erase(std::size_t i) noexcept;
    /// To be called where other elements are in the list, before extend().
    void clear() noexcept { order_.clear(), ends_.clear(); }

private:
    using NameAt = std::string_view (*)(void const* list, std::size_t i);
    static constexpr std::size_t min_size = 16;

    template <class E> static std::string_view name_of(void const* list, std::size_t i) {
        return static_cast<E const*>(list)[i].name;
    }
    XGRAD_LAZY std::size_t find(
        std::string_view name, void const* list, std::size_t n, NameAt name_at) const;
    XGRAD_LAZY void extend(void const* list, std::size_t n, NameAt name_at) noexcept;

    std::vector<std::size_t> order_, ends_; // positions, and where each run of them ends
};

} // namespace detail

/// An ordered map from unique names to tensors.
class StateDict {
public:
    StateDict() = default;
    XGRAD_LAZY StateDict(std::initializer_list<NamedTensor> entries);

    /// Adds a tensor, or replaces the tensor of that name.
    XGRAD_LAZY void set(std::string const& name, AnyTensor tensor);
    XGRAD_LAZY void erase(std::string_view name);
    /// The tensor of that name, or null. It is found in O(log^2 n) comparisons.
    XGRAD_LAZY AnyTensor const* find(std::string_view name) const;
    bool contains(std::string_view name) const { return find(name); }
    /// The tensor of that name; throws IndexError where there is none.
    XGRAD_LAZY AnyTensor const& at(std::string_view name) const;
    AnyTensor const& operator[](std::string_view name) const { return at(name); }
    /// The same, to assign to; set() adds an entry.
    XGRAD_LAZY AnyTensor& operator[](std::string_view name);

    /// The entries, in the order in which they were set.
    std::size_t size() const noexcept { return entries_.size(); }
    bool empty() const noexcept { return entries_.empty(); }
    auto begin() const noexcept { return entries_.begin(); }
    auto end() const noexcept { return entries_.end(); }

private:
    std::vector<NamedTensor> entries_;
    detail::NameIndex index_;
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

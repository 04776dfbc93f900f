// A small mdspan with the members that [mdspan] asks for, where the compiler has none.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

namespace support {

inline constexpr std::size_t dynamic_extent = std::numeric_limits<std::size_t>::max();

template <class Index, std::size_t... extent_of> class extents {
public:
    using index_type = Index;
    using rank_type = std::size_t;

    static constexpr rank_type rank() noexcept { return sizeof...(extent_of); }
    static constexpr std::size_t static_extent(rank_type r) noexcept {
        return std::array<std::size_t, sizeof...(extent_of) + 1>{extent_of..., 0}[r];
    }
    constexpr extents() = default;
    explicit constexpr extents(std::array<Index, sizeof...(extent_of)> const& all) : all_(all) {}
    constexpr Index extent(rank_type r) const noexcept { return all_[r]; }

private:
    std::array<Index, sizeof...(extent_of)> all_{};
};

/// Row-major, or column-major.
template <bool is_right> struct layout_contiguous {
    template <class Extents> class mapping {
    public:
        using extents_type = Extents;
        using index_type = typename Extents::index_type;

        explicit mapping(Extents const& e) : extents_(e) {}
        Extents const& extents() const noexcept { return extents_; }
        index_type stride(std::size_t r) const noexcept {
            index_type product = 1;
            if (is_right)
                for (std::size_t d = r + 1; d < Extents::rank(); ++d) product *= extents_.extent(d);
            else
                for (std::size_t d = 0; d < r; ++d) product *= extents_.extent(d);
            return product;
        }
        static constexpr bool is_strided() noexcept { return true; }

    private:
        Extents extents_;
    };
};
using layout_right = layout_contiguous<true>;
using layout_left = layout_contiguous<false>;

struct layout_stride {
    template <class Extents> class mapping {
    public:
        using extents_type = Extents;
        using index_type = typename Extents::index_type;

        mapping(Extents const& e, std::array<index_type, Extents::rank()> const& strides)
            : extents_(e), strides_(strides) {}
        Extents const& extents() const noexcept { return extents_; }
        index_type stride(std::size_t r) const noexcept { return strides_[r]; }
        static constexpr bool is_strided() noexcept { return true; }

    private:
        Extents extents_;
        std::array<index_type, Extents::rank()> strides_;
    };
};

template <class T> struct default_accessor {
    using element_type = T;
    using reference = T&;
    using data_handle_type = T*;
};

template <class T, class Extents, class Layout = layout_right, class Accessor = default_accessor<T>>
class mdspan {
public:
    using extents_type = Extents;
    using layout_type = Layout;
    using accessor_type = Accessor;
    using mapping_type = typename Layout::template mapping<Extents>;
    using element_type = T;
    using index_type = typename Extents::index_type;
    using reference = typename Accessor::reference;
    using data_handle_type = typename Accessor::data_handle_type;

    mdspan(data_handle_type p, mapping_type const& m) : data_(p), mapping_(m) {}
    static constexpr std::size_t rank() noexcept { return Extents::rank(); }
    Extents const& extents() const noexcept { return mapping_.extents(); }
    index_type extent(std::size_t r) const noexcept { return extents().extent(r); }
    index_type stride(std::size_t r) const noexcept { return mapping_.stride(r); }
    mapping_type const& mapping() const noexcept { return mapping_; }
    data_handle_type const& data_handle() const noexcept { return data_; }
    bool is_strided() const noexcept { return mapping_.is_strided(); }

private:
    data_handle_type data_;
    mapping_type mapping_;
};

} // namespace support

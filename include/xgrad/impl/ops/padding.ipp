// Bodies of padding.hpp.
#pragma once

#include <xgrad/ops/padding.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Axes negative_ones(Axes widths) {
    for (auto& width : widths) width = std::min<std::ptrdiff_t>(width, 0);
    return widths;
}

XGRAD_LAZY_BODY std::size_t if_positive(std::ptrdiff_t width) {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(width, 0));
}

XGRAD_LAZY_BODY PadWidths::PadWidths(Axes const& widths, Shape const& extents)
    : before(extents.size(), 0), after(extents.size(), 0) {
    auto const rank = extents.size();
    if (widths.size() % 2 || widths.size() > 2 * rank)
        fail<ShapeError>("pad: widths ", widths, " are not two for each of at most ", rank,
            " axes of shape ", extents);
    for (std::size_t i = 0; i < widths.size() / 2; ++i) {
        auto const d = rank - 1 - i;
        auto const first = before[d] = widths[2 * i], last = after[d] = widths[2 * i + 1];
        cut |= std::min(first, last) < 0;
        add |= std::max(first, last) > 0;
        constexpr auto most = static_cast<std::ptrdiff_t>(max_elements);
        if (std::max(first, last) > most || std::min(first, last) < -most ||
            static_cast<std::ptrdiff_t>(extents[d]) + std::min<std::ptrdiff_t>(first, 0) +
                    std::min<std::ptrdiff_t>(last, 0) <
                0)
            fail<ShapeError>("pad: widths ", widths, " take away more than there is in shape ",
                extents, ", or add more than any memory holds");
    }
}

XGRAD_LAZY_BODY void check_border(PadBorder const& b, std::size_t extent) {
    auto const longest = std::max(b.before, b.after);
    if (b.mode == PadMode::reflect && longest >= extent)
        fail<ShapeError>("pad: axis ", b.axis, " with extent ", extent, " cannot be reflected to ",
            longest, " positions, which must be fewer");
    if (b.mode == PadMode::circular && longest > extent)
        fail<ShapeError>("pad: axis ", b.axis, " with extent ", extent, " does not go round ",
            longest, " positions, which must be no more");
    if (b.mode == PadMode::replicate && extent == 0)
        fail<ShapeError>("pad: axis ", b.axis, " with extent 0 has nothing to be replicated");
}

} // namespace xgrad::detail

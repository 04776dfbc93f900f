// Bodies of anomaly.hpp.
#pragma once

#include <xgrad/autograd/anomaly.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::string location_text(Origin const& origin) {
    return origin.location.empty() ? call_stack_text(origin.stack) : origin.location;
}

XGRAD_FUNCTION bool is_own(SourceLocation const& at) {
    std::string_view headers = __FILE__;
    if (std::string_view const here = "/autograd/anomaly.hpp"; headers.ends_with(here))
        headers.remove_suffix(here.size());
    return std::string_view(at.file_name()).starts_with(headers);
}

XGRAD_FUNCTION std::shared_ptr<Origin const> make_origin() {
    auto origin = std::make_shared<Origin>();
    if (auto const* const at = anomaly.location; at && !is_own(*at))
        origin->location = std::string(at->file_name()) + ":" + std::to_string(at->line()) +
                           ", in " + at->function_name();
    else origin->stack = call_stack();
    if (anomaly.running) {
        origin->parent_name = anomaly.running->name();
        if (auto const* const hooks = NodeHooks::of(*anomaly.running))
            origin->parent = hooks->origin;
    }
    return origin;
}

XGRAD_FUNCTION std::string origin_text(Node const& node) {
    auto const* const hooks = NodeHooks::of(node);
    if (!hooks || !hooks->origin) return {};
    std::string text = " It was recorded at " + location_text(*hooks->origin) + ".";
    for (auto const* o = hooks->origin.get(); o && !o->parent_name.empty(); o = o->parent.get())
        text +=
            " That was induced by the backward pass of " + o->parent_name +
            (o->parent ? ", which was recorded at " + location_text(*o->parent) : std::string()) +
            ".";
    return text;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION AnomalyMode::~AnomalyMode() {
    detail::anomaly.enabled = before_.enabled;
    detail::anomaly.check_nan = before_.check_nan;
}

XGRAD_FUNCTION Node::Node(std::uint64_t sequence) : sequence_(sequence) {
    if (detail::anomaly.enabled) [[unlikely]]
        detail::NodeHooks::made(*this).origin = detail::make_origin();
}

} // namespace xgrad

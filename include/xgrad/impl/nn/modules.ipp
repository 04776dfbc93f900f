// Bodies of activation_modules.hpp, attention.hpp, convolution_lines.hpp, embedding.hpp,
// functional.hpp, initializers.hpp, live_modules.hpp, load_report.hpp, module_hooks.hpp,
// module_text.hpp, normalization.hpp, pooling.hpp and standardize.hpp.
#pragma once

#include <xgrad/nn/activation_modules.hpp>
#include <xgrad/nn/attention.hpp>
#include <xgrad/nn/convolution_lines.hpp>
#include <xgrad/nn/embedding.hpp>
#include <xgrad/nn/functional.hpp>
#include <xgrad/nn/initializers.hpp>
#include <xgrad/nn/live_modules.hpp>
#include <xgrad/nn/load_report.hpp>
#include <xgrad/nn/module_hooks.hpp>
#include <xgrad/nn/module_text.hpp>
#include <xgrad/nn/normalization.hpp>
#include <xgrad/nn/pooling.hpp>
#include <xgrad/nn/standardize.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION double checked_probability(std::string_view name, double p) {
    if (p >= 0 && p <= 1) return p;
    xgrad::detail::fail(name, ": the probability must lie between 0 and 1, and is ", p);
}

XGRAD_FUNCTION Tensor<bool> causal_mask(std::size_t queries, std::size_t keys) {
    auto const i = arange<std::int64_t>(0, static_cast<std::int64_t>(queries)),
               j = arange<std::int64_t>(0, static_cast<std::int64_t>(keys));
    return unsqueeze(i, 1) >= j;
}

XGRAD_FUNCTION std::size_t Tile::rows_of(Phase const& phase) const {
    return phase.count > row ? std::min(rows, phase.count - row) : 0;
}

XGRAD_FUNCTION std::size_t Tile::columns_of(Phase const& phase) const {
    return phase.count > column ? std::min(columns, phase.count - column) : 0;
}

XGRAD_FUNCTION std::int64_t padding_row(
    std::string_view name, std::optional<std::int64_t> index, std::size_t count) {
    auto const n = static_cast<std::int64_t>(count);
    if (index && (*index < -n || *index >= n))
        xgrad::detail::fail<IndexError>(
            name, ": padding_idx ", *index, " must be within ", n, " rows");
    return !index ? -1 : *index < 0 ? *index + n : *index;
}

XGRAD_FUNCTION Axes softmax_axis(std::string_view name, Shape const& shape, std::ptrdiff_t axis) {
    auto const at = xgrad::detail::normalize_axis(name, axis, shape, shape.empty());
    return shape.empty() ? Axes{} : Axes{static_cast<std::ptrdiff_t>(at)};
}

XGRAD_FUNCTION void LiveModules::move(AnyModule const* from, AnyModule const* to) noexcept {
    std::lock_guard const lock(mutex_);
    auto entry = all_.extract(from);
    if (!entry) return; // moved from before
    entry.value() = to;
    all_.insert(std::move(entry));
}

XGRAD_FUNCTION AnyModule const* LiveModules::first_in(std::uintptr_t begin, std::uintptr_t end) {
    std::lock_guard const lock(mutex_);
    auto const found = all_.lower_bound(reinterpret_cast<AnyModule const*>(begin));
    return found != all_.end() && reinterpret_cast<std::uintptr_t>(*found) < end ? *found : nullptr;
}

XGRAD_FUNCTION bool ModuleCall::begin(xgrad::detail::Identity hook, bool always) {
    if (failed && !always) return false;
    for (auto const other : called_)
        if (other == hook) return false;
    if (always) called_.push_back(hook);
    return true;
}

XGRAD_FUNCTION bool ModuleHooks::any() const {
    return forward_pre.any() || forward.any() || backward_pre.any() || backward.any();
}

XGRAD_FUNCTION StandardizeGeometry channel_geometry(std::string_view name, Shape const& shape) {
    if (shape.size() < 2)
        xgrad::detail::fail<ShapeError>(name, ": expected at least 2D input (got ", shape.size(),
            "D input), not of shape ", shape);
    std::size_t positions = 1;
    for (std::size_t d = 2; d < shape.size(); ++d) positions *= shape[d];
    return {.samples = shape[0], .groups = shape[1], .positions = positions};
}

XGRAD_FUNCTION std::vector<std::int64_t> columns_in_turn(Windows const& w) {
    std::vector<std::int64_t> all;
    for (std::size_t turn = 0, most = 1; turn < most; ++turn)
        for (auto const& c : w.columns) {
            std::size_t const count = (c.stop - c.start + c.step - 1) / c.step;
            most = std::max(most, count);
            all.push_back(static_cast<std::int64_t>(c.start + std::min(turn, count - 1) * c.step));
        }
    return all;
}

XGRAD_FUNCTION double StandardizeGeometry::count() const {
    return static_cast<double>(channels * positions) *
           static_cast<double>(over_samples ? samples : 1);
}

} // namespace xgrad::nn::detail

namespace xgrad::nn::init::detail {

XGRAD_FUNCTION Fans fans(std::string_view name, Shape const& shape) {
    if (shape.size() < 2)
        xgrad::detail::fail<ShapeError>(name,
            ": Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, of "
            "shape ",
            shape);
    double field = 1;
    for (std::size_t d = 2; d < shape.size(); ++d) field *= static_cast<double>(shape[d]);
    return {static_cast<double>(shape[1]) * field, static_cast<double>(shape[0]) * field};
}

} // namespace xgrad::nn::init::detail

namespace xgrad::nn {

XGRAD_FUNCTION std::string Flatten::extra_repr() const {
    return "first=" + std::to_string(first) + ", last=" + std::to_string(last);
}

XGRAD_FUNCTION bool LoadReport::complete() const noexcept {
    return missing.empty() && unexpected.empty() && mismatched.empty();
}

XGRAD_FUNCTION std::string LoadReport::message(std::string_view module_class) const {
    std::string text = "Error(s) in loading state_dict for " + std::string(module_class) + ":";
    auto const list = [&](char const* what, std::vector<std::string> const& names) {
        for (auto const& name : names) {
            if (name == names.front())
                text.append("\n\t").append(what).append(" key(s) in state_dict: ");
            else text += ", ";
            text += '"' + name + '"';
        }
    };
    list("Missing", missing);
    list("Unexpected", unexpected);
    for (auto const& name : mismatched) text += "\n\t" + name;
    return text;
}

XGRAD_FUNCTION void AnyModule::print(std::string const& indent, std::string& out) const {
    out += std::string(kind()) + "(" + extra_repr();
    bool has_children = false;
    for (auto const& m : members_) {
        if (m.kind != Kind::module) continue;
        if (!std::exchange(has_children, true) && out.back() != '(') out += ",";
        out += "\n" + indent + "  (" + m.name + "): ";
        module_of(m).print(indent + "  ", out);
    }
    out += has_children ? "\n" + indent + ")" : ")";
    if (auto const n = parameter_count())
        out += ", " + std::to_string(n) + (n == 1 ? " parameter" : " parameters");
}

} // namespace xgrad::nn

namespace xgrad::nn::init {

XGRAD_FUNCTION double calculate_gain(
    Choice<Nonlinearity> nonlinearity, std::optional<double> param) {
    double const slope = param.value_or(0.01);
    switch (nonlinearity) {
    case Nonlinearity::tanh:
        return 5. / 3;
    case Nonlinearity::relu:
        return std::numbers::sqrt2;
    case Nonlinearity::leaky_relu:
        return std::sqrt(2 / (1 + slope * slope));
    case Nonlinearity::selu:
        return 0.75;
    default:
        return 1;
    }
}

} // namespace xgrad::nn::init

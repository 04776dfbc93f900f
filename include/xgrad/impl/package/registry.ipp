// Bodies of registry.hpp, provided.hpp, layers.hpp and layer_arguments.hpp.
#pragma once

#include <xgrad/package/layer_arguments.hpp>
#include <xgrad/package/layers.hpp>
#include <xgrad/package/provided.hpp>
#include <xgrad/package/registry.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION auto TypeEntry::call(std::type_info const& signature) const noexcept
    -> nn::ModuleContainer::AnyFunction {
    for (auto const& c : calls)
        if (*c.signature == signature) return c.function;
    return nullptr;
}

XGRAD_FUNCTION std::string TypeEntry::title(std::string_view name, std::optional<DType> dtype) {
    std::string text(name);
    return dtype ? text + " (" + std::string(xgrad::name(*dtype)) + ")" : text;
}

XGRAD_FUNCTION void Registry::add(TypeEntry entry) {
    std::lock_guard const lock(mutex_);
    entries_.push_back(std::make_unique<TypeEntry const>(std::move(entry)));
}

XGRAD_FUNCTION TypeEntry const* Registry::find(
    std::string_view name, std::optional<DType> dtype) const {
    TypeEntry const* found = nullptr;
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_) {
        if (e->name != name || e->dtype != dtype) continue;
        if (found && *found->type != *e->type)
            fail<PackageError>("the name '", e->title(), "' was given to two C++ types");
        found = e.get();
    }
    return found;
}

XGRAD_FUNCTION TypeEntry const* Registry::find(nn::AnyModule const& m) const {
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_)
        if (e->is_type_of(m)) return e.get();
    return nullptr;
}

XGRAD_FUNCTION auto Registry::find_call(nn::AnyModule const& m,
    std::type_info const& signature) const -> nn::ModuleContainer::AnyFunction {
    if (auto const* const e = find(m))
        if (auto const call = e->call(signature)) return call;
    std::lock_guard const lock(mutex_);
    for (auto const& c : calls_)
        if (*c.call.signature == signature && (typeid(m) == *c.type || typeid(m) == *c.child_type))
            return c.call.function;
    return nullptr;
}

XGRAD_FUNCTION bool Registry::knows(std::string_view name) const {
    std::lock_guard const lock(mutex_);
    for (auto const& e : entries_)
        if (e->name == name) return true;
    return false;
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> Provided::make(
    std::string const& name, std::string const& where) const {
    if (auto const at = entries_.find(name); at != entries_.end()) {
        if (!at->second.make)
            fail<PackageError>(where, ": what is provided as '", name, "' is no module");
        if (auto made = at->second.make()) return made;
        fail<PackageError>(where, ": the factory of '", name, "' returned no module");
    }
    return type_named(name)->make(Json::Object(), where, 0);
}

XGRAD_FUNCTION TypeEntry const* Provided::type_of(nn::AnyModule const& m) const {
    for (auto const& [name, e] : entries_)
        if (e.type && e.type->is_type_of(m)) return &*e.type;
    return registry().find(m);
}

XGRAD_FUNCTION auto Provided::find_call(nn::AnyModule const& m,
    std::type_info const& signature) const -> nn::ModuleContainer::AnyFunction {
    for (auto const& [name, e] : entries_)
        if (e.type && e.type->is_type_of(m))
            if (auto const call = e.type->call(signature)) return call;
    return registry().find_call(m, signature);
}

XGRAD_FUNCTION void Provided::check(std::string const& name) {
    if (!is_dotted(name))
        fail<PackageError>(
            "PackageImporter: '", name, "' cannot be the name of something external");
}

XGRAD_FUNCTION TypeEntry const* Provided::type_named(std::string const& name) {
    auto const* const e = registry().find(name, {});
    return e && e->make && e->without_arguments ? e : nullptr;
}

XGRAD_FUNCTION Registry& registry() {
    [[maybe_unused]] static bool const added = (add_layers(Registry::program()), true);
    return Registry::program();
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> make_container(
    std::string_view name, std::optional<DType> dtype) {
    if (name == "xgrad.nn.ModuleList" && !dtype)
        return std::make_unique<nn::ModuleList<nn::AnyModule>>();
    if (name != "xgrad.nn.Sequential" || !dtype) return nullptr;
    switch (*dtype) {
    case DType::float32:
        return std::make_unique<nn::Sequential<float>>();
    case DType::float64:
        return std::make_unique<nn::Sequential<double>>();
    case DType::complex64:
        return std::make_unique<nn::Sequential<std::complex<float>>>();
    case DType::complex128:
        return std::make_unique<nn::Sequential<std::complex<double>>>();
    default:
        return nullptr;
    }
}

XGRAD_FUNCTION double size_of_bilinear(std::size_t in1, std::size_t in2, std::size_t out, bool) {
    return (extent(in1) * extent(in2) + 1) * extent(out);
}

XGRAD_FUNCTION double size_of_batch_norm(std::size_t features, nn::BatchNormOptions const& o) {
    return (2. * o.affine + 2. * o.track_running_stats) * extent(features) + 1;
}

XGRAD_FUNCTION double size_of_shape(Shape const& shape) {
    double size = 1;
    for (auto const n : shape) size *= extent(n);
    return size;
}

XGRAD_FUNCTION double size_of_attention(
    std::size_t embed, std::size_t, nn::MultiheadAttentionOptions const& o) {
    auto const of = [embed](std::size_t dim) { return extent(dim ? dim : embed); };
    return extent(embed) * (2 * extent(embed) + of(o.kdim) + of(o.vdim) + 4);
}

XGRAD_FUNCTION double size_of_encoder_layer(
    std::size_t d_model, std::size_t nhead, nn::TransformerEncoderLayerOptions const& o) {
    return size_of_attention(d_model, nhead, {}) +
           extent(d_model) * (2 * extent(o.dim_feedforward) + 5) + extent(o.dim_feedforward);
}

XGRAD_FUNCTION double size_of_encoder(std::size_t d_model, std::size_t nhead,
    nn::TransformerEncoderLayerOptions const& o, std::size_t num_layers, std::optional<double>) {
    return extent(num_layers) * size_of_encoder_layer(d_model, nhead, o) + 2 * extent(d_model);
}

XGRAD_FUNCTION double size_of_shapes(std::vector<Shape> const& shapes) {
    double size = 0;
    for (auto const& shape : shapes) size += size_of_shape(shape);
    return size;
}
XGRAD_FUNCTION double size_of_weighted_bce(nn::Reduction, std::optional<Shape> const& weight) {
    return weight ? size_of_shape(*weight) : 0;
}
XGRAD_FUNCTION double size_of_weighted_binary_cross_entropy(
    nn::Reduction, std::optional<Shape> const& weight, std::optional<Shape> const& pos_weight) {
    return (weight ? size_of_shape(*weight) : 0) + (pos_weight ? size_of_shape(*pos_weight) : 0);
}

} // namespace xgrad::package::detail

// Bodies of builder.hpp, registry.hpp, provided.hpp, layers.hpp and layer_arguments.hpp.
#pragma once

#include <xgrad/package/builder.hpp>
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

XGRAD_FUNCTION StoredModule::StoredModule(Archive const& archive, Archive::Resource const& r)
    : where(archive.title(r.base + ".json")) {
    auto const json = archive.json(r.base + ".json");
    auto const* const root = json.find("module");
    if (!root) fail<data::FormatError>(where, ": there is no module");
    module = record_from(*root, where);
    for (auto const& [key, names] : {std::pair("parameters", &parameters),
             std::pair("frozen", &frozen), std::pair("evaluating", &evaluating)}) {
        auto const* const list = json.find(key);
        if (!list) fail<data::FormatError>(where, ": there is no list of names '", key, "'");
        auto const all = from_json<std::vector<std::string>>(*list, where + ", " + key);
        names->insert(all.begin(), all.end());
    }
    state = archive.tensors(r);
    for (auto const& [name, tensor] : state) elements.emplace(name, tensor.numel());
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> ModuleBuilder::root(
    std::unique_ptr<nn::AnyModule> container) {
    auto const& r = stored_.module;
    if (!container || action_of(r, "") != Action::intern || !is_container_of(*container, r))
        return build(r, "");
    fill(*container, r, "");
    return container;
}

XGRAD_FUNCTION void ModuleBuilder::load_state(nn::AnyModule& module) const {
    auto const report = module.load_state_dict(stored_.state, false);
    if (!report.mismatched.empty()) wrong("", report.mismatched[0]);
    if (!report.unexpected.empty())
        wrong("", "the module has no parameter or buffer '" + report.unexpected[0] + "'");
    for (auto const& name : report.missing)
        if (!is_within_any(name, left_out_))
            wrong("", "the parameter or buffer '" + name + "' is not stored");
    for (auto const& [name, p] : module.named_parameters())
        if (!is_within_any(name, left_out_))
            p.impl().requires_grad = !stored_.frozen.contains(name);
    for (auto const& [name, m] : module.named_modules())
        m->train(!stored_.evaluating.contains(name));
}

XGRAD_FUNCTION std::string ModuleBuilder::where(std::string const& path) const {
    return path.empty() ? stored_.where : stored_.where + ", module '" + path + "'";
}

XGRAD_FUNCTION std::string ModuleBuilder::title(nn::AnyModule const& m, TypeEntry const* e) {
    return e && !e->name.empty() ? e->title() : std::string(m.kind());
}

XGRAD_FUNCTION Action ModuleBuilder::action_of(
    ModuleRecord const& r, std::string const& path) const {
    auto const* const node = archive_.dependencies().find(r.type);
    if (!node || !node->action) wrong(path, "what becomes of '" + r.type + "' is not said");
    return *node->action;
}

XGRAD_FUNCTION double ModuleBuilder::elements_within(std::string const& path) const {
    double sum = 0;
    stored_.for_each_within(
        path, [&](std::string_view, std::size_t n) { sum += static_cast<double>(n); });
    return sum;
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> ModuleBuilder::build(
    ModuleRecord const& r, std::string const& path) {
    if (auto const action = action_of(r, path); action != Action::intern) {
        left_out_.insert(path);
        if (action == Action::extern_) return provided_.make(r.type, where(path));
        return std::make_unique<Mock>(r.type, archive_.name());
    }
    if (auto container = make_container(r.type, r.dtype)) {
        fill(*container, r, path);
        return container;
    }
    auto const* const entry = registry().find(r.type, r.dtype);
    if (!entry || !entry->make) return build_generic(r, path);
    auto module = entry->make(r.arguments, where(path), elements_within(path));
    fill(*module, r, path);
    return module;
}

XGRAD_FUNCTION std::unique_ptr<nn::AnyModule> ModuleBuilder::build_generic(
    ModuleRecord const& r, std::string const& path) {
    auto module = std::make_unique<GenericModule>(r.type, r.dtype, r.arguments);
    stored_.for_each_within(path, [&](std::string_view name, std::size_t) {
        if (name.find('.') != name.npos) return;
        auto const full = join(path, std::string(name));
        auto const& tensor = stored_.state.at(full);
        if (!stored_.parameters.contains(full))
            return module->add_buffer(name, xgrad::detail::value_copy(tensor));
        if (!is_differentiable(tensor.dtype()))
            wrong(path, "a parameter '" + std::string(name) + "' of type " +
                            std::string(xgrad::name(tensor.dtype())));
        module->add_parameter(name, xgrad::detail::value_copy(tensor));
    });
    for (auto const& inside : r.modules)
        module->add_module(inside.name, build(inside, join(path, inside.name)));
    return module;
}

XGRAD_FUNCTION bool ModuleBuilder::is_container_of(nn::AnyModule& m, ModuleRecord const& r) {
    auto const* const container = dynamic_cast<nn::ModuleContainer*>(&m);
    return container && r.type == "xgrad.nn." + std::string(container->container_kind()) &&
           r.dtype == container->container_dtype();
}

XGRAD_FUNCTION bool ModuleBuilder::has_modules(
    std::vector<nn::NamedModule> const& children, ModuleRecord const& r) {
    return std::ranges::equal(children, r.modules,
        [](auto const& child, auto const& inside) { return child.name == inside.name; });
}

XGRAD_FUNCTION void ModuleBuilder::fill(
    nn::AnyModule& m, ModuleRecord const& r, std::string const& path) {
    auto const children = m.named_children();
    bool const same_names = has_modules(children, r);
    if (auto* const container = dynamic_cast<nn::ModuleContainer*>(&m)) {
        bool const same =
            same_names &&
            std::ranges::equal(children, r.modules, [&](auto const& child, auto const& inside) {
                return is_stored_as(*child.module, inside, join(path, inside.name));
            });
        if (!same) return refill(*container, r, path);
    } else if (!same_names) {
        std::string text = "the modules inside a " + std::string(m.kind()) + " are";
        for (auto const& child : children) text += " '" + child.name + "'";
        wrong(path, text + " in this program, and others in the package");
    }
    for (std::size_t i = 0; i < children.size(); ++i)
        fit(*children[i].module, r.modules[i], join(path, children[i].name));
}

XGRAD_FUNCTION void ModuleBuilder::refill(
    nn::ModuleContainer& container, ModuleRecord const& r, std::string const& path) {
    std::vector<std::unique_ptr<nn::AnyModule>> modules;
    for (auto const& inside : r.modules) modules.push_back(build(inside, join(path, inside.name)));
    try {
        container.replace_modules(
            std::move(modules), [this](nn::AnyModule& m, std::type_info const& signature) {
                return provided_.find_call(m, signature);
            });
    } catch (Error const& e) { wrong(path, e.what()); }
}

XGRAD_FUNCTION bool ModuleBuilder::is_stored_as(
    nn::AnyModule& m, ModuleRecord const& r, std::string const& path) const {
    if (action_of(r, path) != Action::intern) return false;
    if (dynamic_cast<nn::ModuleContainer*>(&m)) return is_container_of(m, r);
    auto const* const entry = registry().find(m);
    return entry && entry->name == r.type && entry->dtype == r.dtype;
}

XGRAD_FUNCTION void ModuleBuilder::fit(
    nn::AnyModule& m, ModuleRecord const& r, std::string const& path) {
    auto const action = action_of(r, path);
    if (action == Action::mock) {
        fail<PackageError>(where(path), ": '", r.type,
            "' was mocked, but the module around holds a ", m.kind(),
            " by value; hold it in an nn::Slot");
    }
    if (action == Action::intern && !is_stored_as(m, r, path))
        wrong(path, "it is a " + title(r) + ", and this program has a " +
                        title(m, registry().find(m)) + " there");
    if (action == Action::intern && (dynamic_cast<nn::ModuleContainer*>(&m) || has_arguments(m, r)))
        return fill(m, r, path);
    auto const made = build(r, path);
    auto const* const type = provided_.type_of(m);
    if (!type || !type->assign || !type->is_type_of(*made))
        fail<PackageError>(where(path), ": the module around holds a ", m.kind(),
            " by value, which a ", made->kind(), " cannot replace; hold it in an nn::Slot");
    type->assign(m, *made);
}

XGRAD_FUNCTION bool ModuleBuilder::has_arguments(nn::AnyModule& m, ModuleRecord const& r) {
    auto const* const entry = registry().find(m);
    return entry->arguments && entry->arguments(m) == r.arguments;
}

} // namespace xgrad::package::detail

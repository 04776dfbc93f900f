// Bodies of builder.hpp.
#pragma once

#include <xgrad/package/builder.hpp>

namespace xgrad::package::detail {

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

// Bodies of any_module.hpp.
#pragma once

#include <xgrad/nn/any_module.hpp>

namespace xgrad::nn {

XGRAD_FUNCTION void AnyModule::requires_grad_(bool on) {
    for (auto const& p : parameters()) p.impl().requires_grad = on;
}

XGRAD_FUNCTION void AnyModule::zero_grad() {
    for (auto const& p : parameters()) p.impl().grad = nullptr;
}

XGRAD_FUNCTION AnyModule::AnyModule(AnyModule&& o) noexcept
    : bytes_(o.bytes_), training_(o.training_), checked_(o.is_checked()),
      members_(std::move(o.members_)), hooks_(std::move(o.hooks_)) {
    o.positions_.clear();
    detail::LiveModules::instance().move(&o, this);
    take_hooks();
}

XGRAD_FUNCTION AnyModule& AnyModule::operator=(AnyModule const& o) {
    if (this == &o) return *this;
    members_ = o.members_;
    positions_.clear();
    training_ = o.training_;
    return *this;
}

XGRAD_FUNCTION AnyModule& AnyModule::operator=(AnyModule&& o) {
    if (this == &o) return *this;
    members_ = std::move(o.members_);
    positions_.clear(), o.positions_.clear();
    training_ = o.training_;
    leave_hooks();
    hooks_ = std::move(o.hooks_);
    take_hooks();
    return *this;
}

XGRAD_FUNCTION auto AnyModule::member(std::size_t i) const -> Member const& {
    if (i < members_.size()) return members_[i];
    xgrad::detail::fail<IndexError>(
        kind(), ": index ", i, " is out of range of ", members_.size(), " members");
}

XGRAD_FUNCTION bool AnyModule::has_type_of(std::size_t i, AnyModule const& other) const {
    AnyModule const& m = owned(i);
    return typeid(m) == typeid(other);
}

XGRAD_FUNCTION AnyModule::Member::Member(Member const& o)
    : name(o.name), kind(o.kind), persistent(o.persistent), offset(o.offset),
      owned(o.owned ? o.owned->clone_any() : nullptr) {
    if (!o.tensor.defined()) return;
    tensor = xgrad::detail::value_copy(o.tensor);
    tensor.impl().requires_grad = o.tensor.impl().requires_grad;
}

XGRAD_FUNCTION auto AnyModule::Member::operator=(Member o) noexcept -> Member& {
    name.swap(o.name);
    kind = o.kind, persistent = o.persistent, offset = o.offset;
    owned.swap(o.owned);
    std::swap(tensor, o.tensor);
    return *this;
}

XGRAD_FUNCTION void AnyModule::take_hooks() noexcept {
    if (auto* const h = hooks_.get()) h->module = this;
}

XGRAD_FUNCTION void AnyModule::leave_hooks() noexcept {
    if (auto* const h = hooks_.get()) h->module = nullptr;
}

XGRAD_FUNCTION AnyTensor const& AnyModule::tensor_of(Member const& m) const noexcept {
    return m.tensor.defined() ? m.tensor : at<AnyTensor>(m);
}

XGRAD_FUNCTION std::vector<AnyTensor> AnyModule::tensors_of(std::vector<NamedTensor> const& named) {
    std::vector<AnyTensor> all;
    for (auto const& n : named) all.push_back(n.tensor);
    return all;
}

XGRAD_FUNCTION std::vector<AnyModule*> AnyModule::modules_of(
    std::vector<NamedModule> const& named) {
    std::vector<AnyModule*> all;
    for (auto const& n : named) all.push_back(n.module);
    return all;
}

/// Every module in this object's memory must be a Child or be inside a Child, which checks its own
/// members.
XGRAD_FUNCTION void AnyModule::check_members() const {
    auto const end = address() + bytes_;
    auto& live = detail::LiveModules::instance();
    auto next = address() + 1;
    while (auto const* const m = live.first_in(next, end)) {
        next = m->address() + m->bytes_;
        auto const offset = static_cast<std::ptrdiff_t>(m->address() - address());
        bool const is_child = std::ranges::any_of(members_, [&](Member const& member) {
            return member.kind == Kind::module && !member.owned && member.offset == offset;
        });
        if (!is_child)
            xgrad::detail::fail(kind(), ": a module of type ", m->kind(),
                " is a plain member, so that ", kind(),
                " has neither its parameters nor its "
                "state: make it a Child, as in nn::Child<",
                m->kind(), "> layer{*this, \"layer\", ...}; several are a ModuleList");
    }
    checked_.store(true, std::memory_order_relaxed);
}

XGRAD_FUNCTION std::size_t AnyModule::position_of(std::string_view name) {
    for (auto i = positions_.size(); i < members_.size(); ++i)
        positions_.emplace(members_[i].name, i);
    auto const at = positions_.find(name);
    return at == positions_.end() ? members_.size() : at->second;
}

XGRAD_FUNCTION void AnyModule::add(Member member) {
    auto const& name = member.name;
    std::string_view const what = member.kind == Kind::parameter ? "parameter"
                                  : member.kind == Kind::buffer  ? "buffer"
                                                                 : "module";
    if (name.empty())
        xgrad::detail::fail(this->kind(), ": ", what, " name can't be empty string \"\"");
    if (name.find('.') != name.npos)
        xgrad::detail::fail(this->kind(), ": ", what, " name can't contain \".\", got: ", name);
    if (position_of(name) < members_.size())
        xgrad::detail::fail(this->kind(), ": ", what, " '", name, "' already exists");
    if (member.kind == Kind::parameter && member.tensor.defined())
        member.tensor.impl().requires_grad = true;
    run_registration_hooks(member);
    members_.push_back(std::move(member));
}

XGRAD_FUNCTION void AnyModule::run_registration_hooks(Member& m) {
    auto const& all = detail::RegistrationHooks::of_all_modules();
    if (m.kind == Kind::module)
        return all.module.for_each([&](auto const& hook) { hook(*this, m.name, module_of(m)); });
    (m.kind == Kind::parameter ? all.parameter : all.buffer).for_each([&](auto const& hook) {
        auto& tensor = const_cast<AnyTensor&>(tensor_of(m));
        if (!tensor.defined()) return;
        AnyTensor const other = hook(*this, m.name, tensor);
        if (!other.defined() || other.is_same(tensor)) return;
        if (other.dtype() != tensor.dtype())
            xgrad::detail::fail<TypeError>(kind(), ": a registration hook returned a tensor of ",
                xgrad::name(other.dtype()), " for '", m.name, "', which is of ",
                xgrad::name(tensor.dtype()));
        if (!other.is_leaf())
            xgrad::detail::fail<GraphError>(kind(), ": a registration hook returned a tensor for '",
                m.name, "' that is no leaf: return t.detach()");
        other.impl().requires_grad = tensor.impl().requires_grad;
        tensor = other;
    });
}

XGRAD_FUNCTION void AnyModule::register_member(
    std::string_view name, Kind kind, void const* place, bool persistent) {
    auto const offset = reinterpret_cast<std::uintptr_t>(place) - address();
    if (offset >= bytes_)
        xgrad::detail::fail(this->kind(), ": '", name,
            "' is no member of the module that it is registered with. Give it `*this` in the class "
            "that it is a member of; modules on the heap go into a ModuleList");
    add({std::string(name), kind, persistent, static_cast<std::ptrdiff_t>(offset)});
}

XGRAD_FUNCTION void AnyModule::own(std::string_view name, std::unique_ptr<AnyModule> module) {
    add({std::string(name), Kind::module, true, 0, std::move(module)});
}

XGRAD_FUNCTION void AnyModule::own_in_row(std::vector<std::unique_ptr<AnyModule>> modules) {
    std::vector<Member> members;
    for (auto& m : modules) {
        members.push_back({std::to_string(members.size()), Kind::module, true, 0, std::move(m)});
        run_registration_hooks(members.back());
    }
    members_ = std::move(members);
    positions_.clear();
}

XGRAD_FUNCTION void AnyModule::own_buffer(std::string_view name, AnyTensor buffer) {
    Member member(std::string(name), Kind::buffer, true, 0);
    member.tensor = std::move(buffer);
    add(std::move(member));
}

XGRAD_FUNCTION void AnyModule::own(std::string_view name, AnyTensor parameter) {
    Member member(std::string(name), Kind::parameter, true, 0);
    member.tensor = std::move(parameter);
    add(std::move(member));
}

XGRAD_FUNCTION void AnyModule::find_tensors(
    std::string const& prefix, Kind kind, std::vector<NamedTensor>& found) const {
    check_members();
    for (auto const& m : members_)
        if (m.kind == kind)
            if (auto const& t = tensor_of(m); t.defined()) found.push_back({prefix + m.name, t});
    for (auto const& m : members_)
        if (m.kind == Kind::module) module_of(m).find_tensors(prefix + m.name + ".", kind, found);
}

XGRAD_FUNCTION std::vector<NamedTensor> AnyModule::named_tensors(Kind kind) const {
    std::vector<NamedTensor> found;
    find_tensors("", kind, found);
    return found;
}

XGRAD_FUNCTION std::vector<NamedModule> AnyModule::named_children() {
    check_members();
    std::vector<NamedModule> all;
    for (auto const& m : members_)
        if (m.kind == Kind::module) all.push_back({m.name, &module_of(m)});
    return all;
}

XGRAD_FUNCTION void AnyModule::find_modules(
    std::string const& name, std::vector<NamedModule>& found) {
    found.push_back({name, this});
    for (auto const& [child, module] : named_children())
        module->find_modules(name.empty() ? child : name + "." + child, found);
}

XGRAD_FUNCTION std::size_t AnyModule::parameter_count() const {
    std::size_t n = 0;
    for (auto const& p : parameters()) n += p.numel();
    return n;
}

XGRAD_FUNCTION bool AnyModule::is_state(Member const& m) const noexcept {
    return m.kind != Kind::module && m.persistent && tensor_of(m).defined();
}

XGRAD_FUNCTION void AnyModule::save_state(std::string const& prefix, StateDict& state) {
    if (auto const* const h = hooks())
        h->state_dict_pre.for_each([&](auto const& hook) { hook(*this, prefix); });
    each_state([&](Member const& m) {
        state.set(prefix + m.name, xgrad::detail::value_copy(tensor_of(m)));
    });
    for (std::size_t i = 0; i < members_.size(); ++i) // a hook may add members
        if (auto const& m = members_[i]; m.kind == Kind::module)
            module_of(m).save_state(prefix + m.name + ".", state);
    if (auto const* const h = hooks())
        h->state_dict_post.for_each([&](auto const& hook) { hook(*this, state, prefix); });
}

XGRAD_FUNCTION StateDict AnyModule::state_dict() const {
    StateDict state;
    const_cast<AnyModule*>(this)->save_state("", state);
    return state;
}

/// What load_state_dict() has found.
struct AnyModule::Loading {
    LoadReport report;
    std::vector<std::pair<AnyTensor, AnyTensor>> pairs; // a tensor of a module, and its new values
    std::vector<AnyModule*> with_post_hooks;
};

XGRAD_FUNCTION void AnyModule::find_values(
    StateDict& state, std::string const& prefix, Loading& loading) {
    auto& report = loading.report;
    if (auto const* const h = hooks())
        h->load_state_dict_pre.for_each(
            [&](auto const& hook) { hook(*this, state, prefix, report); });
    each_state([&](Member const& m) {
        auto const name = prefix + m.name;
        auto const& to = tensor_of(m);
        auto const* const from = state.find(name);
        if (!from) report.missing.push_back(name);
        else if (!from->defined())
            report.mismatched.push_back(name + ": the state has an undefined tensor");
        else if (!(from->shape() == to.shape()))
            report.mismatched.push_back(
                xgrad::detail::message_of({"size mismatch for ", name, ": a tensor of shape ",
                    from->shape(), " in the state, of shape ", to.shape(), " in the module"}));
        else if (!xgrad::detail::converts(from->dtype(), to.dtype()))
            report.mismatched.push_back(
                "type mismatch for " + name + ": " + std::string(xgrad::name(from->dtype())) +
                " in the state, " + std::string(xgrad::name(to.dtype())) + " in the module");
        else loading.pairs.emplace_back(to, *from);
    });
    std::vector<StateDict> inside(members_.size()); // the state of each module among the members
    for (auto const& [name, tensor] : state) {
        if (!name.starts_with(prefix)) continue;
        auto const rest = std::string_view(name).substr(prefix.size());
        auto const dot = rest.find('.');
        auto const i = position_of(rest.substr(0, dot));
        bool const is_module = i < inside.size() && members_[i].kind == Kind::module;
        if (dot != rest.npos && is_module) inside[i].set(name, tensor);
        else if (dot != rest.npos || i == inside.size() || !is_state(members_[i]))
            report.unexpected.push_back(name);
    }
    for (std::size_t i = 0; i < inside.size(); ++i)
        if (auto const& m = members_[i]; m.kind == Kind::module)
            module_of(m).find_values(inside[i], prefix + m.name + ".", loading);
    if (auto const* const h = hooks(); h && h->load_state_dict_post.any())
        loading.with_post_hooks.push_back(this);
}

XGRAD_FUNCTION LoadReport AnyModule::load_state_dict(StateDict const& state, bool strict) {
    Loading loading;
    auto& report = loading.report;
    auto& pairs = loading.pairs;
    StateDict changed = state;
    find_values(changed, "", loading);
    auto const check = [&] {
        if (strict && !report.complete()) xgrad::detail::fail(report.message(kind()));
    };
    bool const has_hooks = !loading.with_post_hooks.empty();
    if (!has_hooks) check();
    for (auto& [to, from] : pairs)
        from = xgrad::detail::converted_copy(
            from, *to.impl().type); // which may look into the module's own memory
    std::vector<AnyTensor> before;
    if (has_hooks)
        for (auto const& [to, from] : pairs) before.push_back(xgrad::detail::value_copy(to));
    for (auto const& [to, from] : pairs) xgrad::detail::overwrite(to, from);
    if (!has_hooks) return report;
    try {
        for (auto* const m : loading.with_post_hooks)
            m->hooks()->load_state_dict_post.for_each([&](auto const& hook) { hook(*m, report); });
        check();
    } catch (...) {
        for (std::size_t i = 0; i < before.size(); ++i)
            xgrad::detail::overwrite(pairs[i].first, before[i]);
        throw;
    }
    return report;
}

} // namespace xgrad::nn

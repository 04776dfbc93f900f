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
    detail::LiveModules::instance().move(&o, this);
    take_hooks();
}

XGRAD_FUNCTION AnyModule& AnyModule::operator=(AnyModule const& o) {
    if (this == &o) return *this;
    members_ = o.members_;
    training_ = o.training_;
    return *this;
}

XGRAD_FUNCTION AnyModule& AnyModule::operator=(AnyModule&& o) {
    if (this == &o) return *this;
    members_ = std::move(o.members_);
    training_ = o.training_;
    leave_hooks();
    hooks_ = std::move(o.hooks_);
    take_hooks();
    return *this;
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

XGRAD_FUNCTION void AnyModule::check_name(std::string_view name, Kind kind) const {
    std::string_view const what = kind == Kind::parameter ? "parameter"
                                  : kind == Kind::buffer  ? "buffer"
                                                          : "module";
    if (name.empty())
        xgrad::detail::fail(this->kind(), ": ", what, " name can't be empty string \"\"");
    if (name.find('.') != name.npos)
        xgrad::detail::fail(this->kind(), ": ", what, " name can't contain \".\", got: ", name);
    for (auto const& m : members_)
        if (m.name == name)
            xgrad::detail::fail(this->kind(), ": ", what, " '", name, "' already exists");
}

XGRAD_FUNCTION void AnyModule::register_member(
    std::string_view name, Kind kind, void const* place, bool persistent) {
    check_name(name, kind);
    auto const offset = reinterpret_cast<std::uintptr_t>(place) - address();
    if (offset >= bytes_)
        xgrad::detail::fail(this->kind(), ": '", name,
            "' is no member of the module that it is registered with. Give it `*this` in the class "
            "that it is a member of; modules on the heap go into a ModuleList");
    members_.push_back({std::string(name), kind, persistent, static_cast<std::ptrdiff_t>(offset)});
}

XGRAD_FUNCTION void AnyModule::own(std::string_view name, std::unique_ptr<AnyModule> module) {
    check_name(name, Kind::module);
    members_.push_back({std::string(name), Kind::module, true, 0, std::move(module)});
}

XGRAD_FUNCTION void AnyModule::own_in_row(std::vector<std::unique_ptr<AnyModule>> modules) {
    std::vector<Member> members;
    for (auto& m : modules)
        members.push_back({std::to_string(members.size()), Kind::module, true, 0, std::move(m)});
    members_ = std::move(members);
}

XGRAD_FUNCTION void AnyModule::own_buffer(std::string_view name, AnyTensor buffer) {
    check_name(name, Kind::buffer);
    members_.push_back({std::string(name), Kind::buffer, true, 0});
    members_.back().tensor = std::move(buffer);
}

XGRAD_FUNCTION void AnyModule::own(std::string_view name, AnyTensor parameter) {
    check_name(name, Kind::parameter);
    parameter.impl().requires_grad = true;
    members_.push_back({std::string(name), Kind::parameter, true, 0});
    members_.back().tensor = std::move(parameter);
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

XGRAD_FUNCTION void AnyModule::find_state(
    std::string const& prefix, std::vector<NamedTensor>& found) const {
    check_members();
    for (auto const kind : {Kind::parameter, Kind::buffer})
        for (auto const& m : members_)
            if (m.kind == kind && m.persistent && tensor_of(m).defined())
                found.push_back({prefix + m.name, tensor_of(m)});
    for (auto const& m : members_)
        if (m.kind == Kind::module) module_of(m).find_state(prefix + m.name + ".", found);
}

XGRAD_FUNCTION StateDict AnyModule::state_dict() const {
    std::vector<NamedTensor> found;
    find_state("", found);
    StateDict state;
    for (auto const& [name, tensor] : found) state.set(name, xgrad::detail::value_copy(tensor));
    return state;
}

XGRAD_FUNCTION LoadReport AnyModule::load_state_dict(StateDict const& state, bool strict) {
    std::vector<NamedTensor> own;
    find_state("", own);
    LoadReport report;
    std::vector<std::pair<AnyTensor, AnyTensor>> pairs;
    for (auto const& [name, to] : own) {
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
        else pairs.emplace_back(to, *from);
    }
    for (auto const& [name, tensor] : state)
        if (std::ranges::find(own, name, &NamedTensor::name) == own.end())
            report.unexpected.push_back(name);
    if (strict && !report.complete()) xgrad::detail::fail(report.message(kind()));
    for (auto& [to, from] : pairs)
        from = xgrad::detail::converted_copy(
            from, *to.impl().type); // which may look into the module's own memory
    for (auto const& [to, from] : pairs) xgrad::detail::overwrite(to, from);
    return report;
}

} // namespace xgrad::nn

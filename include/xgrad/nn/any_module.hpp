// AnyModule: the base class of every module, without the type of its forward. It has the named
// members (parameters, buffers, submodules), the functions that visit all of them, and the hooks.
// Modules are values: a copy has parameters of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <typeinfo>

#include <xgrad/nn/live_modules.hpp>
#include <xgrad/nn/load_report.hpp>
#include <xgrad/nn/module_hooks.hpp>
#include <xgrad/tensor/state_dict.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

class AnyModule {
public:
    virtual ~AnyModule() {
        detail::LiveModules::instance().remove(this);
        leave_hooks();
    }

    /// The name of the class: "Linear".
    virtual std::string_view kind() const noexcept = 0;
    /// The options that are printed in parentheses: "in_features=3, out_features=2".
    virtual std::string extra_repr() const { return {}; }
    /// A copy with parameters, buffers and modules of its own, and without hooks.
    virtual std::unique_ptr<AnyModule> clone_any() const = 0;

    /// All parameters, those of submodules included, in the order of registration.
    std::vector<AnyTensor> parameters() const { return tensors_of(named_parameters()); }
    /// All parameters with their names: "hidden.weight".
    std::vector<NamedTensor> named_parameters() const { return named_tensors(Kind::parameter); }
    /// All buffers, those of submodules included.
    std::vector<AnyTensor> buffers() const { return tensors_of(named_buffers()); }
    std::vector<NamedTensor> named_buffers() const { return named_tensors(Kind::buffer); }
    /// The direct submodules.
    std::vector<AnyModule*> children() { return modules_of(named_children()); }
    inline std::vector<NamedModule> named_children();
    /// This module and all submodules, each before its own submodules.
    std::vector<AnyModule*> modules() { return modules_of(named_modules()); }
    inline std::vector<NamedModule> named_modules();
    /// The number of elements of all parameters.
    inline std::size_t parameter_count() const;

    /// Copies of all parameters and persistent buffers by name.
    inline StateDict state_dict() const;
    /// Overwrites parameters and buffers by the values of the same names. Values are converted if
    /// only the precision differs or a real value becomes complex. If `strict`, a value that does
    /// not fit is an Error; otherwise it is reported and the others are loaded. An error leaves the
    /// module unchanged.
    inline LoadReport load_state_dict(StateDict const& state, bool strict = true);

    /// Sets this module and all submodules to training mode (dropout drops, batch norm updates its
    /// statistics), which is the initial mode.
    void train(bool on = true) {
        for (auto* const m : modules()) m->training_ = on;
    }
    void eval() { train(false); }
    bool is_training() const noexcept { return training_; }
    /// Sets requires_grad of all parameters.
    void requires_grad_(bool on = true) {
        for (auto const& p : parameters()) p.impl().requires_grad = on;
    }
    /// Clears the gradients of all parameters.
    void zero_grad() {
        for (auto const& p : parameters()) p.impl().grad = nullptr;
    }
    /// Calls f(AnyModule&) for all submodules, then for this module.
    template <class F> void apply(F&& f) {
        static_assert(
            std::is_invocable_v<F&, AnyModule&>, "apply: the function takes an AnyModule&");
        for (auto* const child : children()) child->apply(f);
        f(*this);
    }

    /// A hook before the backward pass through this module: f(module, grad_output), both hooks with
    /// the gradients of all results or arguments in a std::vector<AnyTensor>, undefined ones where
    /// there is no tensor or no gradient. It may return other ones to go on with. Runs before the
    /// gradients of this module's parameters are known.
    template <class F> HookHandle register_full_backward_pre_hook(F f, HookOptions options = {});
    /// A hook after the backward pass through this module: f(module, grad_input, grad_output). It
    /// may return other gradients of the arguments to go on with. Where no argument requires a
    /// gradient, it runs before this module's pass, with undefined ones.
    template <class F> HookHandle register_full_backward_hook(F f, HookOptions options = {});
    /// PyTorch's legacy hook: a hook of the last recorded Node only, so grad_input has the
    /// gradients of that Node's inputs. It warns where this is not the whole module. Use
    /// register_full_backward_hook().
    template <class F> HookHandle register_backward_hook(F f, HookOptions options = {});

    /// Registers a member of this object under a name. Parameter, Buffer and Child do that by
    /// themselves.
    inline void register_member(
        std::string_view name, detail::MemberKind kind, void const* place, bool persistent = true);
    detail::ModuleHooks* hooks() const noexcept { return hooks_.get(); }
    std::shared_ptr<detail::ModuleHooks> const& made_hooks() { return hooks_.made(this); }

protected:
    using Kind = detail::MemberKind;

    explicit AnyModule(std::size_t bytes) : bytes_(bytes) {
        detail::LiveModules::instance().add(this);
    }
    AnyModule(AnyModule const& o)
        : bytes_(o.bytes_), training_(o.training_), checked_(o.is_checked()), members_(o.members_) {
        detail::LiveModules::instance().add(this);
    }
    AnyModule(AnyModule&& o) noexcept
        : bytes_(o.bytes_), training_(o.training_), checked_(o.is_checked()),
          members_(std::move(o.members_)), hooks_(std::move(o.hooks_)) {
        detail::LiveModules::instance().move(&o, this);
        take_hooks();
    }
    AnyModule& operator=(AnyModule const& o) {
        if (this == &o) return *this;
        members_ = o.members_;
        training_ = o.training_;
        return *this;
    }
    AnyModule& operator=(AnyModule&& o) {
        if (this == &o) return *this;
        members_ = std::move(o.members_);
        training_ = o.training_;
        leave_hooks();
        hooks_ = std::move(o.hooks_);
        take_hooks();
        return *this;
    }

    /// Appends a submodule on the heap, which this module owns.
    inline void own(std::string_view name, std::unique_ptr<AnyModule> module);
    AnyModule& owned(std::size_t i) const { return *members_[i].owned; }
    /// True if the owned module i has the same type as another module.
    bool has_type_of(std::size_t i, AnyModule const& other) const {
        AnyModule const& m = owned(i);
        return typeid(m) == typeid(other);
    }
    /// Replaces all members by these owned modules, named "0", "1", ...
    inline void own_in_row(std::vector<std::unique_ptr<AnyModule>> modules);
    /// Appends an owned parameter: for modules whose number of parameters is known only at run
    /// time.
    inline void own(std::string_view name, AnyTensor parameter);
    /// Appends an owned persistent buffer.
    inline void own_buffer(std::string_view name, AnyTensor buffer);
    void clear_members() noexcept { members_.clear(); }
    AnyTensor const& owned_tensor(std::size_t i) const { return members_[i].tensor; }
    /// Throws at the first call of a module if one of its members is a module but no Child.
    void check_members_once() const {
        if (!is_checked()) [[unlikely]]
            check_members();
    }
    std::size_t member_count() const noexcept { return members_.size(); }

private:
    /// A member: its offset from this object, or an owned module or tensor.
    struct Member {
        std::string name;
        Kind kind;
        bool persistent;
        std::ptrdiff_t offset;
        std::unique_ptr<AnyModule> owned;
        AnyTensor tensor;

        Member(std::string n, Kind k, bool keep, std::ptrdiff_t at,
            std::unique_ptr<AnyModule> m = nullptr)
            : name(std::move(n)), kind(k), persistent(keep), offset(at), owned(std::move(m)) {}
        Member(Member const& o)
            : name(o.name), kind(o.kind), persistent(o.persistent), offset(o.offset),
              owned(o.owned ? o.owned->clone_any() : nullptr) {
            if (!o.tensor.defined()) return;
            tensor = xgrad::detail::value_copy(o.tensor);
            tensor.impl().requires_grad = o.tensor.impl().requires_grad;
        }
        Member(Member&&) noexcept = default;
        Member& operator=(Member o) noexcept {
            name.swap(o.name);
            kind = o.kind, persistent = o.persistent, offset = o.offset;
            owned.swap(o.owned);
            std::swap(tensor, o.tensor);
            return *this;
        }
    };

    void take_hooks() noexcept {
        if (auto* const h = hooks_.get()) h->module = this;
    }
    void leave_hooks() noexcept {
        if (auto* const h = hooks_.get()) h->module = nullptr;
    }
    bool is_checked() const noexcept { return checked_.load(std::memory_order_relaxed); }
    inline void check_members() const;
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
    template <class T> T& at(Member const& m) const noexcept {
        return *reinterpret_cast<T*>(address() + static_cast<std::uintptr_t>(m.offset));
    }
    AnyTensor const& tensor_of(Member const& m) const noexcept {
        return m.tensor.defined() ? m.tensor : at<AnyTensor>(m);
    }
    AnyModule& module_of(Member const& m) const noexcept {
        return m.owned ? *m.owned : at<AnyModule>(m);
    }
    inline void check_name(std::string_view name, Kind kind) const;
    inline void find_tensors(
        std::string const& prefix, Kind kind, std::vector<NamedTensor>& found) const;
    inline std::vector<NamedTensor> named_tensors(Kind kind) const;
    inline void find_modules(std::string const& name, std::vector<NamedModule>& found);
    /// All parameters and persistent buffers, module by module.
    inline void find_state(std::string const& prefix, std::vector<NamedTensor>& found) const;

    static std::vector<AnyTensor> tensors_of(std::vector<NamedTensor> const& named) {
        std::vector<AnyTensor> all;
        for (auto const& n : named) all.push_back(n.tensor);
        return all;
    }
    static std::vector<AnyModule*> modules_of(std::vector<NamedModule> const& named) {
        std::vector<AnyModule*> all;
        for (auto const& n : named) all.push_back(n.module);
        return all;
    }
    friend std::string to_string(AnyModule const& m);
    inline void print(std::string const& indent, std::string& out) const;

    std::size_t bytes_;
    bool training_ = true;
    mutable std::atomic<bool> checked_{false};
    std::vector<Member> members_;
    xgrad::detail::MadeOnce<detail::ModuleHooks> hooks_;
};

/// Every module in this object's memory must be a Child or be inside a Child, which checks its own
/// members.
inline void AnyModule::check_members() const {
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

inline void AnyModule::check_name(std::string_view name, Kind kind) const {
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

inline void AnyModule::register_member(
    std::string_view name, Kind kind, void const* place, bool persistent) {
    check_name(name, kind);
    auto const offset = reinterpret_cast<std::uintptr_t>(place) - address();
    if (offset >= bytes_)
        xgrad::detail::fail(this->kind(), ": '", name,
            "' is no member of the module that it is registered with. Give it `*this` in the class "
            "that it is a member of; modules on the heap go into a ModuleList");
    members_.push_back({std::string(name), kind, persistent, static_cast<std::ptrdiff_t>(offset)});
}

inline void AnyModule::own(std::string_view name, std::unique_ptr<AnyModule> module) {
    check_name(name, Kind::module);
    members_.push_back({std::string(name), Kind::module, true, 0, std::move(module)});
}

inline void AnyModule::own_in_row(std::vector<std::unique_ptr<AnyModule>> modules) {
    std::vector<Member> members;
    for (auto& m : modules)
        members.push_back({std::to_string(members.size()), Kind::module, true, 0, std::move(m)});
    members_ = std::move(members);
}

inline void AnyModule::own_buffer(std::string_view name, AnyTensor buffer) {
    check_name(name, Kind::buffer);
    members_.push_back({std::string(name), Kind::buffer, true, 0});
    members_.back().tensor = std::move(buffer);
}

inline void AnyModule::own(std::string_view name, AnyTensor parameter) {
    check_name(name, Kind::parameter);
    parameter.impl().requires_grad = true;
    members_.push_back({std::string(name), Kind::parameter, true, 0});
    members_.back().tensor = std::move(parameter);
}

inline void AnyModule::find_tensors(
    std::string const& prefix, Kind kind, std::vector<NamedTensor>& found) const {
    check_members();
    for (auto const& m : members_)
        if (m.kind == kind)
            if (auto const& t = tensor_of(m); t.defined()) found.push_back({prefix + m.name, t});
    for (auto const& m : members_)
        if (m.kind == Kind::module) module_of(m).find_tensors(prefix + m.name + ".", kind, found);
}

inline std::vector<NamedTensor> AnyModule::named_tensors(Kind kind) const {
    std::vector<NamedTensor> found;
    find_tensors("", kind, found);
    return found;
}

inline std::vector<NamedModule> AnyModule::named_children() {
    check_members();
    std::vector<NamedModule> all;
    for (auto const& m : members_)
        if (m.kind == Kind::module) all.push_back({m.name, &module_of(m)});
    return all;
}

inline std::vector<NamedModule> AnyModule::named_modules() {
    std::vector<NamedModule> all;
    find_modules("", all);
    return all;
}
inline void AnyModule::find_modules(std::string const& name, std::vector<NamedModule>& found) {
    found.push_back({name, this});
    for (auto const& [child, module] : named_children())
        module->find_modules(name.empty() ? child : name + "." + child, found);
}

inline std::size_t AnyModule::parameter_count() const {
    std::size_t n = 0;
    for (auto const& p : parameters()) n += p.numel();
    return n;
}

inline void AnyModule::find_state(
    std::string const& prefix, std::vector<NamedTensor>& found) const {
    check_members();
    for (auto const kind : {Kind::parameter, Kind::buffer})
        for (auto const& m : members_)
            if (m.kind == kind && m.persistent && tensor_of(m).defined())
                found.push_back({prefix + m.name, tensor_of(m)});
    for (auto const& m : members_)
        if (m.kind == Kind::module) module_of(m).find_state(prefix + m.name + ".", found);
}

inline StateDict AnyModule::state_dict() const {
    std::vector<NamedTensor> found;
    find_state("", found);
    StateDict state;
    for (auto const& [name, tensor] : found) state.set(name, xgrad::detail::value_copy(tensor));
    return state;
}

inline LoadReport AnyModule::load_state_dict(StateDict const& state, bool strict) {
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

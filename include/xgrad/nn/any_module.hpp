// AnyModule: the base class of every module, without the type of its forward. It has the named
// members (parameters, buffers, submodules), the functions that visit all of them, and the hooks.
// Modules are values: a copy has parameters of its own.
//
// Shapes: parameters keep theirs: load_state_dict() loads a tensor of the same shape only.
// Gradients: parameters require one; it stands in their .grad. State that is copied or loaded
// records none.
// Errors: load_state_dict() throws Error for names and shapes that do not fit, unless strict is
// false. A name that is empty, has a '.' or is taken, and a module that is a plain member and no
// Child, are an Error.
#pragma once

#if defined(__GNUC__) && !defined(__GXX_RTTI)
#    error "xgrad: modules ask each other for their types; compile <xgrad/nn.hpp> without -fno-rtti"
#endif

#include <atomic>
#include <cstdint>
#include <typeinfo>

#include <xgrad/nn/live_modules.hpp>
#include <xgrad/nn/load_report.hpp>
#include <xgrad/nn/module_hooks.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::nn {

/// The base class of every module, without the type of its forward.
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
    std::vector<NamedModule> named_children();
    /// This module and all submodules, each before its own submodules.
    std::vector<AnyModule*> modules() { return modules_of(named_modules()); }
    inline std::vector<NamedModule> named_modules();
    /// The number of elements of all parameters.
    std::size_t parameter_count() const;

    /// Copies of all parameters and persistent buffers by name.
    StateDict state_dict() const;
    /// Overwrites parameters and buffers by the values of the same names. Values are converted if
    /// only the precision differs or a real value becomes complex. If `strict`, a value that does
    /// not fit is an Error; otherwise it is reported and the others are loaded. An error leaves the
    /// module unchanged.
    LoadReport load_state_dict(StateDict const& state, bool strict = true);

    /// Sets this module and all submodules to training mode (dropout drops, batch norm updates its
    /// statistics), which is the initial mode.
    void train(bool on = true) {
        for (auto* const m : modules()) m->training_ = on;
    }
    void eval() { train(false); }
    bool is_training() const noexcept { return training_; }
    /// Sets requires_grad of all parameters.
    void requires_grad_(bool on = true);
    /// Clears the gradients of all parameters.
    void zero_grad();
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

    /// Hooks around state_dict(), also where this module is inside of the one that is saved; the
    /// names of its entries begin with `prefix`, such as "encoder.". Before: f(module, prefix).
    /// After: f(module, state, prefix), which may change the state.
    template <class F> HookHandle register_state_dict_pre_hook(F f, HookOptions options = {});
    template <class F> HookHandle register_state_dict_post_hook(F f, HookOptions options = {});
    /// A hook before this module looks for its values in load_state_dict(): f(module, state,
    /// prefix), or f(module, state, prefix, report). The state is a copy with the caller's tensors,
    /// for a module inside of another one only with the names that begin with `prefix`. The hook
    /// may change it, for instance rename entries.
    template <class F> HookHandle register_load_state_dict_pre_hook(F f, HookOptions options = {});
    /// A hook after load_state_dict(), for a module inside before those around it: f(module,
    /// LoadReport&). Values are loaded then. What the hook removes from the report is no error.
    /// Where an error is left, or a hook throws, the values from before are restored.
    template <class F> HookHandle register_load_state_dict_post_hook(F f, HookOptions options = {});

    /// Registers a member of this object under a name. Parameter, Buffer and Child do that by
    /// themselves.
    void register_member(
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
    AnyModule(AnyModule&& o) noexcept;
    AnyModule& operator=(AnyModule const& o);
    AnyModule& operator=(AnyModule&& o);

    /// Appends a submodule on the heap, which this module owns.
    void own(std::string_view name, std::unique_ptr<AnyModule> module);
    AnyModule& owned(std::size_t i) const { return *member(i).owned; }
    /// True if the owned module i has the same type as another module.
    bool has_type_of(std::size_t i, AnyModule const& other) const;
    /// Replaces all members by these owned modules, named "0", "1", ...
    void own_in_row(std::vector<std::unique_ptr<AnyModule>> modules);
    /// Appends an owned parameter: for modules whose number of parameters is known only at run
    /// time.
    void own(std::string_view name, AnyTensor parameter);
    /// Appends an owned persistent buffer.
    void own_buffer(std::string_view name, AnyTensor buffer);
    void clear_members() noexcept { members_.clear(), positions_.clear(); }
    AnyTensor const& owned_tensor(std::size_t i) const { return member(i).tensor; }
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
        Member(Member const& o);
        Member(Member&&) noexcept = default;
        Member& operator=(Member o) noexcept;
    };

    /// Throws IndexError where it is not there.
    Member const& member(std::size_t i) const;
    void take_hooks() noexcept;
    void leave_hooks() noexcept;
    bool is_checked() const noexcept { return checked_.load(std::memory_order_relaxed); }
    void check_members() const;
    std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
    template <class T> T& at(Member const& m) const noexcept {
        return *reinterpret_cast<T*>(address() + static_cast<std::uintptr_t>(m.offset));
    }
    AnyTensor const& tensor_of(Member const& m) const noexcept;
    AnyModule& module_of(Member const& m) const noexcept {
        return m.owned ? *m.owned : at<AnyModule>(m);
    }
    /// Appends a member, after registration hooks. Throws where its name is none, or is taken.
    void add(Member member);
    /// The number of the member of that name; that of all members if there is none.
    std::size_t position_of(std::string_view name);
    void run_registration_hooks(Member& m);
    void find_tensors(std::string const& prefix, Kind kind, std::vector<NamedTensor>& found) const;
    std::vector<NamedTensor> named_tensors(Kind kind) const;
    void find_modules(std::string const& name, std::vector<NamedModule>& found);
    /// True for a parameter and a persistent buffer.
    bool is_state(Member const& m) const noexcept;
    /// Calls f(member) for all parameters, then for all persistent buffers.
    template <class F> void each_state(F f) const {
        check_members();
        for (auto const kind : {Kind::parameter, Kind::buffer})
            for (auto const& m : members_)
                if (m.kind == kind && is_state(m)) f(m);
    }
    void save_state(std::string const& prefix, StateDict& state);
    struct Loading;
    void find_values(StateDict& state, std::string const& prefix, Loading& loading);

    static std::vector<AnyTensor> tensors_of(std::vector<NamedTensor> const& named);
    static std::vector<AnyModule*> modules_of(std::vector<NamedModule> const& named);
    friend std::string to_string(AnyModule const& m);
    void print(std::string const& indent, std::string& out) const;

    std::size_t bytes_;
    bool training_ = true;
    mutable std::atomic<bool> checked_{false};
    std::vector<Member> members_;
    std::map<std::string, std::size_t, std::less<>> positions_; // of names in members_, as needed
    xgrad::detail::MadeOnce<detail::ModuleHooks> hooks_;
};

inline std::vector<NamedModule> AnyModule::named_modules() {
    std::vector<NamedModule> all;
    find_modules("", all);
    return all;
}
} // namespace xgrad::nn

// What an importing program provides for external names.
#pragma once

#include <any>

#include <xgrad/package/archive.hpp>

namespace xgrad::package::detail {

class Provided {
public:
    template <class X> void add(std::string const& name, X object) {
        if constexpr (std::derived_from<X, nn::AnyModule>) {
            auto const shared = std::make_shared<X const>(std::move(object));
            put<X>(name, [shared] { return shared->clone_any(); });
        } else {
            check(name);
            entries_[name] = {
                .object = std::make_any<X>(std::move(object)), .type = {}, .make = {}};
        }
    }
    template <class F> void add_factory(std::string const& name, F make) {
        constexpr bool takes = std::is_invocable_v<F&>;
        static_assert(takes, "PackageImporter: a factory takes no arguments");
        if constexpr (takes) {
            using Made = std::remove_cvref_t<std::invoke_result_t<F&>>;
            constexpr bool by_pointer = requires(Made m) {
                { *m } -> std::convertible_to<nn::AnyModule&>;
            };
            constexpr bool fits = by_pointer || std::derived_from<Made, nn::AnyModule>;
            static_assert(
                fits, "PackageImporter: a factory returns a module, or a std::unique_ptr of one");
            if constexpr (by_pointer)
                put<std::remove_cvref_t<decltype(*std::declval<Made>())>>(
                    name, [make = std::move(make)]() mutable {
                        return std::unique_ptr<nn::AnyModule>(make());
                    });
            else if constexpr (fits)
                put<Made>(name,
                    [make = std::move(make)]() mutable { return std::make_unique<Made>(make()); });
        }
    }

    bool provides(std::string const& name) const {
        return entries_.contains(name) || type_named(name);
    }
    /// A module for an external name.
    std::unique_ptr<nn::AnyModule> make(std::string const& name, std::string const& where) const;
    template <class X> X const& object(std::string const& name) const {
        auto const at = entries_.find(name);
        if (at == entries_.end())
            fail<PackageError>("PackageImporter: nothing is provided as '", name, "'");
        if (auto const* const found = std::any_cast<X>(&at->second.object)) return *found;
        fail<PackageError>("PackageImporter: what is provided as '", name, "' is of another type");
    }
    /// What is known of the type of a module; null where it is neither provided nor registered.
    TypeEntry const* type_of(nn::AnyModule const& m) const;
    nn::ModuleContainer::AnyFunction find_call(
        nn::AnyModule const& m, std::type_info const& signature) const;

private:
    struct Entry {
        std::any object;
        std::optional<TypeEntry> type;
        std::function<std::unique_ptr<nn::AnyModule>()> make;
    };

    static void check(std::string const& name);
    template <class M>
    void put(std::string const& name, std::function<std::unique_ptr<nn::AnyModule>()> make) {
        check(name);
        Entry e;
        if constexpr (!std::same_as<M, nn::AnyModule>) {
            e.type = unnamed_entry<M>();
            add_known_call<M>(*e.type);
        }
        e.make = std::move(make);
        entries_[name] = std::move(e);
    }
    /// A type of this program that is constructed from nothing.
    static TypeEntry const* type_named(std::string const& name);

    std::map<std::string, Entry> entries_;
};

} // namespace xgrad::package::detail

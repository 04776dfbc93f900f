// Dependencies: which name depends on which, and what becomes of each in a package.
//
// Errors: a package that needs a denied name is a PackageError where it is written (exporter.hpp).
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <xgrad/data.hpp>
#include <xgrad/package/names.hpp>

namespace xgrad::package {

/// What becomes of a name: with `intern` its configuration and state are stored, with `extern_`
/// only its name, with `mock` a stand-in; with `deny` the package is not written.
enum class Action : unsigned char { intern, extern_, mock, deny };

namespace detail {

inline constexpr std::string_view action_names[] = {"intern", "extern", "mock", "deny"};
constexpr std::string_view name_of(Action a) noexcept {
    return action_names[static_cast<std::size_t>(a)];
}

/// A graph of names, in the order in which they were added. A resource is a node, too, and has no
/// action.
class Dependencies {
public:
    struct Node {
        std::optional<Action> action;
        bool is_resource = false;
        std::vector<std::string> targets; // in the order in which they were added
        std::set<std::string, std::less<>> known_targets;
    };

    Node& add(std::string const& name);
    void add_edge(std::string const& from, std::string const& to);
    Node const* find(std::string const& name) const;
    std::vector<std::string> const& names() const noexcept { return order_; }
    std::vector<std::string> names(Action action) const;

    /// Every way from one name to another that passes no name twice.
    std::vector<std::vector<std::string>> all_paths(
        std::string const& from, std::string const& to) const;
    /// Shortest paths from a resource to each of these names, "acme.model -> acme.Net ->
    /// acme.Logger"; of a long one the last names.
    std::vector<std::string> paths_to(std::vector<std::string> const& names) const;
    std::string path_to(std::string const& name) const { return paths_to({name})[0]; }
    /// All names that can be reached from one, that one left out. Cycles do no harm.
    std::vector<std::string> reachable(std::string const& from) const;
    /// In the language of Graphviz.
    std::string dot() const;

private:
    void extend(std::vector<std::string>& path, std::string const& at, std::string const& to,
        std::vector<std::vector<std::string>>& found) const;

    std::map<std::string, Node> nodes_;
    std::vector<std::string> order_;
};

/// Files as a tree, one a line, each folder before what it holds.
std::string tree_of(std::vector<std::string> files, std::string const& root);

} // namespace detail
} // namespace xgrad::package

// Bodies of dependencies.hpp and names.hpp.
#pragma once

#include <xgrad/package/dependencies.hpp>
#include <xgrad/package/names.hpp>

namespace xgrad::package::detail {

XGRAD_FUNCTION auto Dependencies::add(std::string const& name) -> Node& {
    auto const [at, fresh] = nodes_.try_emplace(name);
    if (fresh) order_.push_back(name);
    return at->second;
}

XGRAD_FUNCTION void Dependencies::add_edge(std::string const& from, std::string const& to) {
    add(to);
    auto& node = add(from);
    if (node.known_targets.insert(to).second) node.targets.push_back(to);
}

XGRAD_FUNCTION auto Dependencies::find(std::string const& name) const -> Node const* {
    auto const at = nodes_.find(name);
    return at == nodes_.end() ? nullptr : &at->second;
}

XGRAD_FUNCTION std::vector<std::string> Dependencies::names(Action action) const {
    std::vector<std::string> found;
    for (auto const& name : order_)
        if (nodes_.at(name).action == action) found.push_back(name);
    return found;
}

XGRAD_FUNCTION std::vector<std::vector<std::string>> Dependencies::all_paths(
    std::string const& from, std::string const& to) const {
    std::vector<std::vector<std::string>> found;
    std::vector<std::string> path;
    if (nodes_.contains(from) && nodes_.contains(to)) extend(path, from, to, found);
    return found;
}

XGRAD_FUNCTION std::vector<std::string> Dependencies::paths_to(
    std::vector<std::string> const& names) const {
    constexpr int max_names = 20;
    // The name before each on a shortest path to it, also for a resource on which another one
    // depends; paths begin at all resources.
    std::map<std::string_view, std::string_view> before;
    std::vector<std::string_view> queue;
    for (auto const& start : order_)
        if (nodes_.at(start).is_resource) queue.push_back(start);
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (auto const& next : nodes_.find(std::string(queue[i]))->second.targets)
            if (before.try_emplace(next, queue[i]).second && !nodes_.at(next).is_resource)
                queue.push_back(next);
    std::vector<std::string> texts;
    for (auto const& name : names) {
        auto const* const node = find(name);
        std::string text = name;
        auto at = node && node->is_resource && !node->action ? before.end() : before.find(name);
        for (int n = 1; at != before.end(); ++n) {
            if (n == max_names) {
                text = "... -> " + text;
                break;
            }
            text = std::string(at->second) + " -> " + text;
            bool const begins = find(std::string(at->second))->is_resource;
            at = begins ? before.end() : before.find(at->second);
        }
        texts.push_back(std::move(text));
    }
    return texts;
}

XGRAD_FUNCTION std::vector<std::string> Dependencies::reachable(std::string const& from) const {
    std::vector<std::string> queue{from};
    std::set<std::string> seen{from};
    for (std::size_t i = 0; i < queue.size(); ++i) {
        auto const* const node = find(queue[i]);
        if (!node) continue;
        auto const targets = node->targets;
        for (auto const& next : targets)
            if (seen.insert(next).second) queue.push_back(next);
    }
    queue.erase(queue.begin());
    return queue;
}

XGRAD_FUNCTION std::string Dependencies::dot() const {
    std::string text = "digraph dependencies {\n  rankdir = LR;\n  node [shape = box];\n";
    for (auto const& name : order_) {
        auto const& node = nodes_.at(name);
        text += "  " + data::detail::json(name) + " [";
        if (node.is_resource) text += "shape = folder";
        else if (node.action)
            text += "label = \"" + name + "\\n" + std::string(name_of(*node.action)) + '"';
        else text += "style = dashed";
        text += "];\n";
    }
    for (auto const& name : order_)
        for (auto const& target : nodes_.at(name).targets)
            text += "  " + data::detail::json(name) + " -> " + data::detail::json(target) + ";\n";
    return text + "}\n";
}

XGRAD_FUNCTION void Dependencies::extend(std::vector<std::string>& path, std::string const& at,
    std::string const& to, std::vector<std::vector<std::string>>& found) const {
    path.push_back(at);
    if (at == to) found.push_back(path);
    else
        for (auto const& next : nodes_.at(at).targets)
            if (std::ranges::find(path, next) == path.end()) extend(path, next, to, found);
    path.pop_back();
}

XGRAD_FUNCTION std::string tree_of(std::vector<std::string> files, std::string const& root) {
    std::ranges::sort(files);
    std::string text = root + '\n';
    std::vector<std::string> open; // the folders of the line before
    for (auto const& file : files) {
        std::vector<std::string> parts;
        every_segment(file, '/', [&](std::string_view part) {
            parts.emplace_back(part);
            return true;
        });
        std::size_t common = 0;
        while (common < open.size() && common + 1 < parts.size() && open[common] == parts[common])
            ++common;
        open.resize(common);
        for (auto i = common; i < parts.size(); ++i) {
            text +=
                std::string(2 * (i + 1), ' ') + parts[i] + (i + 1 < parts.size() ? "/\n" : "\n");
            if (i + 1 < parts.size()) open.push_back(parts[i]);
        }
    }
    return text;
}

XGRAD_FUNCTION Glob::Glob(Patterns const& include, Patterns const& exclude, char separator) {
    for (auto const& text : include) include_.emplace_back(text, separator);
    for (auto const& text : exclude) exclude_.emplace_back(text, separator);
}

XGRAD_FUNCTION std::string Glob::text() const {
    std::string all;
    for (auto const& p : include_) all += (all.empty() ? "\"" : ", \"") + p.text() + '"';
    return all;
}

XGRAD_FUNCTION bool Glob::any(std::vector<Pattern> const& patterns, std::string_view name) {
    for (auto const& p : patterns)
        if (p.matches(name)) return true;
    return false;
}

} // namespace xgrad::package::detail

namespace xgrad::package {

XGRAD_FUNCTION Pattern::Pattern(std::string text, char separator)
    : text_(std::move(text)), separator_(separator) {
    segments_ = split(text_);
    for (auto const segment : segments_) {
        if (segment.empty())
            detail::fail<PackageError>("the pattern '", text_, "' has an empty segment");
        if (segment.find("**") != segment.npos && segment != "**")
            detail::fail<PackageError>("the pattern '", text_, "': ** must be a whole segment");
    }
}

XGRAD_FUNCTION auto Pattern::split(std::string_view s) const -> Segments {
    Segments all;
    detail::every_segment(s, separator_, [&](std::string_view segment) {
        all.push_back(segment);
        return true;
    });
    return all;
}

XGRAD_FUNCTION bool Pattern::matches(std::size_t i, Segments const& name, std::size_t j) const {
    for (; i < segments_.size(); ++i, ++j) {
        if (segments_[i] == "**") {
            while (i + 1 < segments_.size() && segments_[i + 1] == "**") ++i;
            for (; j <= name.size(); ++j)
                if (matches(i + 1, name, j)) return true;
            return false;
        }
        if (j == name.size() || !matches_segment(segments_[i], name[j])) return false;
    }
    return j == name.size();
}

XGRAD_FUNCTION bool Pattern::matches_segment(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = pattern.npos, taken = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') star = p++, taken = t;
        else if (p < pattern.size() && pattern[p] == text[t]) ++p, ++t;
        else if (star != pattern.npos) p = star + 1, t = ++taken;
        else return false;
    }
    return pattern.find_first_not_of('*', p) == pattern.npos;
}

} // namespace xgrad::package

// ModuleRecord: a module and those inside it as a package describes them: names of types and
// arguments. Also where things are in the archive.
//
// Errors: a package of a newer format is a PackageError where it is read (importer.hpp).
#pragma once

#include <xgrad/package/dependencies.hpp>
#include <xgrad/package/layers.hpp>
#include <xgrad/package/stand_ins.hpp>

namespace xgrad::package {

/// The version of the format that this xgrad writes, and the newest that it reads.
inline constexpr std::int64_t format_version = 1;

namespace detail {

// The archive is a zip file of stored entries:
//
//     .data/package.json                   version, dependencies with their actions, resources with
//     their kinds acme/vision/model.json               module `model` of the package acme.vision:
//     types and arguments acme/vision/model.safetensors        its parameters and buffers
//     acme/vision/mean.safetensors         a tensor, under the name "tensor", or several under
//     their names acme/vision/labels.txt               a text or bytes, as they are
inline constexpr std::string_view manifest_file = ".data/package.json";

enum class ResourceKind : unsigned char { module, tensor, tensors, text, binary };
inline constexpr std::string_view kind_names[] = {"module", "tensor", "tensors", "text", "binary"};
constexpr std::string_view name_of(ResourceKind k) noexcept {
    return kind_names[static_cast<std::size_t>(k)];
}

/// The files of a resource.
std::vector<std::string> files_of(ResourceKind kind, std::string const& base);
/// "acme/vision/model" for the resource `model` of the package acme.vision.
std::string base_of(std::string_view by, std::string_view package, std::string_view resource);
/// Paths of modules, such as "encoder.0".
using ModulePaths = std::set<std::string, std::less<>>;
/// Whether `path` is that of one of these modules, or of something inside one.
bool is_within_any(std::string_view path, ModulePaths const& modules);
/// The path of a module in a package has at most so many bytes.
inline constexpr std::size_t max_path_bytes = 4096;
inline std::string join(std::string const& path, std::string const& name) {
    return path.empty() ? name : path + "." + name;
}

struct ModuleRecord {
    std::string name; // in the module around it
    std::string type; // empty where the C++ type has no name
    std::optional<DType> dtype;
    Json arguments;
    std::string kind; // the name of the C++ class, for messages
    bool can_be_interned = true;
    std::vector<std::string> depends_on;
    std::vector<ModuleRecord> modules; // those inside
};

ModuleRecord record_of(nn::AnyModule& m);

std::optional<DType> dtype_named(std::string_view text);

/// A module as JSON. `interned(type)` says whether more than the type's name is stored.
template <class Interned> Json to_json(ModuleRecord const& r, Interned const& interned) {
    Json json;
    json.set("type", r.type);
    if (!interned(r.type)) return json;
    if (r.dtype) json.set("dtype", name(*r.dtype));
    if (!r.arguments.is_null()) json.set("arguments", r.arguments);
    Json::Object modules;
    for (auto const& inside : r.modules)
        modules.emplace_back(inside.name, to_json(inside, interned));
    if (!modules.empty()) json.set("modules", std::move(modules));
    return json;
}

/// Reads what to_json() wrote. `file` begins the messages of errors, `path` is that of the module.
ModuleRecord record_from(Json const& json, std::string const& file, std::string const& path = "");

} // namespace detail
} // namespace xgrad::package

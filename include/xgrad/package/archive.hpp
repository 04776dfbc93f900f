// Archive: a package as a file: its manifest, its resources, and that they are what they should be.
#pragma once

#include <xgrad/data.hpp>
#include <xgrad/package/saved_record.hpp>

namespace xgrad::package::detail {

class Archive {
public:
    struct Resource {
        std::string name, base;
        ResourceKind kind;
    };

    explicit Archive(data::Input in);
    Archive(Archive const&) = delete;
    Archive& operator=(Archive const&) = delete;

    std::string const& name() const noexcept { return in_.name(); }
    std::int64_t format() const noexcept { return format_; }
    std::string const& xgrad_version() const noexcept { return xgrad_version_; }
    Dependencies const& dependencies() const noexcept { return graph_; }
    auto const& resources() const noexcept { return resources_; }

    Resource const* find(std::string_view package, std::string_view resource) const;
    Resource const& resource(std::string_view by, std::string_view package, std::string_view name,
        ResourceKind kind) const;
    std::vector<std::byte> read(std::string_view file) const {
        return zip_.read(*entries_.find(file)->second);
    }
    Json json(std::string_view file) const;
    StateDict tensors(Resource const& r) const;
    std::string title(std::string_view file) const { return in_.name() + ": " + std::string(file); }
    template <class... Parts>
    [[noreturn]] void fail_in(std::string_view file, Parts const&... parts) const {
        fail<data::FormatError>(title(file), ": ", parts...);
    }
    std::string file_structure(Patterns const& include, Patterns const& exclude) const;

private:
    void read_manifest(Json const& json);
    static std::vector<std::string> names(Json const& json, std::string const& where);
    /// The archive has the files of its resources, and no others.
    void check_files() const;

    data::Input in_;
    data::detail::ZipReader zip_;
    std::map<std::string, data::detail::ZipEntry const*, std::less<>> entries_;
    std::map<std::string, Resource, std::less<>> resources_;
    std::int64_t format_ = 0;
    std::string xgrad_version_;
    Dependencies graph_;
};

} // namespace xgrad::package::detail

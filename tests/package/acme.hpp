// Modules of a program of its own, with their names in packages, and packages in a folder for the
// time of a test.
#pragma once

#include <xgrad/package.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace package = xg::package;
using D = xg::Tensor<double>;
using Strings = std::vector<std::string>;

namespace acme {

/// What comes before the network: belongs to the program.
struct Normalize : nn::Module<Normalize> {
    double scale = 2;
    D forward(D const& x) const { return x * scale; }
};
/// Writes lines; cannot be stored.
struct Log : nn::Module<Log> {
    Strings* lines;
    explicit Log(Strings& to) : lines(&to) {}
    void forward(std::string const& line) const { lines->push_back(line); }
};
struct Block : nn::Module<Block> {
    std::size_t width;
    double slope;
    nn::Child<nn::Linear<double>> linear;
    nn::Parameter<double> shift;
    nn::Buffer<double> calls{*this, "calls", {0.}};

    Block(std::size_t w, double s)
        : width(w), slope(s), linear(*this, "linear", w, w),
          shift(*this, "shift", xg::randn<double>({w})) {}
    D forward(D const& x) {
        calls += 1.;
        return leaky_relu(linear(x) + shift, slope);
    }
};
struct Net : nn::Module<Net> {
    nn::Child<nn::Slot<D(D const&)>> before{*this, "before", Normalize()};
    nn::Child<nn::Sequential<double>> body{
        *this, "body", nn::Linear<double>(2, 3), Block(3, 0.25), nn::Dropout(0.5)};
    nn::Child<nn::Slot<void(std::string const&)>> log{*this, "log"};
    D forward(D const& x) {
        if (!log.empty()) log("called");
        return body(before(x));
    }
};

} // namespace acme

inline package::Type<acme::Normalize, "acme.Normalize"> const normalize_type;
inline package::Type<acme::Log, "acme.Log", package::NameOnly> const log_type;
inline package::Type<acme::Block, "acme.vision.Block",
    package::Argument<"width", &acme::Block::width>,
    package::Argument<"slope", &acme::Block::slope>> const block_type;
inline package::Type<acme::Net, "acme.vision.Net", package::DependsOn<"acme.labels">> const
    net_type;

/// A folder that is gone with it.
struct Folder {
    std::filesystem::path path;
    explicit Folder(char const* name) : path(std::filesystem::temp_directory_path() / name) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directory(path);
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path operator/(char const* file) const { return path / file; }
};

/// What is thrown as an E, without the name of the folder; "none" where nothing is.
template <class E = package::PackageError, class F>
std::string complaint(Folder const& folder, F f) {
    try {
        f();
    } catch (E const& e) {
        std::string text = e.what();
        auto const name = folder.path.string() + "/";
        for (auto at = text.find(name); at != text.npos; at = text.find(name))
            text.erase(at, name.size());
        return text;
    }
    return "none";
}

/// Whether two modules have the same state, bit for bit.
inline bool same_state(nn::AnyModule const& a, nn::AnyModule const& b) {
    auto const x = a.state_dict(), y = b.state_dict();
    if (x.size() != y.size()) return false;
    for (auto const& [name, t] : x) {
        auto const* const u = y.find(name);
        if (!u || u->dtype() != t.dtype() || !(u->shape() == t.shape())) return false;
        if (t.numel() && std::memcmp(t.impl().array.data, u->impl().array.data,
                             t.numel() * t.impl().type->size) != 0)
            return false;
    }
    return true;
}
/// Whether two tensors have the same shape and equal elements.
template <xg::Scalar T> bool same(xg::Tensor<T> const& a, xg::Tensor<T> const& b) {
    return a.shape() == b.shape() && sum(abs(a - b)).item() == 0;
}

// What backward will need may wait on disk: saved tensors above a size go to files while the
// forward pass runs, and come back one at a time in the backward pass. The gradients are the same
// to the last bit.
// ctest: --rows 64 --width 48 --layers 4 --threshold 16

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>

namespace xg = xgrad;
namespace fs = std::filesystem;
using Real = xg::Tensor<double>;

struct Settings {
    std::size_t rows = 512, width = 512, layers = 24;
    double threshold = 64;
    std::uint64_t seed = 1;
    std::string directory = fs::temp_directory_path().string();

    Settings(int argc, char** argv) {
        examples::Options options(
            "Keeps large saved tensors in files between forward and backward.");
        options.number("rows", rows, "rows of the input", 1, 10000000);
        options.number("width", width, "columns of the input, and width of each layer", 1, 100000);
        options.number("layers", layers, "layers of the network", 1, 100000);
        options.number(
            "threshold", threshold, "size in KiB from which a saved tensor goes to a file", 0);
        options.number("seed", seed, "of the input and the parameters");
        options.text("directory", directory,
            "where a directory for the files is made, and removed at the end");
        options.parse(argc, argv);
    }
};

/// A new directory that is removed with all it holds.
class TemporaryDirectory {
public:
    explicit TemporaryDirectory(fs::path const& parent) {
        std::random_device random;
        do path_ = parent / ("xgrad_offload_" + std::to_string(random()));
        while (!fs::create_directory(path_));
    }
    TemporaryDirectory(TemporaryDirectory const&) = delete;
    TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    fs::path const& path() const { return path_; }

private:
    fs::path path_;
};

/// Keeps saved tensors: those that are large in files, the others in memory. The parameters are in
/// memory anyway.
class Store {
public:
    Store(fs::path directory, double threshold, std::vector<Real> const& parameters)
        : directory_(std::move(directory)), threshold_(threshold) {
        for (auto const& p : parameters) parameters_.insert(p.strided_data());
    }

    /// One saved tensor, for as long as the graph needs it.
    class Kept {
    public:
        Kept(Store& store, Real t)
            : store_(store), shape_(t.shape()), bytes_(t.numel() * sizeof(double)) {
            if (store.parameters_.contains(t.strided_data())) tensor_ = std::move(t);
            else if (static_cast<double>(bytes_) < store.threshold_) {
                tensor_ = std::move(t);
                if (store_.in_memory_[tensor_.strided_data()]++ == 0) store_.memory += bytes_;
            } else write(t.is_contiguous() ? t : t.clone());
        }
        Kept(Kept const&) = delete;
        Kept& operator=(Kept const&) = delete;
        ~Kept() {
            if (!file_.empty()) {
                std::error_code ignored;
                fs::remove(file_, ignored);
                store_.disk -= bytes_;
            } else if (auto const it = store_.in_memory_.find(tensor_.strided_data());
                       it != store_.in_memory_.end() && --it->second == 0) {
                store_.in_memory_.erase(it);
                store_.memory -= bytes_;
            }
        }

        Real get() const {
            if (file_.empty()) return tensor_;
            auto t = Real::empty(shape_);
            std::ifstream stream(file_, std::ios::binary);
            if (!stream.read(reinterpret_cast<char*>(t.mutable_data()),
                    static_cast<std::streamsize>(bytes_)))
                throw std::runtime_error("cannot read " + file_.string());
            return t;
        }

    private:
        void write(Real const& t) {
            fs::path const file = store_.directory_ / (std::to_string(store_.files) + ".saved");
            std::ofstream stream(file, std::ios::binary);
            if (!stream
                     .write(reinterpret_cast<char const*>(t.data()),
                         static_cast<std::streamsize>(bytes_))
                     .flush())
                throw std::runtime_error("cannot write " + file.string());
            file_ = file;
            ++store_.files;
            store_.disk += bytes_;
        }

        Store& store_;
        xg::Shape shape_;
        std::size_t bytes_;
        Real tensor_;
        fs::path file_;
    };

    std::shared_ptr<Kept const> pack(xg::AnyTensor const& t) {
        return std::make_shared<Kept const>(*this, t.as<double>());
    }

    std::size_t memory = 0, disk = 0, files = 0; // bytes now, bytes now, files written so far

private:
    fs::path directory_;
    double threshold_;
    std::set<double const*> parameters_;
    std::map<double const*, std::size_t>
        in_memory_; // how often a value is kept: one that two Nodes save counts once
};

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// The gradients of all parameters, with the saved tensors in a store.
std::vector<Real> gradients(
    Real const& x, std::vector<Real> const& weights, Store& store, char const* title) {
    Real loss;
    {
        xg::SavedTensorsHooks const hooks([&](xg::AnyTensor const& t) { return store.pack(t); },
            [](std::shared_ptr<Store::Kept const> const& kept) { return kept->get(); });
        Real y = x;
        for (auto const& w : weights) y = y + tanh(matmul(y, w)) * 0.5;
        loss = mean(square(y));
    }
    std::printf("%-10s %10.2f MiB %10.2f MiB %8zu", title, mebibytes(store.memory),
        mebibytes(store.disk), store.files);
    std::fflush(stdout);
    std::vector<Real> result;
    for (auto const& g : grad({loss}, std::vector<xg::AnyTensor>(weights.begin(), weights.end())))
        result.push_back(g.as<double>());
    std::printf(" %10.2f MiB %10.2f MiB\n", mebibytes(store.memory), mebibytes(store.disk));
    return result;
}

int compare(Settings const& settings) {
    xg::manual_seed(settings.seed);
    auto const x = xg::randn({settings.rows, settings.width});
    std::vector<Real> weights;
    for (std::size_t i = 0; i < settings.layers; ++i) {
        Real w = xg::randn({settings.width, settings.width}) /
                 std::sqrt(static_cast<double>(settings.width));
        weights.push_back(w.requires_grad_());
    }

    TemporaryDirectory const directory(settings.directory);
    Store memory(directory.path(), std::numeric_limits<double>::infinity(), weights),
        files(directory.path(), settings.threshold * 1024, weights);
    std::puts("               after forward: memory        files    number  after backward: memory "
              "    files");
    auto const wanted = gradients(x, weights, memory, "in memory");
    auto const got = gradients(x, weights, files, "offloaded");

    bool identical = true;
    for (std::size_t i = 0; i < weights.size(); ++i)
        identical &= amax(abs(got[i] - wanted[i])).item() == 0;
    std::printf("\ngradients are %s; %zu files are left in %s, which is removed now\n",
        identical ? "identical" : "DIFFERENT",
        static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator())),
        directory.path().c_str());
    return identical ? 0 : 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return compare(Settings(argc, argv)); });
}

// A checkpoint is written by rank 0 and read by all, and training goes on as if nothing had been.
#include <doctest/doctest.h>

#include "models.hpp"

#include <filesystem>

#include <unistd.h>

#include <xgrad/data.hpp>
#include <xgrad/package.hpp>

using namespace models;
using dist::DistributedDataParallel;

namespace {

using Net = nn::Sequential<double>;

/// Another one on each rank and for each seed.
Net made(dist::ProcessGroup const& group, std::uint64_t seed) {
    dist::manual_seed(group, seed);
    return Net(
        nn::Linear<double>(3, 8), nn::BatchNorm1d<double>(8), nn::Tanh(), nn::Linear<double>(8, 2));
}

/// A model, its optimiser and its schedule.
struct Run {
    DistributedDataParallel<Net> net;
    xg::optim::Adam optimizer;
    xg::optim::StepLR schedule;

    Run(Net module, dist::ProcessGroup const& group, dist::DataParallelOptions const& options)
        : net(std::move(module), group, options), optimizer(net.parameters(), {.lr = 0.05}),
          schedule(optimizer, 3) {}

    void train(int from, int to) {
        for (int step = from; step < to; ++step) {
            xg::manual_seed(100 + static_cast<std::uint64_t>(step)); // a batch of all ranks
            D const x = part_of(xg::randn<double>({12, 3}), net.group());
            optimizer.zero_grad();
            mean(square(net(x) - sum(square(x), {1}, true))).backward();
            optimizer.step();
            schedule.step();
        }
    }
};

/// A folder that all ranks see, for the time of a test.
struct SharedFolder {
    dist::ProcessGroup group;
    std::filesystem::path path;

    explicit SharedFolder(dist::ProcessGroup const& g) : group(g) {
        xg::Tensor<std::int64_t> const id(static_cast<std::int64_t>(getpid()));
        group.broadcast(id);
        path = std::filesystem::temp_directory_path() /
               ("xgrad_checkpoint_" + std::to_string(id.item()));
        group.run_on(0, [&] { std::filesystem::create_directory(path); });
    }
    ~SharedFolder() {
        group.run_on(0, [&] { std::filesystem::remove_all(path); });
    }
};

/// Parameters and buffers are the same.
void check_same(Run const& a, Run const& b) {
    // the sum of three ranks depends on the order of additions, and that on the order of buckets,
    // which a new reducer finds anew
    double const bound = a.net.group().size() < 3 ? 0 : 1e-12;
    auto compare = [&](auto const& x, auto const& y) {
        REQUIRE(x.size() == y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            CAPTURE(x[i].name);
            if (x[i].tensor.dtype() == xg::DType::float64)
                CHECK(largest_difference(x[i].tensor, y[i].tensor) <= bound);
            else
                CHECK(x[i].tensor.template as<std::int64_t>().item() ==
                      y[i].tensor.template as<std::int64_t>().item());
        }
    };
    compare(a.net.module.named_parameters(), b.net.module.named_parameters());
    compare(a.net.module.named_buffers(), b.net.module.named_buffers());
}

} // namespace

TEST_CASE("a checkpoint that rank 0 has written is read by all ranks, and training goes on as "
          "without the interruption") {
    auto const group = group_of_test();
    SharedFolder const folder(group);
    constexpr double few_bytes = 100. / (1024 * 1024);
    dist::DataParallelOptions const options{
        .bucket_cap_mb = few_bytes, .first_bucket_mb = few_bytes};
    auto const at = [&](char const* name) { return folder.path / name; };

    Run whole(made(group, 1), group, options);
    whole.train(0, 5);
    group.run_on(0, [&] {
        xg::data::save_safetensors(at("net"), whole.net.module.state_dict());
        xg::data::save_safetensors(at("optimizer"), whole.optimizer.state_dict());
        xg::data::save_safetensors(at("schedule"), whole.schedule.state_dict());
        xg::package::PackageExporter exporter(at("package"));
        exporter.intern("xgrad.**");
        exporter.save_module("run", "net", whole.net.module);
        exporter.save_tensors("run", "optimizer", whole.optimizer.state_dict());
        exporter.save_tensors("run", "schedule", whole.schedule.state_dict());
        exporter.close();
    });
    whole.train(5, 12);

    SUBCASE("as a state dictionary, into another model") {
        Run again(made(group, 2), group, options);
        again.net.module.load_state_dict(xg::data::load_safetensors(at("net")));
        again.optimizer.load_state_dict(xg::data::load_safetensors(at("optimizer")));
        again.schedule.load_state_dict(xg::data::load_safetensors(at("schedule")));
        again.train(5, 12);
        check_same(again, whole);
    }
    SUBCASE("as a package, without a model") {
        xg::package::PackageImporter importer(at("package"));
        Run again(importer.load_module<Net>("run", "net"), group, options);
        again.optimizer.load_state_dict(importer.load_tensors("run", "optimizer"));
        again.schedule.load_state_dict(importer.load_tensors("run", "schedule"));
        again.train(5, 12);
        check_same(again, whole);
    }
    SUBCASE("by one rank, which gives the model to the others") {
        Run again(made(group, 3), group, options);
        if (group.rank() == 0)
            again.net.module.load_state_dict(xg::data::load_safetensors(at("net")));
        again.net.broadcast_state();
        again.optimizer.load_state_dict(xg::data::load_safetensors(at("optimizer")));
        again.schedule.load_state_dict(xg::data::load_safetensors(at("schedule")));
        again.train(5, 12);
        check_same(again, whole);
    }
}

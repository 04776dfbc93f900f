// Phase retrieval from coded diffraction patterns (see phase_retrieval) by several processes:
// mpirun -n 2 distributed_imaging. Each has some of the masks and what the camera saw behind them.
// The photograph, a complex parameter, is the same on all; its gradients travel in numbers of 16
// bits, a quarter of their bytes, or otherwise as --hook says.
// ctest: --size 64 --masks 8

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include <xgrad/data.hpp>
#include <xgrad/distributed.hpp>

#include <image.hpp>
#include <options.hpp>
#include <relative_error.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace dist = xg::distributed;
using Real = xg::Tensor<double>;
using Field = xg::Tensor<std::complex<double>>; // light: brightness and phase

struct Settings {
    std::string image =
        (std::filesystem::path(__FILE__).parent_path().parent_path() / "data/chelsea.pgm").string();
    std::string output = "distributed_imaging_output", hook = "fp16";
    std::size_t masks = 8, iterations = 150, size = 256;
    std::uint64_t seed = 1;
    double tolerance = 1e-4;

    Settings(int argc, char** argv) {
        examples::Options options(
            "Recovers a photograph from masked Fourier transforms, by several processes.");
        options.text("image", image, "photograph: JPEG, PNG, PGM, ...");
        options.text("output", output, "directory for the PNG images");
        options.text(
            "hook", hook, "how gradients travel: allreduce, fp16, bf16, quantize, float32");
        options.number("masks", masks, "how many masks; fewer than 5 rarely suffice", 1, 1000);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.number("size", size, "shrink to at most this many pixels a side", 8);
        options.number("seed", seed, "of the masks and of the random start");
        options.number("tolerance", tolerance, "relative error to reach", 0);
        options.parse(argc, argv);
    }
};

Field to_field(examples::GreyImage const& image) {
    Field const pixels = Field::empty({image.height, image.width});
    std::ranges::transform(image.values, pixels.array_of().begin(),
        [](auto value) { return std::complex<double>(value / 255.); });
    return pixels;
}
examples::GreyImage to_image(Field const& x) {
    Real const brightness = abs(x);
    examples::GreyImage image{x.shape()[1], x.shape()[0]};
    std::transform(brightness.data(), brightness.data() + brightness.numel(), image.values.begin(),
        examples::grey_level);
    return image;
}
/// A phase of 1, i, -1 or -i times a modulus that is mostly sqrt(1/2) and sometimes sqrt(3).
Field random_mask(std::size_t height, std::size_t width, std::uint64_t seed) {
    constexpr std::complex<double> phases[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    std::mt19937_64 random(seed);
    Field mask = Field::empty({height, width});
    for (auto& value : mask.mutable_array()) {
        auto const phase = phases[random() % 4];
        value = phase * std::sqrt(random() % 5 == 0 ? 3. : 0.5);
    }
    return mask;
}

/// The light of a photograph behind this rank's masks, where the camera is.
struct Scene : nn::Module<Scene> {
    nn::Parameter<std::complex<double>> light;

    explicit Scene(Field const& start) : light(*this, "light", start) {}
    Field forward(Field const& masks) const { return fft2(masks * light.handle_of()); }
};

/// Counts what this rank gives to MPI, and hands buckets to the hook that was asked for.
struct Wire {
    dist::ProcessGroup group;
    std::string hook;
    double bytes = 0, bytes_of_gradients = 0;
};
dist::Future<xg::AnyTensor> send(Wire& wire, dist::GradBucket& bucket) {
    auto const elements = static_cast<double>(bucket.buffer().numel());
    wire.bytes_of_gradients += 16 * elements;
    auto const via = [&](auto hook, double bytes_of_each) {
        wire.bytes += bytes_of_each * elements;
        return hook(wire.group, bucket);
    };
    if (wire.hook == "allreduce") return via(dist::allreduce_hook, 16);
    if (wire.hook == "fp16") return via(dist::fp16_compress_hook, 4);
    if (wire.hook == "bf16") return via(dist::bf16_compress_hook, 4);
    if (wire.hook == "quantize") return via(dist::quantize_hook, 2);
    if (wire.hook == "float32") return via(dist::float32_compress_wrapper(dist::allreduce_hook), 8);
    throw examples::UsageError("there is no hook '" + wire.hook + "'");
}

int recover(Settings const& settings) {
    dist::ProcessGroup const group;
    auto const ranks = static_cast<std::size_t>(group.size()),
               rank = static_cast<std::size_t>(group.rank());
    if (settings.masks < ranks) throw std::runtime_error("there are fewer masks than processes");
    auto const original = shrink(examples::read_photograph(settings.image), settings.size);
    auto const truth = to_field(original);
    if (norm(truth).item() == 0)
        throw std::runtime_error("the photograph is black: nothing to recover");

    // this rank's masks, and what the camera sees behind them
    std::vector<Field> own;
    for (std::size_t m = rank; m < settings.masks; m += ranks)
        own.push_back(random_mask(original.height, original.width, settings.seed + m));
    Field const masks = stack(own);
    Real const intensity = abs2(fft2(masks * truth)), amplitude = sqrt(intensity);
    auto const sum_of_all = [&](Real const& t) {
        group.allreduce(t);
        return t;
    };
    double const pixels = static_cast<double>(truth.numel());
    Real const of_masks = sum_of_all(Real(sum(abs2(masks), {0})));
    double const total = sum_of_all(Real(sum(intensity))).item(),
                 count = pixels * static_cast<double>(settings.masks);

    xg::manual_seed(settings.seed);
    Field const start = xg::randn<std::complex<double>>({original.height, original.width});
    dist::DistributedDataParallel scene(Scene(Field(start / norm(start))), group);
    Wire wire{group, settings.hook};
    scene.register_comm_hook(std::ref(wire), send);
    auto& x = scene.module.light;
    // Divided by the curvature of the loss, the gradient is the step to take. A hook does that
    // before gradients travel, so that they are numbers of ordinary size. The mean over the ranks
    // times their number is the sum.
    Real const curvature = 2. * pixels / static_cast<double>(ranks) * of_masks;
    scene.module.light.register_hook(
        [&](Field const& gradient) -> Field { return gradient / curvature; });

    // power iteration: the gradient of sum(w |A x|^2) is 2 A* w A x
    Real const weight = intensity / (intensity + total / count);
    for (int i = 0; i < 50; ++i) {
        scene.zero_grad();
        sum(weight * abs2(scene(masks))).backward();
        xg::NoGradGuard const off;
        x.copy_(x.grad() / norm(x.grad()));
    }
    {
        xg::NoGradGuard const off;
        x *= std::sqrt(total / sum_of_all(Real(sum(abs2(scene.module(masks))))).item());
    }

    // Nesterov's method on the distance between amplitudes
    constexpr double momentum = 0.5;
    double error = 1;
    Field before = x.detach().clone();
    std::optional<xg::data::ProgressBar> bar;
    if (rank == 0)
        bar.emplace(settings.iterations, xg::data::ProgressOptions{.label = "recovering"});
    for (std::size_t step = 0; step < settings.iterations && !(error < settings.tolerance);
         ++step) {
        scene.zero_grad();
        Real const loss = sum(square(abs(scene(masks)) - amplitude));
        loss.backward();
        xg::NoGradGuard const off;
        Field const now = x - x.grad();
        x.copy_(now + momentum * (now - before));
        before = now;
        error =
            examples::relative_error(now, truth); // the same on all ranks, which so stop together
        if (bar) bar->update(1, loss.item());
    }
    bar.reset();
    group.run_on(0, [&] {
        std::filesystem::path const directory = settings.output;
        std::filesystem::create_directories(directory);
        write_png(directory / "original.png", original);
        write_png(directory / "reconstruction.png", to_image(before));
        std::printf(
            "%zu processes with %zu masks: relative error %.1e\n", ranks, settings.masks, error);
        std::printf("%s: %.1f MB given to MPI by each, of %.1f MB of gradients\n",
            settings.hook.c_str(), wire.bytes / 1e6, wire.bytes_of_gradients / 1e6);
    });
    if (error < settings.tolerance) return 0;
    if (rank == 0)
        std::cerr << "error: the tolerance of " << settings.tolerance << " was not reached\n";
    return 1;
}

int main(int argc, char** argv) {
    dist::Environment const mpi;
    return examples::exit_code([&] { return recover(Settings(argc, argv)); });
}

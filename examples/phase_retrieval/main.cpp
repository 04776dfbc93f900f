// A camera sees how bright light is, and not its phase. Here a photograph is illuminated through
// random masks, only the brightness of its Fourier transforms is kept, and gradient descent finds
// the photograph again: "coded diffraction patterns", Candes, Li, Soltanolkotabi, "Phase retrieval
// from coded diffraction patterns", 2015. Two other methods start from the same place: Wirtinger
// Flow, by the same authors, and Levenberg and Marquardt's, whose last steps double the digits.
// ctest: --size 64
// ctest: --size 48 --image @PROJECT_SOURCE_DIR@/examples/data/chelsea.jpg
// ctest: --size 24 --method lm --tolerance 1e-12 --iterations 15

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>

#include <xgrad/data.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/xgrad.hpp>

#include <image.hpp>
#include <options.hpp>
#include <relative_error.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Field = xg::Tensor<std::complex<double>>; // light: brightness and phase

struct Settings {
    std::string image =
        (std::filesystem::path(__FILE__).parent_path().parent_path() / "data/chelsea.pgm").string();
    std::string output = "phase_retrieval_output";
    std::string method = "descent";
    std::size_t masks = 8, iterations = 100, size = 256;
    std::uint64_t seed = 1;
    double tolerance = 1e-5;

    Settings(int argc, char** argv) {
        examples::Options options(
            "Recovers a photograph from the brightness of its masked Fourier transforms.");
        options.text("image", image, "photograph: JPEG, PNG, PGM, ...");
        options.text("output", output, "directory for the PNG images");
        options.number("masks", masks, "how many masks; fewer than 5 rarely suffice", 1, 1000);
        options.choice("method", method, {"descent", "wirtinger", "lm"},
            "gradient descent, Wirtinger Flow, Levenberg-Marquardt");
        options.number("iterations", iterations, "steps of the method at most", 1);
        options.number("size", size, "shrink to at most this many pixels a side", 8);
        options.number("seed", seed, "of the masks and of the random start");
        options.number("tolerance", tolerance, "relative error to reach", 0);
        options.parse(argc, argv);
    }
};

Field to_field(examples::GreyImage const& image) {
    auto pixels = xt::xarray<std::complex<double>>::from_shape({image.height, image.width});
    std::transform(image.values.begin(), image.values.end(), pixels.begin(),
        [](auto value) { return value / 255.; });
    return Field(pixels);
}

examples::GreyImage to_image(Field const& x) {
    Real const brightness = abs(x);
    examples::GreyImage image{x.shape()[1], x.shape()[0]};
    auto const array = brightness.array();
    std::transform(array.begin(), array.end(), image.values.begin(), examples::grey_level);
    return image;
}

/// Octanary masks: a phase of 1, i, -1 or -i times a modulus that is mostly sqrt(1/2) and sometimes
/// sqrt(3).
Field random_masks(std::size_t count, std::size_t height, std::size_t width, std::uint64_t seed) {
    constexpr std::complex<double> phases[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    std::mt19937_64 random(seed);
    auto masks = xt::xarray<std::complex<double>>::from_shape({count, height, width});
    for (auto& value : masks) {
        auto const phase = phases[random() % 4];
        value = phase * std::sqrt(random() % 5 == 0 ? 3. : 0.5);
    }
    return Field(masks);
}

/// The light behind each mask, where the camera is.
Field far_field(Field const& masks, Field const& x) { return fft2(masks * x); }

/// Moves x to where the measurements suggest it. The leading eigenvector of A^H W A, for x -> A x
/// the far field and W a weight that grows with the intensity, correlates with the truth; the
/// gradient of sum(W |A x|^2) is 2 A^H W A x, and so power iteration is: x becomes its gradient.
void spectral_start(Field& x, Field const& masks, Real const& intensity, int iterations) {
    Real const weight =
        intensity / (intensity + mean(intensity)); // saturates: no single bright spot decides
    for (int i = 0; i < iterations; ++i) {
        x.zero_grad();
        sum(weight * abs2(far_field(masks, x))).backward();
        xg::NoGradGuard no_grad;
        x.copy_(x.grad() / norm(x.grad()));
    }
    xg::NoGradGuard no_grad;
    x *= std::sqrt(sum(intensity).item() / sum(abs2(far_field(masks, x))).item());
}

/// Nesterov's method on the distance between the amplitudes of x and the measured ones; or
/// Wirtinger Flow, gradient descent on that between the intensities, as in wirtinger_flow. A hook
/// divides the gradient by `curvature`. Returns the relative error.
double descend(Field& x, Real& curvature, Field const& masks, Real const& intensity,
    Field const& truth, Settings const& settings) {
    bool const amplitudes = settings.method == "descent";
    double const momentum = amplitudes ? 0.5 : 0;
    Real const amplitude = sqrt(intensity), energy = mean(intensity);
    double error = examples::relative_error(x, truth), length = 0;
    auto watch = x.register_hook([&](Field const& step) { length = norm(step).item(); });
    Field before = x.detach().clone();
    std::size_t steps = 0;
    xg::data::ProgressBar bar(
        settings.iterations, {.label = "recovering", .interval = 0.1, .smoothing = 0});
    for (; steps < settings.iterations && !(error < settings.tolerance); ++steps) {
        Field const light = far_field(masks, x);
        Real const loss = amplitudes ? sum(square(abs(light) - amplitude))
                                     : Real(mean(square(abs2(light) - intensity)) / 2.);
        if (!amplitudes) // small steps first, while the start is still crude
            curvature =
                2 * energy / std::min(1 - std::exp(-static_cast<double>(steps + 1) / 330), 0.2);
        x.zero_grad();
        loss.backward();
        xg::NoGradGuard no_grad;
        Field const now = x - x.grad();
        x.copy_(now + momentum * (now - before));
        before = now;
        error = examples::relative_error(now, truth);
        bar.update(1, loss.item());
    }
    bar.finish();
    std::cout << "relative error " << error << " after " << steps
              << " steps, the last of which had length " << length << '\n';
    watch.remove();
    xg::NoGradGuard no_grad;
    x.copy_(before);
    return error;
}

/// The method of Levenberg and Marquardt on the intensities, whose steps solve for all pixels at
/// once by conjugate gradients. It cannot know the error, and stops when a step was small.
double fit(Field& x, Field const& masks, Real const& intensity, Field const& truth,
    Settings const& settings) {
    xg::data::ProgressBar bar(
        settings.iterations, {.label = "recovering", .interval = 0.1, .smoothing = 0});
    auto const found = xg::least_squares(
        [&](Field const& z) { return abs2(far_field(masks, z)) - intensity; }, x.detach(),
        {.linear_solver = "cg",
            .ftol = 0,
            .xtol = settings.tolerance,
            .gtol = 0,
            .max_nfev = settings.iterations + 1,
            .callback = [&](xg::LeastSquaresStep const& step) { bar.update(1, step.cost); }});
    bar.finish();
    double const error = examples::relative_error(found.x, truth);
    std::cout << "relative error " << error << " after " << found.nit << " steps; " << found.message
              << '\n';
    xg::NoGradGuard no_grad;
    x.copy_(found.x);
    return error;
}

int recover(Settings const& settings) {
    auto const original = shrink(examples::read_photograph(settings.image), settings.size);
    auto const truth = to_field(original);
    if (norm(truth).item() == 0)
        throw std::runtime_error("'" + settings.image + "' is black: nothing to recover");
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    write_png(directory / "original.png", original);

    auto const masks = random_masks(settings.masks, original.height, original.width, settings.seed);
    Real const intensity = abs2(far_field(masks, truth)); // all that is measured

    xg::manual_seed(settings.seed);
    auto x = xg::randn<std::complex<double>>({original.height, original.width}).requires_grad_();
    // Divided by the curvature of the loss, pixel by pixel, the gradient is the step to take: a
    // hook sees to that.
    Real curvature = 2. * static_cast<double>(x.numel()) * sum(abs2(masks), {0});
    x.register_hook([&](Field const& gradient) -> Field { return gradient / curvature; });

    spectral_start(x, masks, intensity, 50);
    write_png(directory / "start.png", to_image(x));
    auto const error = settings.method == "lm"
                           ? fit(x, masks, intensity, truth, settings)
                           : descend(x, curvature, masks, intensity, truth, settings);

    write_png(directory / "reconstruction.png", to_image(x));
    std::cout << "original.png, start.png and reconstruction.png are in " << settings.output
              << '\n';
    if (error < settings.tolerance) return 0;
    std::cerr << "error: the tolerance of " << settings.tolerance << " was not reached\n";
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return recover(Settings(argc, argv)); });
}

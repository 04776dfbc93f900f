// Bundle adjustment: where cameras stood, and the points that they saw, from the points in their
// pictures. Each observation is of one camera, one point, and the lens that all cameras share. The
// cameras stand around a knot of points; some observations are of another point than they claim.
// Camera and points are as in Agarwal, Snavely, Seitz and Szeliski, "Bundle adjustment in the
// large", 2010. The whole scene may be moved and scaled, so that the first camera and a coordinate
// of the second one are given; then the true scene is the only one, and is found.
// ctest: --points 60 --noise 0 --outliers 0
// ctest: --points 80

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/least_squares.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Index = xg::Tensor<std::int64_t>;
using xg::all;

struct Settings {
    std::size_t cameras = 8, points = 200;
    double noise = 0.5, outliers = 0.03;
    std::uint64_t seed = 1;
    std::string output = "bundle_adjustment_output";

    Settings(int argc, char** argv) {
        examples::Options options("Finds cameras and points from what the cameras saw.");
        options.number("cameras", cameras, "cameras around the points", 3, 100);
        options.number("points", points, "points in space", 20, 100000);
        options.number("noise", noise, "standard deviation of an observation in pixels", 0, 10);
        options.number("outliers", outliers, "observations of a wrong point, of 1", 0, 0.2);
        options.number("seed", seed, "of the noise and the start");
        options.text("output", output, "directory for the charts");
        options.parse(argc, argv);
    }
};

/// The pose of each camera (cameras, 6), an angle-axis and a translation; the points (points, 3);
/// and focal length and distortion of the lens (1, 3).
using Scene = std::tuple<Real, Real, Real>;

/// Vectors, a row each, rotated about axes whose lengths are the angles.
Real rotated(Real const& axis, Real const& vector) {
    Real const a = axis(all, 0), b = axis(all, 1), c = axis(all, 2), x = vector(all, 0),
               y = vector(all, 1), z = vector(all, 2);
    Real const angle = sqrt(a * a + b * b + c * c + 1e-30), cosine = cos(angle),
               sine = sin(angle) / angle,
               dot = (a * x + b * y + c * z) * (1. - cosine) / (angle * angle);
    return xg::stack(std::vector<Real>{x * cosine + (b * z - c * y) * sine + a * dot,
                         y * cosine + (c * x - a * z) * sine + b * dot,
                         z * cosine + (a * y - b * x) * sine + c * dot},
        1);
}
/// Where each point is in the picture of the camera in the same row. Cameras look along -z.
Real project(Real const& pose, Real const& point, Real const& lens) {
    Real const seen = rotated(pose(all, xg::slice(0, 3)), point) + pose(all, xg::slice(3, 6));
    Real const u = -seen(all, 0) / seen(all, 2), v = -seen(all, 1) / seen(all, 2),
               r2 = u * u + v * v,
               scale = lens(all, 0) * (1. + r2 * (lens(all, 1) + r2 * lens(all, 2)));
    return xg::stack(std::vector<Real>{u * scale, v * scale}, 1);
}

/// A knot of points, with cameras on a circle around it.
Scene true_scene(Settings const& settings) {
    constexpr double pi = std::numbers::pi;
    Real const t = xg::linspace(0., 2 * pi, settings.points + 1)(xg::slice(0, -1));
    Real const points = xg::stack(
        std::vector<Real>{sin(t) + 2. * sin(2. * t), 0.8 * sin(3. * t), cos(t) - 2. * cos(2. * t)},
        1);
    Real poses = xg::zeros({settings.cameras, 6});
    for (std::size_t i = 0; i < settings.cameras; ++i) {
        auto const at = static_cast<std::ptrdiff_t>(i);
        poses(at, 1) = 2 * pi * static_cast<double>(i) / static_cast<double>(settings.cameras);
        poses(at, 5) = -9.;
    }
    return {poses + 0.05 * xg::randn<double>(poses.shape()), points, Real({{900., -0.1, 0.02}})};
}

double rms(Real const& x) { return std::sqrt(mean(square(x)).item()); }

examples::Series from_above(std::string const& name, Real const& places) {
    examples::Series series{name, {}, true};
    for (std::size_t i = 0; i < places.shape()[0]; ++i)
        series.points.push_back({places.data()[3 * i], places.data()[3 * i + 2]});
    return series;
}
void draw(std::filesystem::path const& file, std::string const& title, Scene const& truth,
    Scene const& scene) {
    auto const& [poses, points, lens] = scene;
    Real const where =
        rotated(-poses(all, xg::slice(0, 3)), -poses(all, xg::slice(3, 6))).contiguous();
    examples::write_svg(file, {title, "x", "z",
                                  {from_above("true points", std::get<1>(truth)),
                                      from_above("points", points), from_above("cameras", where)}});
}

int adjust(Settings const& settings) {
    xg::manual_seed(settings.seed);
    Scene const truth = true_scene(settings);
    auto const& [poses, points, lens] = truth;

    // A camera sees most points, and a point is seen by three cameras at least.
    std::vector<std::int64_t> cameras_seen, points_seen;
    Real const chance = xg::rand<double>({settings.points, settings.cameras});
    for (std::size_t p = 0; p < settings.points; ++p)
        for (std::size_t c = 0; c < settings.cameras; ++c)
            if (chance.data()[p * settings.cameras + c] < 0.6 || (p + c) % settings.cameras < 3) {
                cameras_seen.push_back(static_cast<std::int64_t>(c));
                points_seen.push_back(static_cast<std::int64_t>(p));
            }
    std::size_t const count = cameras_seen.size();
    Index const camera_of(cameras_seen), point_of(points_seen),
        lens_of = xg::zeros<std::int64_t>({count});
    auto const exact = xg::by_rows(project, camera_of, point_of, lens_of);
    xg::Tensor<bool> const is_wrong = xg::rand<double>({count, 1}) < settings.outliers;
    Real const seen = exact(poses, points, lens) + settings.noise * xg::randn<double>({count, 2}) +
                      where(is_wrong, 60. * xg::randn<double>({count, 2}), Real(0.));

    // The first camera, and one coordinate of the second, are known.
    Real known = xg::zeros(poses.shape());
    known(0) = 1.;
    known(1, 5) = 1.;
    Scene const start{poses + (1. - known) * 0.05 * xg::randn<double>(poses.shape()),
        points + 0.2 * xg::randn<double>(points.shape()), Real({{950., 0., 0.}})};

    auto const residual =
        xg::by_rows([&](Real const& pose, Real const& point,
                        Real const& shared) { return Real(project(pose, point, shared) - seen); },
            camera_of, point_of, lens_of);
    std::printf("%zu cameras, %zu points, %zu observations\n\nstep   cost\n", settings.cameras,
        settings.points, count);
    auto const fit = xg::least_squares(residual, start,
        {.ftol = 1e-10,
            .loss = "cauchy",
            .fixed = std::tuple(known, Real(0.), Real(0.)),
            .callback = [](xg::LeastSquaresStep const& step) {
                std::printf("%4zu   %.6g\n", step.nit, step.cost);
            }});
    std::printf("%s\n\n                       start      found\n", fit.message.c_str());
    auto const& [found_poses, found_points, found_lens] = fit.x;
    // The median, since a point that is mistaken in two of three pictures is somewhere else.
    double const error = median(abs(found_points - points)).item();
    auto const first = static_cast<std::ptrdiff_t>(poses.numel()),
               last = first + static_cast<std::ptrdiff_t>(points.numel());
    Real const variances = fit.covariance().diagonal()(xg::slice(first, last));
    double const deviation = std::sqrt(median(variances).item());
    std::printf("error of points     %8.1e   %8.1e   (standard deviation: %.1e)\nerror of poses    "
                "  %8.1e   %8.1e\n"
                "focal length        %8.2f   %8.2f   (true: 900)\n",
        median(abs(std::get<1>(start) - points)).item(), error, deviation,
        rms(std::get<0>(start) - poses), rms(found_poses - poses), std::get<2>(start)(0, 0).item(),
        found_lens(0, 0).item());

    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    draw(directory / "before.svg", "Before: cameras and points from above", truth, start);
    draw(directory / "after.svg", "After: cameras and points from above", truth, fit.x);
    std::printf("\nbefore.svg and after.svg are in %s\n", settings.output.c_str());
    if (error < 4 * deviation + 1e-9) return 0;
    std::fputs("error: the points are farther from the true ones than four deviations\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return adjust(Settings(argc, argv)); });
}

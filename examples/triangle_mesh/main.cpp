// Flattens a triangle mesh: Tutte's embedding draws it into a disc, without a triangle that is
// flipped, and Newton's method then makes every triangle as like its shape at rest as it can
// be, by the symmetric Dirichlet energy. The mesh is that of a flat flower, so the answer is known:
// its triangles get their shape at rest, and the energy is 4 for each unit of area. Tutte, "How to
// draw a graph", 1963; Smith and Schaefer, "Bijective parameterization with free boundaries", 2015;
// the positive part of each element's Hessian: Teran et al., "Robust quasistatic finite elements
// and flesh simulation", 2005.
// ctest: --rings 9

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgrad/sum_over.hpp>

#if __has_include(<Eigen/SparseCholesky>)
#    include <Eigen/SparseCholesky>
#    define WITH_EIGEN
#elif __has_include(<eigen3/Eigen/SparseCholesky>)
#    include <eigen3/Eigen/SparseCholesky>
#    define WITH_EIGEN
#endif

#include <options.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Index = xg::Tensor<std::int64_t>;

struct Settings {
    std::size_t rings = 14;
    std::string output = "triangle_mesh_output";

    Settings(int argc, char** argv) {
        examples::Options options("Flattens a triangle mesh by sparse steps of Newton's method.");
        options.number("rings", rings, "rings of vertices around the middle", 2, 300);
        options.text("output", output, "directory for the pictures");
        options.parse(argc, argv);
    }
};

/// A disc of rings, of which ring i has 6 i vertices.
struct Mesh {
    std::size_t vertices, inner; // all, and those that are not on the boundary
    Real rest;                   // the vertices of the flower
    Index triangles, edges;

    explicit Mesh(std::size_t rings)
        : vertices(1 + 3 * rings * (rings + 1)), inner(vertices - 6 * rings),
          rest(xg::zeros<double>({vertices, 2})) {
        std::vector<std::int64_t> corners, ends;
        auto const number = [](std::size_t ring, std::size_t k) {
            return static_cast<std::int64_t>(
                ring == 0 ? 0 : 1 + 3 * ring * (ring - 1) + k % (6 * ring));
        };
        for (std::size_t ring = 1; ring <= rings; ++ring)
            for (std::size_t k = 0; k < 6 * ring; ++k) {
                double const angle = angle_of(ring, k), radius = static_cast<double>(ring) /
                                                                 static_cast<double>(rings) *
                                                                 (1 + 0.3 * std::cos(5 * angle));
                double* const at = rest.mutable_data() + 2 * number(ring, k);
                at[0] = radius * std::cos(angle);
                at[1] = radius * std::sin(angle);
                // A triangle on each edge of the ring, and one on each edge of the ring within.
                std::size_t const sector = k / ring, step = k % ring;
                std::int64_t const a = number(ring, k), b = number(ring, k + 1),
                                   c = number(ring - 1, sector * (ring - 1) + step),
                                   d = number(ring - 1, sector * (ring - 1) + step + 1);
                corners.insert(corners.end(), {a, b, c});
                ends.insert(ends.end(), {a, b, a, c});
                if (step + 1 < ring) {
                    corners.insert(corners.end(), {b, d, c});
                    ends.insert(ends.end(), {b, c});
                }
            }
        triangles = table(corners, 3);
        edges = table(ends, 2);
    }
    static Index table(std::vector<std::int64_t> const& numbers, std::size_t columns) {
        Index t = xg::zeros<std::int64_t>({numbers.size() / columns, columns});
        std::copy(numbers.begin(), numbers.end(), t.mutable_data());
        return t;
    }
    static double angle_of(std::size_t ring, std::size_t k) {
        return 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(6 * ring);
    }
};

/// The inverse of the edges of each triangle at rest, row by row, and its area.
Real shapes_at_rest(Mesh const& mesh) {
    std::size_t const n = mesh.triangles.shape(0);
    Real rest = xg::zeros<double>({n, 5});
    for (std::size_t e = 0; e < n; ++e) {
        auto const vertex = [&](std::size_t corner) {
            return mesh.rest.data() + 2 * mesh.triangles.data()[3 * e + corner];
        };
        double const *const a = vertex(0), *const b = vertex(1), *const c = vertex(2);
        double const ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1],
                     det = ux * vy - uy * vx,
                     numbers[] = {vy / det, -vx / det, -uy / det, ux / det, det / 2};
        std::copy_n(numbers, 5, rest.mutable_data() + 5 * e);
    }
    return rest;
}

/// |J|^2 + |J^-1|^2 times the area, where J takes the triangle at rest to this one: 4 where J turns
/// and moves it, and infinite where the triangle is flipped.
auto const symmetric_dirichlet = [](auto const& corners, auto const& rest) {
    auto const& [a, b, c] = corners;
    auto const ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
    auto const j00 = ux * rest(0) + vx * rest(2), j01 = ux * rest(1) + vx * rest(3),
               j10 = uy * rest(0) + vy * rest(2), j11 = uy * rest(1) + vy * rest(3);
    auto const det = j00 * j11 - j01 * j10;
    auto const norm = j00 * j00 + j01 * j01 + j10 * j10 + j11 * j11;
    return rest(4) *
           where(det > 0., norm + norm / (det * det), std::numeric_limits<double>::infinity());
};

/// Solves (H + shift) x = b for a symmetric H without negative eigenvalues.
std::vector<double> solve(xg::SparseMatrix<double> const& h, double shift, Real const& b) {
    std::size_t const n = b.numel();
#ifdef WITH_EIGEN
    auto const size = static_cast<Eigen::Index>(n);
    Eigen::SparseMatrix<double> shifted =
        Eigen::Map<Eigen::SparseMatrix<double, Eigen::RowMajor> const>(
            size, size, h.nonzeros(), h.outer(), h.inner(), h.data());
    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> cholesky;
    cholesky.setShift(shift);
    cholesky.compute(shifted);
    Eigen::VectorXd const x = cholesky.solve(Eigen::Map<Eigen::VectorXd const>(b.data(), size));
    return {x.begin(), x.end()};
#else
    // Conjugate gradients, Hestenes and Stiefel, 1952.
    std::vector<double> x(n), r(b.data(), b.data() + n), p = r, q(n);
    auto const dot = [n](std::vector<double> const& u, std::vector<double> const& v) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += u[i] * v[i];
        return sum;
    };
    double left = dot(r, r);
    double const enough = 1e-24 * left;
    for (std::size_t iteration = 0; iteration < 20 * n && left > enough; ++iteration) {
        for (std::size_t i = 0, at = 0; i < n; ++i) {
            q[i] = shift * p[i];
            for (int const j : h.pattern().row(i))
                q[i] += h.data()[at++] * p[static_cast<std::size_t>(j)];
        }
        double const alpha = left / dot(p, q);
        for (std::size_t i = 0; i < n; ++i) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        double const next = dot(r, r), beta = next / left;
        left = next;
        for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + beta * p[i];
    }
    return x;
#endif
}

/// Each inner vertex in the middle of its neighbours, and the boundary on a circle: the minimum of
/// a quadratic energy, one step of Newton's method from any start.
Real tutte(Mesh const& mesh) {
    Real x = xg::zeros<double>({mesh.vertices, 2});
    std::size_t const boundary = mesh.vertices - mesh.inner, edges = mesh.edges.shape(0);
    for (std::size_t k = 0; k < boundary; ++k) {
        double const angle = Mesh::angle_of(boundary / 6, k);
        x.mutable_data()[2 * (mesh.inner + k)] = std::cos(angle);
        x.mutable_data()[2 * (mesh.inner + k) + 1] = std::sin(angle);
    }
    // An end that is held is a constant, where it is now.
    Real const place = index_select(x, 0, flatten(mesh.edges)).reshape({-1, 2, 2});
    Real free = xg::ones<double>({edges, 2});
    for (std::size_t i = 0; i < 2 * edges; ++i)
        if (static_cast<std::size_t>(mesh.edges.data()[i]) >= mesh.inner)
            free.mutable_data()[i] = 0;
    auto springs = xg::sum_over<2, 2>(
        [](auto const& ends, auto const& is_free, auto const& held_at) {
            auto const at = [&](std::size_t end, std::size_t axis) {
                return is_free(end) * ends[end][axis] + (1. - is_free(end)) * held_at(end, axis);
            };
            auto const dx = at(1, 0) - at(0, 0), dy = at(1, 1) - at(0, 1);
            return 0.5 * (dx * dx + dy * dy);
        },
        x, mesh.edges, free, place);
    auto const h = springs.hessian();
    auto const step = solve(h, 1e-12, springs.gradient());
    for (std::size_t i = 0; i < step.size(); ++i) x.mutable_data()[i] -= step[i];
    return x;
}

/// The triangles as lines in a square from -1.5 to 1.5.
void write_picture(std::filesystem::path const& path, Mesh const& mesh, Real const& x) {
    std::ofstream file(path);
    file
        << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" width="300" height="300">)"
           R"(<rect width="300" height="300" fill="#fff"/>)"
           R"(<path fill="none" stroke="#0072b2" stroke-width="0.6" stroke-linejoin="round" d=")";
    char text[64];
    for (std::size_t i = 0; i < mesh.triangles.numel(); ++i) {
        double const* const at = x.data() + 2 * mesh.triangles.data()[i];
        std::snprintf(text, sizeof text, "%s%.1f %.1f%s", i % 3 == 0 ? "M" : "L", 150 + 100 * at[0],
            150 - 100 * at[1], i % 3 == 2 ? "z" : "");
        file << text;
    }
    file << "\"/></svg>\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

int run(Settings const& settings) {
    Mesh const mesh(settings.rings);
    Real const rest = shapes_at_rest(mesh);
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    Real x = tutte(mesh);
    write_picture(directory / "start.svg", mesh, x);

    auto const energy = xg::sum_over<3, 2>(symmetric_dirichlet, x, mesh.triangles, rest);
    double area = 0;
    for (std::size_t e = 0; e < rest.shape(0); ++e) area += rest.data()[5 * e + 4];
    std::printf("%zu vertices, %zu triangles\n", mesh.vertices, mesh.triangles.shape(0));

    double per_area = 0;
    for (int step = 0; step < 100; ++step) {
        auto now = energy.at(x);
        auto const h = now.positive_hessian();
        Real const g = now.gradient();
        per_area = now.value().item() / area;
        double const slope = xg::norm(g).item();
        std::printf(
            "step %2d: energy %.12f for each unit of area, gradient %.1e\n", step, per_area, slope);
        if (slope < 1e-9) break;
        auto const found =
            solve(h, 1e-8, g); // the shift holds what the energy does not see: where the mesh is
        double length = 1;
        auto const moved = [&] {
            Real y = x.clone();
            for (std::size_t i = 0; i < found.size(); ++i) y.mutable_data()[i] -= length * found[i];
            return y;
        };
        // An energy that differs by rounding alone is not higher.
        double const highest = now.value().item() * (1 + 1e-14);
        while (!(energy.at(moved()).value().item() <= highest) && length > 1e-10) length /= 2;
        x = moved();
    }
    write_picture(directory / "flat.svg", mesh, x);

    double error = 0; // of the lengths of edges
    for (std::size_t e = 0; e < mesh.edges.shape(0); ++e) {
        auto const length = [&](Real const& at) {
            double const *const a = at.data() + 2 * mesh.edges.data()[2 * e],
                                *const b = at.data() + 2 * mesh.edges.data()[2 * e + 1];
            return std::hypot(b[0] - a[0], b[1] - a[1]);
        };
        error = std::max(error, std::abs(length(x) / length(mesh.rest) - 1));
    }
    std::printf("edges are wrong by %.1e; start.svg and flat.svg are in %s\n", error,
        settings.output.c_str());
    if (std::abs(per_area - 4) < 1e-10 && error < 1e-6) return 0;
    std::fputs("error: the mesh did not get its shape at rest\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return run(Settings(argc, argv)); });
}

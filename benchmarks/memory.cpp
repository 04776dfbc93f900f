// Memory of the program: construction from xtensor's arrays and assignment to one, beside memcpy.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "table.hpp"

#include <xgrad/xgrad.hpp>

#if __has_include(<xtensor/views/xview.hpp>)
#    include <xtensor/containers/xarray.hpp>
#    include <xtensor/generators/xrandom.hpp>
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xarray.hpp>
#    include <xtensor/xrandom.hpp>
#    include <xtensor/xview.hpp>
#endif

namespace xg = xgrad;
using D = xg::Tensor<double>;

int main(int argc, char** argv) {
    std::size_t const side = 512, n = side * side;
    xt::xarray<double> const rows = xt::random::rand<double>({side, side}),
                             wide = xt::random::rand<double>({side, 2 * side});
    xt::xarray<double, xt::layout_type::column_major> const columns = rows;
    std::vector<double> to(n);
    D assigned = xg::zeros({512, 512});
    auto const copy = [&] {
        std::memcpy(to.data(), rows.data(), n * sizeof(double));
        return to[n / 2];
    };
    auto const row = [&](char const* name, double at_most, auto const& f) {
        bench::Case(name, n).xgrad(f).at_most(at_most).peer("memcpy", copy);
    };
    row("Tensor(xarray), row-major", 1.3, [&] { return D(rows).data()[n / 2]; });
    row("Tensor(xarray), column-major", 2.5, [&] { return D(columns).data()[n / 2]; });
    row("Tensor(view), every second column", 2.5,
        [&] { return D(xt::view(wide, xt::all(), xt::range(0, 2 * side, 2))).data()[n / 2]; });
    row("x.mutable_array() = xarray", 1.3, [&] {
        assigned.mutable_array() = rows;
        return assigned.data()[n / 2];
    });
    return bench::run(argc, argv);
}

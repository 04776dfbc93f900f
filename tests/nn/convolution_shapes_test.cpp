// Convolutions of many shapes, and both gradients, against sums written out: strides, padding,
// dilation, groups, images of which some rows are taken at a time, and those so small that several
// lie side by side.
#include <limits>

#include "nn/waves.hpp"

namespace f = xg::nn::functional;

namespace {

struct Geometry {
    std::size_t batch, channels, height, width, out_channels, rows, columns;
    xg::nn::ConvOptions<2> o = {};
};

template <class T> T number(std::size_t i, double k) {
    double const at = k * static_cast<double>(i) + k;
    if constexpr (xg::detail::is_complex<T>)
        return T(static_cast<typename T::value_type>(std::sin(at)),
            static_cast<typename T::value_type>(std::cos(1.7 * at)));
    else return static_cast<T>(std::sin(at));
}
template <class T> xg::Tensor<T> numbers(xg::Shape const& shape, double k) {
    xg::Tensor<T> t = xg::zeros<T>(shape);
    for (std::size_t i = 0; i < t.numel(); ++i) t.mutable_data()[i] = number<T>(i, k);
    return t;
}
template <class T> T conj_of(T z) {
    if constexpr (xg::detail::is_complex<T>) return std::conj(z);
    else return z;
}

/// Calls f(index in input, index in weight, index in output) for each multiplication of a
/// convolution.
template <class F>
void each_product(Geometry const& g, std::size_t out_height, std::size_t out_width, F visit) {
    auto const at = [](xg::nn::PerAxis<2> const& option, std::size_t axis) {
        return static_cast<std::size_t>(option.along[axis]);
    };
    std::size_t const depth = g.channels / g.o.groups, of_group = g.out_channels / g.o.groups;
    for (std::size_t n = 0; n < g.batch; ++n)
        for (std::size_t o = 0; o < g.out_channels; ++o)
            for (std::size_t r = 0; r < out_height; ++r)
                for (std::size_t q = 0; q < out_width; ++q)
                    for (std::size_t c = 0; c < depth; ++c)
                        for (std::size_t i = 0; i < g.rows; ++i)
                            for (std::size_t j = 0; j < g.columns; ++j) {
                                std::size_t const h = r * at(g.o.stride, 0) +
                                                      i * at(g.o.dilation, 0) - at(g.o.padding, 0),
                                                  w = q * at(g.o.stride, 1) +
                                                      j * at(g.o.dilation, 1) - at(g.o.padding, 1);
                                if (h < g.height && w < g.width)
                                    visit(((n * g.channels + o / of_group * depth + c) * g.height +
                                              h) * g.width +
                                              w,
                                        ((o * depth + c) * g.rows + i) * g.columns + j,
                                        ((n * g.out_channels + o) * out_height + r) * out_width +
                                            q);
                            }
}

template <class T> void check(Geometry const& g, double tolerance) {
    CAPTURE(g.channels);
    CAPTURE(g.height);
    CAPTURE(g.o.groups);
    auto x = numbers<T>({g.batch, g.channels, g.height, g.width}, 0.37),
         w = numbers<T>({g.out_channels, g.channels / g.o.groups, g.rows, g.columns}, 0.53);
    x.requires_grad_();
    w.requires_grad_();
    xg::Tensor<T> const y = f::conv2d(x, w, {}, g.o);
    auto const gradient = numbers<T>(y.shape(), 0.71);
    y.backward(gradient);
    auto wanted = xg::zeros<T>(y.shape()), of_x = xg::zeros<T>(x.shape()),
         of_w = xg::zeros<T>(w.shape());
    each_product(g, y.shape()[2], y.shape()[3],
        [&](std::size_t image, std::size_t filter, std::size_t product) {
            wanted.mutable_data()[product] += x.data()[image] * w.data()[filter];
            of_x.mutable_data()[image] += gradient.data()[product] * conj_of(w.data()[filter]);
            of_w.mutable_data()[filter] += gradient.data()[product] * conj_of(x.data()[image]);
        });
    CHECK(difference(y, wanted, tolerance) == "");
    CHECK(difference(x.grad(), of_x, tolerance) == "");
    CHECK(difference(w.grad(), of_w, tolerance) == "");

    // the transpose has the same sums, the other way round
    auto const& extents = x.shape();
    auto const more = [&](std::size_t axis, std::size_t windows, std::size_t kernel) {
        return static_cast<std::ptrdiff_t>(extents[axis + 2]) + 2 * g.o.padding.along[axis] -
               (static_cast<std::ptrdiff_t>(windows) - 1) * g.o.stride.along[axis] -
               g.o.dilation.along[axis] * (static_cast<std::ptrdiff_t>(kernel) - 1) - 1;
    };
    xg::nn::PerAxis<2> const output_padding{
        more(0, y.shape()[2], g.rows), more(1, y.shape()[3], g.columns)};
    auto const fits = [&](std::size_t axis) {
        return output_padding.along[axis] <
               std::max(g.o.stride.along[axis], g.o.dilation.along[axis]);
    };
    if (!fits(0) || !fits(1)) return;
    auto of_y = xg::zeros<T>(x.shape());
    each_product(g, y.shape()[2], y.shape()[3],
        [&](std::size_t image, std::size_t filter, std::size_t product) {
            of_y.mutable_data()[image] += gradient.data()[product] * w.data()[filter];
        });
    xg::Tensor<T> const bias = numbers<T>({g.channels}, 0.9);
    xg::Tensor<T> const back = f::conv_transpose2d(gradient, w, bias,
        {.stride = g.o.stride,
            .padding = g.o.padding,
            .output_padding = output_padding,
            .groups = g.o.groups,
            .dilation = g.o.dilation});
    CHECK(difference(back,
              xg::Tensor<T>(of_y + reshape(bias, {static_cast<std::ptrdiff_t>(g.channels), 1, 1})),
              tolerance) == "");
}

std::vector<Geometry> geometries() {
    return {
        {2, 3, 9, 8, 5, 3, 2},
        {1, 1, 1, 1, 1, 1, 1},
        {3, 4, 6, 7, 9, 3, 3, {.padding = 1}},
        {2, 4, 7, 11, 6, 3, 3, {.stride = 2, .padding = 1}},
        {2, 3, 12, 10, 4, 3, 2, {.stride = {2, 3}, .padding = {2, 0}, .dilation = {1, 2}}},
        {1, 2, 9, 13, 3, 2, 3, {.stride = {3, 2}, .padding = {1, 2}, .dilation = {3, 2}}},
        {2, 2, 8, 8, 3, 1, 1, {.stride = 3}}, // pixels that no window sees
        {2, 2, 5, 6, 3, 2, 2, {.stride = 4, .padding = 1}},
        {2, 6, 6, 6, 12, 3, 3, {.padding = 2, .groups = 3}},
        {3, 5, 9, 20, 5, 3, 3, {.padding = 1, .groups = 5}}, // depthwise
        {2, 3, 17, 19, 3, 5, 3, {.stride = 2, .padding = {2, 1}, .groups = 3}},
        {2, 4, 10, 33, 1, 3, 3, {.padding = 1}}, // one filter
        {5, 3, 4, 4, 17, 4, 4},                  // one window, which sees all
        {3, 4, 3, 2, 6, 3, 2, {.groups = 2}},
        {40, 3, 2, 3, 5, 2, 2, {.padding = 1}}, // several samples at a time
        {19, 2, 5, 5, 3, 5, 5, {.padding = {0, 1}}},
        {21, 2, 4, 5, 3, 3, 3, {.stride = 2, .padding = 1}},
        {2, 70, 3, 3, 3, 3, 3, {.padding = 1}},    // several blocks of channels
        {1, 24, 90, 100, 2, 3, 3, {.padding = 1}}, // several tiles of rows
        {1, 3, 300, 150, 2, 2, 3, {.stride = {2, 1}, .dilation = {3, 1}}},
        {2, 2, 3, 200, 2, 2, 3, {.padding = {3, 4}}},
        {1, 1, 1, 1, 1, 3, 3,
            {.stride = 2, .padding = 1}}, // no pixel for some numbers of the filter
        {2, 2, 5, 2, 3, 3, 4, {.stride = {1, 5}, .padding = {0, 2}}},
        {1, 2, 4, 4, 2, 2, 3, {.stride = 1 << 20}},
        {1, 40, 4, 3000, 3, 3, 5, {.padding = {1, 2}}}, // several tiles of columns
        {1, 33, 3, 4001, 2, 3, 4, {.stride = {1, 2}, .padding = {1, 3}, .dilation = {1, 3}}},
        {1, 64, 1, 9001, 1, 1, 3, {.padding = {0, 1}}},
        {0, 2, 3, 4, 3, 2, 2},
    };
}

} // namespace

TEST_CASE("convolutions of real numbers are the sums written out") {
    for (auto const& g : geometries()) check<double>(g, 1e-12);
}
TEST_CASE("convolutions of float are the sums written out") {
    for (auto const& g : geometries()) check<float>(g, 1e-4);
}
TEST_CASE("convolutions of complex numbers are the sums written out") {
    for (auto const& g : geometries()) check<std::complex<double>>(g, 1e-12);
}

TEST_CASE("several threads compute the same convolution to the last bit") {
    auto const run = [](std::size_t threads) {
        xg::set_num_threads(threads);
        D x = wave({3, 70, 9, 10}, 1), w = wave({4, 35, 3, 3}, 1.3);
        x.requires_grad_();
        w.requires_grad_();
        D const y = f::conv2d(x, w, {}, {.padding = 1, .groups = 2});
        sum(square(y)).backward();
        xg::set_num_threads(1);
        return std::tuple(y, x.grad(), w.grad());
    };
    auto const one = run(1), four = run(4);
    CHECK(values(std::get<0>(one)) == values(std::get<0>(four)));
    CHECK(values(std::get<1>(one)) == values(std::get<1>(four)));
    CHECK(values(std::get<2>(one)) == values(std::get<2>(four)));
}

TEST_CASE("sums of float over many windows keep their digits") {
    for (std::size_t const out_channels : {1u, 2u}) {
        xg::Tensor<float> x = xg::full({2, 1, 1000, 1001}, 1.1f),
                          w = xg::ones<float>({out_channels, 1, 1, 2}, xg::requires_grad);
        sum(f::conv2d(x, w)).backward();
        for (float const v : values(w.grad()))
            CHECK(std::abs(v / (2e6 * 1.1f) - 1) <=
                  5e-5); // one after another they would come to 1 % more
    }
}

TEST_CASE("an infinite pixel reaches only what windows on it touch") {
    for (std::size_t const groups : {1u, 2u}) {
        D x = wave({1, 2, 5, 21}, 1), w = wave({2, 2 / groups, 3, 3}, 1.3);
        x.mutable_data()[0] = std::numeric_limits<double>::infinity();
        x.requires_grad_();
        w.requires_grad_();
        D const y = f::conv2d(x, w, {}, {.groups = groups});
        y.backward(D(xg::full(y.shape(), 1.)));
        std::size_t not_finite = 0;
        for (double const v : values(y)) not_finite += !std::isfinite(v);
        CHECK(not_finite == (groups == 1 ? 2 : 1));
        not_finite = 0;
        for (double const v : values(w.grad())) not_finite += !std::isfinite(v);
        CHECK(not_finite == (groups == 1 ? 2 : 1));
        for (double const v : values(x.grad())) CHECK(std::isfinite(v));
    }
}

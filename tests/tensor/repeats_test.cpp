// Numbers, rows and columns beside tensors, against the same expressions of tensors of the full
// shape.
#include "tensor/compare.hpp"

namespace {

template <class T> xg::Tensor<T> numbers(xg::Shape const& shape, double k) {
    xg::Tensor<T> t = xg::zeros<T>(shape);
    for (std::size_t i = 0; i < t.numel(); ++i) {
        double const at = k * static_cast<double>(i) + k, re = std::sin(at),
                     im = std::cos(1.3 * at);
        if constexpr (xg::detail::is_complex<T>)
            t.mutable_data()[i] =
                T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
        else t.mutable_data()[i] = static_cast<T>(re);
    }
    return t.requires_grad_();
}
/// A leaf with the shape of the result, in which each element is written out.
template <class T> xg::Tensor<T> written_out(xg::Tensor<T> const& t, xg::Shape const& shape) {
    xg::Tensor<T> wide = xg::Tensor<T>(xg::broadcast_to(t.detach(), shape)).clone();
    return wide.requires_grad_();
}

/// Values and gradients of f for what repeats, and for what is written out.
template <class T, class F>
void check(std::vector<xg::Shape> const& shapes, xg::Shape const& space, double tolerance, F f) {
    CAPTURE(space.back());
    CAPTURE(shapes[1].size());
    std::vector<xg::Tensor<T>> small, wide;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        small.push_back(numbers<T>(shapes[k], 0.31 + 0.17 * static_cast<double>(k)));
        wide.push_back(written_out(small.back(), space));
    }
    xg::Tensor<T> const got = f(small[0], small[1], small[2]),
                        wanted = f(wide[0], wide[1], wide[2]);
    CHECK(difference(wanted, got, tolerance) == "");
    auto const seed = numbers<T>(space, 0.77).detach();
    for (bool const summed : {false, true}) {
        for (auto* all : {&small, &wide}) {
            for (auto& t : *all) t.zero_grad();
            auto const y = f((*all)[0], (*all)[1], (*all)[2]);
            if (summed) sum(y).backward(xg::Tensor<T>(T(1)));
            else xg::Tensor<T>(y).backward(seed);
        }
        for (std::size_t k = 0; k < shapes.size(); ++k) {
            xg::Shape padded(space.size() - shapes[k].size(), 1);
            for (std::size_t const n : shapes[k]) padded.push_back(n);
            std::vector<std::ptrdiff_t> axes;
            for (std::size_t d = 0; d < space.size(); ++d)
                if (padded[d] != space[d]) axes.push_back(static_cast<std::ptrdiff_t>(d));
            xg::Tensor<T> of_small = wide[k].grad();
            if (!axes.empty()) of_small = xg::Tensor<T>(sum(of_small, axes));
            CHECK(difference(xg::Tensor<T>(reshape(small[k].grad(), {-1})),
                      xg::Tensor<T>(reshape(of_small, {-1})), tolerance) == "");
        }
    }
}

std::vector<std::pair<std::vector<xg::Shape>, xg::Shape>> cases() {
    return {
        {{{7, 5}, {5}, {}}, {7, 5}},
        {{{7, 5}, {7, 1}, {1, 5}}, {7, 5}},
        {{{3, 4, 6}, {4, 6}, {6}}, {3, 4, 6}},
        {{{3, 4, 6}, {3, 1, 1}, {4, 6}}, {3, 4, 6}},
        {{{3, 4, 6}, {3, 4, 1}, {6}}, {3, 4, 6}},
        {{{3, 4, 6}, {3, 4, 1}, {3, 1, 1}}, {3, 4, 6}}, // columns of two kinds
        {{{3, 4, 6}, {3, 1, 6}, {1, 4, 1}}, {3, 4, 6}}, // neither rows nor columns
        {{{64, 64}, {64}, {64, 1}}, {64, 64}},
        {{{31, 33}, {33}, {31, 1}}, {31, 33}},
        {{{5, 700}, {700}, {5, 1}}, {5, 700}},    // a row is more than a block holds
        {{{3, 5000}, {5000}, {3, 1}}, {3, 5000}}, // and more than the loop takes
        {{{900, 3}, {1, 3}, {900, 1}}, {900, 3}},
        {{{1, 9}, {9}, {1}}, {1, 9}},
        {{{9, 1}, {9, 1}, {1, 1}}, {9, 1}},
        {{{2, 0}, {0}, {2, 1}}, {2, 0}},
    };
}

template <class T> void check_all(double tolerance) {
    for (auto const& [shapes, space] : cases()) {
        check<T>(shapes, space, tolerance,
            [](auto const& a, auto const& b, auto const& c) { return a * b + exp(c) * a; });
        check<T>(shapes, space, tolerance,
            [](auto const& a, auto const& b, auto const& c) { return (a - b) / (2 + c * c) + b; });
        check<T>(shapes, space, tolerance,
            [](auto const& a, auto const& b, auto const& c) { return a + b - c; });
        check<T>(shapes, space, tolerance,
            [](auto const& a, auto const& b, auto const& c) { return exp(a * b * c); });
    }
}

} // namespace

TEST_CASE("what repeats is as good as written out, real") {
    check_all<double>(1e-12);
    check_all<float>(1e-4);
}
TEST_CASE("what repeats may be frozen, stand at several places, and be differentiated again") {
    D const a = numbers<double>({6, 5}, 0.3), row = numbers<double>({5}, 0.5),
            column = numbers<double>({6, 1}, 0.7);
    auto const close = [](D const& got, D const& wanted) { CHECK(difference(got, wanted) == ""); };
    D const frozen = a.detach(), frozen_row = row.detach(), frozen_column = column.detach();
    close(xg::grad(sum(frozen * row + frozen_column), row), sum(frozen, {0}));
    close(xg::grad(sum(frozen * frozen_row * column), column),
        sum(frozen * frozen_row, {1}, xg::keepdims));
    close(xg::grad(sum(a * frozen_row + frozen_column), a), D(xg::zeros({6, 5}) + frozen_row));
    D const twice = square(row) * a + row * column + row;
    close(xg::grad(twice, row, {.gradients = {xg::ones({6, 5})}}),
        D(2 * row * sum(a, {0}) + sum(column) + 6.));
    D const mean_of_all = mean(exp(a) * row + column);
    close(xg::grad(mean_of_all, row, {.retain_graph = true}), D(sum(exp(a), {0}) / 30.));
    close(xg::grad(mean_of_all, column), D(xg::full({6, 1}, 1. / 6)));
    D const first = xg::grad(sum(a * square(row)), row, {.create_graph = true});
    close(xg::grad(sum(first), row), D(2 * sum(a, {0})));
}
TEST_CASE("what repeats is as good as written out, complex") {
    check_all<std::complex<double>>(1e-12);
    check_all<std::complex<float>>(1e-4);
}

// A full sum reads its operands in one pass, whatever their layout.
#include "walk.hpp"

namespace {

using Shape = xg::Shape;

/// A leaf and a window on it whose axes are in another order.
template <class T> struct Window {
    xg::Tensor<T> leaf, view;
    Shape steps; // elements of the leaf from one element of the window to the next; 0 where that is
                 // repeated

    Window(Shape const& space, std::vector<std::ptrdiff_t> const& order,
        std::vector<bool> const& repeated) {
        Shape shape(space.size());
        for (std::size_t d = 0; d < space.size(); ++d)
            shape[static_cast<std::size_t>(order[d])] = repeated[d] ? 1 : space[d];
        leaf = xg::zeros<T>(shape);
        for (std::size_t i = 0; i < leaf.numel(); ++i)
            leaf.mutable_data()[i] = static_cast<T>(0.5 + 0.25 * static_cast<double>((7 * i) % 11));
        leaf.requires_grad_();
        view = permute(leaf, xg::Axes(order));
        for (std::size_t d = 0; d < space.size(); ++d)
            steps.push_back(repeated[d] ? 0 : static_cast<std::size_t>(view.strides()[d]));
    }
};

/// Value and gradients of sum(x*x*y) against a loop over all indices.
template <class A, class B> void check(Shape const& space, Window<A> const& x, Window<B> const& y) {
    auto const loss = sum(x.view * x.view * y.view);
    loss.backward();
    std::vector<double> gx(x.leaf.numel()), gy(y.leaf.numel());
    double value = 0;
    Shape index(space.size(), 0);
    for (std::size_t i = 0, n = xg::numel(space); i < n; ++i) {
        std::size_t at_x = 0, at_y = 0;
        for (std::size_t d = 0, left = i; d < space.size(); ++d) {
            std::size_t const below = xg::numel(Shape(space.begin() + d + 1, space.end()));
            at_x += left / below * x.steps[d];
            at_y += left / below * y.steps[d];
            left %= below;
        }
        double const u = x.leaf.data()[at_x], v = y.leaf.data()[at_y];
        value += u * u * v;
        gx[at_x] += 2 * u * v;
        gy[at_y] += u * u;
    }
    double worst = std::abs(static_cast<double>(loss.item()) / value - 1);
    for (std::size_t i = 0; i < gx.size(); ++i)
        worst = std::max(worst, std::abs(x.leaf.grad().data()[i] / gx[i] - 1));
    for (std::size_t i = 0; i < gy.size(); ++i)
        worst = std::max(worst, std::abs(y.leaf.grad().data()[i] / gy[i] - 1));
    CHECK(worst < 1e-6);
}

} // namespace

TEST_CASE("value and gradients of a full sum are right for transposed and broadcast operands") {
    for (Shape const& space :
        {Shape{5, 7}, Shape{8, 128}, Shape{13, 150}, Shape{16, 300}, Shape{200, 9}}) {
        CAPTURE(xg::detail::message_of({space}));
        check(space, Window<double>(space, {1, 0}, {false, false}),
            Window<double>(space, {0, 1}, {false, false}));
        check(space, Window<double>(space, {1, 0}, {false, false}),
            Window<float>(space, {1, 0}, {false, false}));
        check(space, Window<float>(space, {1, 0}, {false, false}),
            Window<float>(space, {0, 1}, {false, false}));
        check(space, Window<double>(space, {1, 0}, {false, false}),
            Window<double>(space, {0, 1}, {true, false}));
        check(space, Window<double>(space, {0, 1}, {false, true}),
            Window<double>(space, {1, 0}, {false, false}));
        check(space, Window<float>(space, {0, 1}, {true, true}),
            Window<float>(space, {0, 1}, {false, false}));
    }
    for (Shape const& space : {Shape{3, 9, 140}, Shape{4, 17, 5}}) {
        CAPTURE(xg::detail::message_of({space}));
        check(space, Window<double>(space, {0, 2, 1}, {false, false, false}),
            Window<double>(space, {2, 0, 1}, {false, false, false}));
        check(space, Window<double>(space, {2, 1, 0}, {false, true, false}),
            Window<double>(space, {1, 2, 0}, {false, false, false}));
    }
}

TEST_CASE("operands in one other order than row-major are evaluated, copied and differentiated in "
          "theirs") {
    for (Shape const& space : {Shape{13, 150}, Shape{16, 256}}) {
        Window<double> const x(space, {1, 0}, {false, false});
        D const y = exp(x.view), copy = transpose(y).clone();
        sum(copy * copy).backward();
        double worst = 0;
        for (std::size_t i = 0; i < x.leaf.numel(); ++i) {
            double const v = std::exp(x.leaf.data()[i]);
            worst = std::max(worst, std::abs(x.leaf.grad().data()[i] / (2 * v * v) - 1));
        }
        CHECK(worst < 1e-13);
    }
}

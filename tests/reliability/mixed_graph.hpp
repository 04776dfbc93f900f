// One graph of everything: fused expressions, real and complex, a matrix product, sums over axes,
// cat, slices, a change in place through a view, results that are saved; and its gradients.
#pragma once

#include "tensor/compare.hpp"

struct LeafTensors {
    D x{D({{0.5, -1., 1.5}, {2., 0.25, -0.75}}, xg::requires_grad)};
    D w{D({{0.25, 0.5}, {-0.5, 1.}, {0.75, -0.25}}, xg::requires_grad)};
    D b{D({0.125, -0.5}, xg::requires_grad)};
    Z z{Z({{0.5, 0.25}, {-0.25, 1.}}, xg::requires_grad)};

    bool untouched() const { return x.version() + w.version() + b.version() + z.version() == 0; }
    void zero_grad() {
        x.zero_grad();
        w.zero_grad();
        b.zero_grad();
        z.zero_grad();
    }
};

struct Steps {
    D h, a, buffer, row, joined;
    Z e;
    D loss;
};

inline Steps record(LeafTensors const& leaf) {
    Steps s;
    s.h = matmul(leaf.x, leaf.w);
    s.a = tanh(s.h + leaf.b);
    s.buffer = leaf.x * 2.;
    s.row = s.buffer(1);
    s.row *= leaf.x(0) + 3.;
    s.joined = xg::cat<double>({s.a, s.buffer(xt::all(), xg::slice(0, 2))}, 1);
    s.e = exp(leaf.z * complex<double>(0.5, -1.)) * conj(leaf.z);
    D const columns = sum(s.joined * s.joined, {0}, true), grown = exp(s.buffer * 0.125),
            products = matmul(transpose(s.a), tanh(s.h));
    D const differences = s.h(0) - s.h(1), squares = matmul(products, transpose(products));
    D const mixed = matmul(transpose(s.joined), squares), last = tanh(mixed * 0.125) * s.h(0);
    s.loss = sum(last) + sum(columns * s.joined) + sum(abs2(s.e)) * 0.5 +
             sum(grown / (leaf.b(0) + 4.)) + sum(products * products) + sum(squares * differences) +
             sum(square(matmul(s.a, s.h(xt::all(), 1))));
    return s;
}

struct Gradients4 {
    D x, w, b;
    Z z;
};

inline Gradients4 gradients(LeafTensors const& leaf) {
    auto const s = record(leaf);
    auto [x, w, b, z] = grad(s.loss, xg::inputs(leaf.x, leaf.w, leaf.b, leaf.z));
    return {x, w, b, z};
}

template <class T> bool same(xg::Tensor<T> const& a, xg::Tensor<T> const& b) {
    return a.defined() && a.shape() == b.shape() &&
           std::equal(a.data(), a.data() + a.numel(), b.data());
}
inline bool same(Gradients4 const& a, Gradients4 const& b) {
    return same(a.x, b.x) && same(a.w, b.w) && same(a.b, b.b) && same(a.z, b.z);
}

/// The same numbers. Where the compiler contracts products and sums (FMA), two kernels may
/// differ in the last bits.
template <class T> bool agrees(xg::Tensor<T> const& a, xg::Tensor<T> const& b) {
#ifdef __FMA__
    return a.defined() && a.shape() == b.shape() &&
           std::equal(a.data(), a.data() + a.numel(), b.data(),
               [](T u, T v) { return std::abs(u - v) <= 8e-16 * (std::abs(u) + std::abs(v)); });
#else
    return same(a, b);
#endif
}
inline bool agrees(Gradients4 const& a, Gradients4 const& b) {
    return agrees(a.x, b.x) && agrees(a.w, b.w) && agrees(a.b, b.b) && agrees(a.z, b.z);
}

/// True where each leaf has the whole gradient `right`, or none.
inline bool whole_or_none(LeafTensors const& leaf, Gradients4 const& right) {
    auto const fits = [](auto const& t, auto const& g) {
        return !t.grad().defined() || same(t.grad(), g);
    };
    return fits(leaf.x, right.x) && fits(leaf.w, right.w) && fits(leaf.b, right.b) &&
           fits(leaf.z, right.z);
}
inline bool complete(LeafTensors const& leaf, Gradients4 const& right) {
    return same(leaf.x.grad(), right.x) && same(leaf.w.grad(), right.w) &&
           same(leaf.b.grad(), right.b) && same(leaf.z.grad(), right.z);
}

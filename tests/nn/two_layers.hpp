// Two linear layers of one number each, of which the second is squared: small enough to be computed
// by hand.
#pragma once

#include <xgrad/nn/module.hpp>

#include "tensor/compare.hpp"

namespace nn = xg::nn;
using Gradients = std::vector<xg::AnyTensor>;

template <class T> struct Affine : nn::Module<Affine<T>> {
    nn::Parameter<T> weight, bias;
    Affine(T w, T b) : weight(*this, "weight", {{w}}), bias(*this, "bias", {b}) {}
    xg::Tensor<T> forward(xg::Tensor<T> const& x) const { return matmul(x, weight) + bias; }
};
template <class T> struct SquaredAffine : nn::Module<SquaredAffine<T>> {
    nn::Parameter<T> weight, bias;
    SquaredAffine(T w, T b) : weight(*this, "weight", {{w}}), bias(*this, "bias", {b}) {}
    xg::Tensor<T> forward(xg::Tensor<T> const& x) const {
        xg::Tensor<T> const s = matmul(x, weight) + bias;
        return square(s);
    }
};
template <class T> struct TwoLayers : nn::Module<TwoLayers<T>> {
    nn::Child<Affine<T>> f0{*this, "f0", T(.3), T(.1)};
    nn::Child<SquaredAffine<T>> f1{*this, "f1", T(.4), T(.2)};
    xg::Tensor<T> forward(xg::Tensor<T> const& x) { return f1(f0(x)); }
};

/// Collects warnings while it lives.
struct Warnings {
    std::vector<std::string> texts;
    xg::WarningHandler before =
        xg::set_warning_handler([this](std::string const& text) { texts.push_back(text); });
    Warnings() = default;
    Warnings(Warnings const&) = delete;
    ~Warnings() { xg::set_warning_handler(before); }
};

template <class T> double number(xg::AnyTensor const& t) {
    return static_cast<double>(t.as<T>().item());
}

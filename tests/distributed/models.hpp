// What the tests of data parallel training share: models, their input, and the gradients of one
// process on the whole batch.
#pragma once

#include <doctest/doctest.h>

#include <complex>
#include <string>
#include <vector>

#include "group.hpp"

#include <xgrad/optim.hpp>

namespace models {

namespace xg = xgrad;
namespace nn = xg::nn;
namespace dist = xg::distributed;
using D = xg::Tensor<double>;
using Complex = std::complex<double>;
using C = xg::Tensor<Complex>;
using Labels = xg::Tensor<std::int64_t>;

/// Twelve inputs, which 1 to 4 ranks share equally. All ranks have the same.
struct ConvNet : nn::Module<ConvNet> {
    nn::Child<nn::Conv2d<double>> first{*this, "first", 1, 4, 3}, second{*this, "second", 4, 6, 3};
    nn::Child<nn::Linear<double>> last{*this, "last", 24, 5};

    D forward(D const& x) {
        D const a = relu(first(x)), b = tanh(second(a));
        return last(nn::functional::flatten(b));
    }
    static D input() {
        xg::manual_seed(11);
        return xg::randn<double>({12, 1, 6, 6});
    }
    template <class Net> static D loss(Net& net, D const& x) {
        auto const labels = Labels::empty({x.shape(0)});
        for (std::size_t i = 0; i < labels.numel(); ++i)
            labels.array_of().begin()[i] =
                static_cast<std::int64_t>(3 * std::abs(x.data()[36 * i])) % 5;
        return nn::functional::cross_entropy(net(x), labels);
    }
};

struct LstmNet : nn::Module<LstmNet> {
    nn::Child<nn::LSTM<double>> lstm{
        *this, "lstm", 3, 5, nn::RecurrentOptions{.num_layers = 2, .batch_first = true}};
    nn::Child<nn::Linear<double>> last{*this, "last", 5, 2};

    D forward(D const& x) { return last(std::get<0>(lstm(x))); }
    static D input() {
        xg::manual_seed(12);
        return xg::randn<double>({12, 4, 3});
    }
    template <class Net> static D loss(Net& net, D const& x) { return mean(square(net(x) - 1.)); }
};

/// Complex parameters of a hidden layer, and real ones after it.
struct ComplexNet : nn::Module<ComplexNet> {
    nn::Child<nn::Linear<Complex>> hidden{*this, "hidden", 4, 6};
    nn::Child<nn::Linear<double>> last{*this, "last", 6, 2};
    nn::Parameter<Complex> phase{*this, "phase", C({Complex(0.5, 0.5)})};

    D forward(C const& x) {
        D const power = abs2(hidden(x) * phase);
        return last(power);
    }
    static C input() {
        xg::manual_seed(13);
        return xg::randn<Complex>({12, 4});
    }
    template <class Net> static D loss(Net& net, C const& x) { return mean(square(net(x) - 0.5)); }
};

/// The rows of this rank.
template <class T> T part_of(T const& x, dist::ProcessGroup const& group) {
    auto const rows = static_cast<std::ptrdiff_t>(x.shape(0)) / group.size(),
               begin = group.rank() * rows;
    return x(xg::slice(begin, begin + rows)).clone();
}

inline double largest_difference(xg::AnyTensor const& a, xg::AnyTensor const& b) {
    return xg::detail::with_type(a, [&]<xg::Scalar T>(xg::Tensor<T> const& x) -> double {
        if constexpr (xg::Differentiable<T>)
            return static_cast<double>(amax(abs(x - b.as<T>())).item());
        else return 1e300;
    });
}

inline xg::AnyTensor grad_of(xg::AnyTensor const& parameter) {
    return xg::AnyTensor(parameter.impl().grad);
}

/// True where all gradients are as good as those of the same parameters of another module.
inline void check_gradients(
    nn::AnyModule const& module, nn::AnyModule const& reference, double bound) {
    auto const a = module.named_parameters(), b = reference.named_parameters();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(a[i].name);
        REQUIRE(grad_of(a[i].tensor).defined());
        REQUIRE(grad_of(b[i].tensor).defined());
        CHECK(largest_difference(grad_of(a[i].tensor), grad_of(b[i].tensor)) <= bound);
    }
}

template <class F> std::string message_of(F f) {
    try {
        f();
    } catch (std::exception const& e) { return e.what(); }
    return "no error";
}

inline bool contains(std::string const& text, std::string_view part) {
    return text.find(part) != text.npos;
}

} // namespace models

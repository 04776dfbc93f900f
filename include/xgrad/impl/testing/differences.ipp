// Bodies of differences.hpp.
#pragma once

#include <xgrad/testing/differences.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::complex<double> number_at(AnyTensor const& t, std::size_t i) {
    return with_reals(t, [&](auto const* x, std::size_t n) {
        return n == t.numel() ? std::complex<double>(x[i])
                              : std::complex<double>(x[2 * i], x[2 * i + 1]);
    });
}

XGRAD_FUNCTION void set_element(AnyTensor const& t, std::size_t i, std::complex<double> value) {
    with_reals(t, [&]<class P>(P* x, std::size_t n) {
        bool const pairs = n != t.numel();
        x[pairs ? 2 * i : i] = static_cast<P>(value.real());
        if (pairs) x[2 * i + 1] = static_cast<P>(value.imag());
    });
}

XGRAD_FUNCTION Numbers numbers_of(AnyTensor const& t, std::size_t count) {
    Numbers all(count);
    if (!t.defined()) return all;
    auto const row_major = t.impl().type->copy(alias(t));
    for (std::size_t i = 0; i < count; ++i) all[i] = number_at(row_major, i);
    return all;
}

XGRAD_FUNCTION Tensors leaves_like(Tensors const& x, bool own_memory) {
    NoGradGuard const off;
    Tensors leaves;
    for (auto const& t : x) {
        leaves.push_back(own_memory || t.is_inference() ? t.impl().type->copy(alias(t)) : alias(t));
        leaves.back().impl().requires_grad = t.requires_grad();
    }
    return leaves;
}

XGRAD_FUNCTION Tensors differentiable_outputs(Tensors y) {
    std::erase_if(y, [](AnyTensor const& t) { return !t.requires_grad(); });
    return y;
}

XGRAD_FUNCTION Differences::Differences(TensorFunction const& f, Tensors const& at,
    std::size_t input, Tensors const& outputs, double eps) {
    auto const x = leaves_like(at, true);
    auto const directions = xgrad::is_complex(x[input].dtype()) ? Numbers{1, {0, 1}} : Numbers{1};
    for (std::size_t i = 0; i < x[input].numel(); ++i) {
        auto const keep = number_at(x[input], i);
        auto& along = along_.emplace_back();
        for (auto const direction : directions) {
            auto const value = [&](double step) {
                set_element(x[input], i, keep + step * direction);
                return evaluated(f, x, outputs);
            };
            auto const above = value(eps), below = value(-eps);
            auto& difference = along.emplace_back(above);
            for (std::size_t k = 0; k < difference.size(); ++k)
                for (std::size_t j = 0; j < difference[k].size(); ++j)
                    difference[k][j] = (difference[k][j] - below[k][j]) / (2 * eps);
        }
        set_element(x[input], i, keep);
    }
}

XGRAD_FUNCTION Numbers Differences::gradient(JacobianRow const& row) const {
    Numbers g;
    for (auto const& along : along_) {
        auto const part = [&](std::size_t direction) {
            auto const z = along[direction][row.output][row.element];
            return row.imaginary ? z.imag() : z.real();
        };
        g.emplace_back(part(0), along.size() > 1 ? part(1) : 0.);
    }
    return g;
}

XGRAD_FUNCTION std::vector<Numbers> Differences::evaluated(
    TensorFunction const& f, Tensors const& x, Tensors const& like) {
    auto const y = differentiable_outputs(f(x));
    if (y.size() != like.size())
        fail<GraphError>("gradcheck: the function has ", like.size(),
            " differentiable outputs, and ", y.size(), " where an input is a little different");
    std::vector<Numbers> all;
    for (std::size_t k = 0; k < y.size(); ++k) {
        if (y[k].shape() != like[k].shape() || y[k].dtype() != like[k].dtype())
            fail<GraphError>("gradcheck: output ", k, " of the function is ", describe(like[k]),
                ", and ", describe(y[k]), " where an input is a little different");
        all.push_back(numbers_of(y[k], y[k].numel()));
    }
    return all;
}

} // namespace xgrad::detail

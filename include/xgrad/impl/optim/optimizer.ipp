// Bodies of optimizer.hpp.
#pragma once

#include <xgrad/optim/optimizer.hpp>

namespace xgrad::optim {

XGRAD_FUNCTION void Optimizer::zero_grad() {
    for (std::size_t k = 0; k < group_count(); ++k)
        for (auto const& p : parameters(k)) p.impl().grad = nullptr;
}

XGRAD_FUNCTION double Optimizer::initial_lr(std::size_t group) {
    while (initial_lr_.size() <= group) initial_lr_.push_back(lr(initial_lr_.size()));
    return initial_lr_[group];
}

} // namespace xgrad::optim

namespace xgrad::optim::detail {

XGRAD_FUNCTION AnyTensor number_tensor(double v) {
    return xgrad::detail::type_info<double>.filled(Shape{}, v);
}

XGRAD_FUNCTION double number_in(StateDict const& state, std::string const& name) {
    auto const* const t = state.find(name);
    if (!t || !t->defined() || t->dtype() != DType::float64 || t->numel() != 1)
        fail("load_state_dict: there is no number '", name, "'");
    return t->as<double>().item();
}

XGRAD_FUNCTION void check_parameters(
    std::vector<AnyTensor> const& fresh, std::vector<AnyTensor> all) {
    if (fresh.empty()) fail("optimizer got an empty parameter list");
    for (auto const& p : fresh) {
        if (!p.defined())
            xgrad::detail::fail_undefined(
                "optimizer", "parameter", static_cast<std::size_t>(&p - fresh.data()));
        if (!is_differentiable(p.dtype()))
            fail<TypeError>("optimizer: a tensor of type ", name(p.dtype()), " cannot be trained");
        if (!p.is_leaf()) fail<GraphError>("can't optimize a non-leaf Tensor");
        if (std::ranges::any_of(all, [&](AnyTensor const& other) { return other.is_same(p); }))
            fail("optimizer: some parameters appear more than once, or in more than one parameter "
                 "group");
        all.push_back(p);
    }
}

XGRAD_FUNCTION Shape real_shape(AnyTensor const& t) {
    Shape shape = t.shape();
    if (is_complex(t.dtype())) shape.push_back(2);
    return shape;
}

XGRAD_FUNCTION void check_not_negative(char const* what, double v) {
    if (!(v >= 0)) fail("Invalid ", what, ": it must not be negative, and is ", std::to_string(v));
}

XGRAD_FUNCTION void check_fraction(char const* what, double v) {
    if (!(v >= 0 && v < 1))
        fail("Invalid ", what, ": it must lie in [0, 1), and is ", std::to_string(v));
}

} // namespace xgrad::optim::detail

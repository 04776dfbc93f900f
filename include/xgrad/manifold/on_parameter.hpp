// Parameters on manifolds: keep_on() makes every optimiser of a parameter step on its manifold, and
// On<nn::Parameter<T>, M> is a parameter of a module that does so. Both are hooks: one on the
// gradient of the parameter, and two around step() of optimisers.
//
// Shapes: a gradient keeps the shape of its parameter.
// Gradients: .grad of the parameter is the gradient on the manifold.
// Errors: an Error for a value that is not on the manifold; GraphError for a tensor that is no leaf
// or requires no gradient. A struct that is no manifold does not compile.
#pragma once

#include <memory>

#include <xgrad/manifold/geometry.hpp>
#include <xgrad/optim.hpp>

namespace xgrad {

namespace detail {

/// What the hooks of one parameter share. The hook on its gradient owns it, so that all of them
/// live as long as the parameter.
template <class M, Scalar T> struct KeptParameter {
    M m;
    WeakTensor parameter;
    Tensor<T> before; // the value before the step of an optimiser, while it runs
    HookHandle pre, post;

    KeptParameter(M const& manifold, Tensor<T> const& p) : m(manifold), parameter(p) {
        pre = optim::register_optimizer_step_pre_hook([this](optim::Optimizer& o) {
            auto const here = parameter.lock();
            for (std::size_t k = 0; k < o.group_count(); ++k)
                for (auto const& each : o.parameters(k))
                    if (each.is_same(here)) before = value_copy(here).template as<T>();
        });
        post = optim::register_optimizer_step_post_hook([this](optim::Optimizer&) {
            if (!before.defined()) return;
            NoGradGuard const off;
            GeometryOf<M, Tensor<T>> const g{m};
            Tensor<T> x = parameter.lock().template as<T>();
            auto const old = std::exchange(before, {});
            x.copy_(g.retract(old, g.project(old, x - old)));
        });
    }
    ~KeptParameter() { pre.remove(), post.remove(); }
};

} // namespace detail

/// Keeps a leaf on a manifold. From now on its gradient is the one on the manifold, and after each
/// step() of any optimiser that has it, SGD or Adam with whatever momentum, the step is projected
/// onto the tangents and retracted. The momentum is transported so, too. The hooks live as long as
/// the leaf; the handle removes them. Steps of optim::LBFGS are retracted when they are complete
/// only, and those of step_in_backward() are not: minimize() has L-BFGS on a manifold. Throws an
/// Error where the leaf is not on the manifold.
template <Differentiable T, class M> HookHandle keep_on(Tensor<T> leaf, M const& manifold) {
    if constexpr (detail::check_geometry<M, Tensor<T>>()) {
        NoGradGuard const off;
        detail::check_on_manifold("keep_on", manifold, leaf);
        if (!leaf.is_leaf())
            detail::fail<GraphError>("keep_on: only a leaf can be kept on a manifold");
        auto const kept = std::make_shared<detail::KeptParameter<M, T>>(manifold, leaf);
        return leaf.register_hook([kept](Tensor<T> const& g) {
            return detail::GeometryOf<M, Tensor<T>>{kept->m}.gradient(
                kept->parameter.lock().template as<T>(), g);
        });
    } else return {};
}

/// A parameter of a module that stays on a manifold, with any optimiser, and so do its copies:
/// `xg::On<nn::Parameter<double>, xg::Stiefel> weight{*this, "weight", value};`
template <class P, class M> class On : public P {
public:
    template <class Owner>
    On(Owner& owner, std::string_view name, Tensor<typename P::scalar> const& value,
        M manifold = {})
        : P(owner, name, value), manifold_(std::move(manifold)) {
        keep_on(this->handle_of(), manifold_);
    }
    On(On const& o) : P(o), manifold_(o.manifold_) { keep_on(this->handle_of(), manifold_); }
    On(On&&) noexcept = default;
    On& operator=(On const& o) { return *this = On(o); }
    On& operator=(On&&) noexcept = default;
    ~On() = default;

    /// The manifold that it stays on.
    M const& manifold() const noexcept { return manifold_; }

private:
    M manifold_;
};

} // namespace xgrad

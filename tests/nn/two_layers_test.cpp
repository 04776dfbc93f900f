// The numbers of the two layers with every kind of backward hook, to the last digit of each
// precision.
#include "two_layers.hpp"

namespace {

/// What a pass through the two layers leaves, where a hook may have changed gradients by powers of
/// two, exactly.
template <class T> struct Run {
    TwoLayers<T> net;
    xg::Tensor<T> x = xg::Tensor<T>({T(.3)}, xg::requires_grad), y;
    double grad_input = 0, grad_output = 0;

    void backward() {
        y = net(x);
        xg::Tensor<T> const loss = sum(square(y - T(1)));
        loss.backward();
    }
    auto remember() {
        return [this](SquaredAffine<T>&, Gradients const& in, Gradients const& out) {
            grad_input = number<T>(in.at(0));
            grad_output = number<T>(out.at(0));
        };
    }
};

template <class T> void check(double got, double exact) {
    CHECK(std::abs(got - exact) <=
          (std::is_same_v<T, float> ? 4e-7 : 4e-16) * std::max(.1, std::abs(exact)));
}

template <class T> void check_gradients(Run<T> const& r, double f1, double f0) {
    check<T>(number<T>(r.net.f1.weight.grad()), -0.19378132224 * f1);
    check<T>(number<T>(r.net.f1.bias.grad()), -1.019901696 * f1);
    check<T>(number<T>(r.x.grad()), -0.12238820352 * f0);
    check<T>(number<T>(r.net.f0.weight.grad()), -0.12238820352 * f0);
    check<T>(number<T>(r.net.f0.bias.grad()), -0.4079606784 * f0);
    CHECK(r.x.grad().shape() == xg::Shape{1});
    CHECK(r.net.f0.weight.grad().shape() == xg::Shape{1, 1});
}

} // namespace

TEST_CASE_TEMPLATE("without hooks, and with a full backward hook that looks", T, double, float) {
    Run<T> r;
    r.backward();
    check<T>(number<T>(r.y), 0.076176);
    CHECK(r.y.grad_fn()->name() == "SquareBackward");
    check_gradients(r, 1, 1);

    Run<T> seen;
    seen.net.f1.register_full_backward_hook(seen.remember());
    seen.backward();
    CHECK(seen.y.grad_fn()->name() == "BackwardHookFunctionBackward");
    check<T>(number<T>(seen.y), 0.076176);
    check<T>(seen.grad_output, -1.847648);
    check<T>(seen.grad_input, -0.4079606784);
    check_gradients(seen, 1, 1);
}

TEST_CASE_TEMPLATE(
    "a full backward hook that doubles changes what lies before its module", T, double, float) {
    Run<T> r;
    r.net.f1.register_full_backward_hook(
        [&](SquaredAffine<T>&, Gradients const& in, Gradients const&) {
            r.grad_input = number<T>(in.at(0));
            return Gradients{xg::Tensor<T>(T(2) * in.at(0).as<T>())};
        });
    r.backward();
    check<T>(r.grad_input, -0.4079606784);
    check_gradients(r, 1, 2);
}

TEST_CASE_TEMPLATE(
    "the legacy hook sees the gradient before the square alone, and changes the module's own", T,
    double, float) {
    Warnings warnings;
    Run<T> r;
    r.net.f1.register_backward_hook(r.remember());
    r.backward();
    CHECK(r.y.grad_fn()->name() == "SquareBackward");
    check<T>(r.grad_output, -1.847648);
    check<T>(r.grad_input, -1.019901696);
    check_gradients(r, 1, 1);
    REQUIRE(warnings.texts.size() == 1);
    CHECK(warnings.texts[0] ==
          "Using a non-full backward hook when the forward contains multiple autograd Nodes is "
          "deprecated and will be removed in future versions. This hook will be "
          "missing some grad_input. Please use register_full_backward_hook to get the documented "
          "behavior.");

    Run<T> doubled;
    doubled.net.f1.register_backward_hook(
        [](SquaredAffine<T>&, Gradients const& in, Gradients const&) {
            return Gradients{xg::Tensor<T>(T(2) * in.at(0).as<T>())};
        });
    doubled.backward();
    check_gradients(doubled, 2, 2);
}

TEST_CASE_TEMPLATE(
    "a full backward pre-hook that doubles changes the module and what lies before it", T, double,
    float) {
    Run<T> r;
    r.net.f1.register_full_backward_pre_hook([](SquaredAffine<T>&, Gradients const& out) {
        return Gradients{xg::Tensor<T>(T(2) * out.at(0).as<T>())};
    });
    r.net.f1.register_full_backward_hook(r.remember());
    r.backward();
    check<T>(r.grad_output, -3.695296);
    check<T>(r.grad_input, -0.8159213568);
    check_gradients(r, 2, 2);
}

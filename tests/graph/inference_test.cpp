// Inference mode: what its tensors are, what may be done with them inside and outside.
#include <thread>

#include "walk.hpp"

namespace {

char const* const in_place_text =
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
    "to get a normal tensor before doing inplace update.";
char const* const save_text = "Inference tensors cannot be saved for backward. To work around you "
                              "can make a clone to get a normal tensor and use it in autograd.";
char const* const view_text =
    "A view was created in inference mode and is being modified inplace in normal mode.";

D inference_tensor() {
    xg::InferenceMode const on;
    return xg::ones({2});
}

} // namespace

TEST_CASE("the mode is switched off and on again with its scopes, and grad mode with it") {
    CHECK_FALSE(xg::is_inference_mode_enabled());
    {
        xg::InferenceMode const on;
        CHECK(xg::is_inference_mode_enabled());
        CHECK_FALSE(xg::is_grad_enabled());
        {
            xg::InferenceMode const normal(false);
            CHECK_FALSE(xg::is_inference_mode_enabled());
            CHECK(xg::is_grad_enabled());
            D const x({1.}, xg::requires_grad);
            CHECK_FALSE(x.is_inference());
            CHECK(D(x * x).requires_grad());
        }
        CHECK(xg::is_inference_mode_enabled());
        CHECK_FALSE(xg::is_grad_enabled());
        bool in_other_thread = true, recording = false;
        std::thread([&] {
            in_other_thread = xg::is_inference_mode_enabled();
            recording = xg::is_grad_enabled();
        }).join();
        CHECK_FALSE(in_other_thread);
        CHECK(recording);
    }
    CHECK_FALSE(xg::is_inference_mode_enabled());
    try {
        xg::InferenceMode const on;
        throw 1;
    } catch (int) {}
    CHECK_FALSE(xg::is_inference_mode_enabled());
    CHECK(xg::is_grad_enabled());
}

TEST_CASE("tensors made inside are inference tensors") {
    xg::InferenceMode const on;
    D x({1., 2.}), y({1., 2.}, xg::requires_grad);
    CHECK(x.is_inference());
    CHECK(y.is_inference());
    CHECK(y.requires_grad());
    CHECK(x.requires_grad_().requires_grad());
    for (D const& made :
        {D(x + 1.), D(x * y), sum(y), y.clone(), y[0], y.detach(), y.view({2, 1})}) {
        CHECK(made.is_inference());
        CHECK_FALSE(made.grad_fn());
        CHECK(made.is_leaf());
    }
    CHECK_FALSE(D(y * y).requires_grad());
    x += 1.;
    y[0] = 5.;
    CHECK(difference(y, {5., 2.}) == "");
    CHECK_THROWS_WITH_AS(static_cast<void>(x.version()),
        "Inference tensors do not track version counter.", xg::GraphError);
}

TEST_CASE("operations on normal tensors inside are not recorded, whatever grad mode says") {
    D const x({1., 2.}, xg::requires_grad);
    xg::InferenceMode const on;
    xg::EnableGradGuard const grad;
    CHECK(xg::is_grad_enabled());
    for (D const& made : {D(x * x), sum(x), matmul(x, x), x.clone()}) {
        CHECK(made.is_inference());
        CHECK_FALSE(made.requires_grad());
    }
}

TEST_CASE("inference tensors outside: what saves nothing works, what would save them fails") {
    D const x({1., 2.}, xg::requires_grad), i = inference_tensor();
    CHECK(i.is_inference());
    CHECK_FALSE(D(i + 1.).is_inference());
    CHECK_FALSE(i.clone().is_inference());
    CHECK(i[0].is_inference());
    CHECK(i.view({2, 1}).is_inference());
    CHECK_FALSE(D(i * i).requires_grad());
    D const y = x + i;
    CHECK_FALSE(y.is_inference());
    CHECK(difference(grad(sum(y), x), {1., 1.}) == "");
    CHECK_THROWS_WITH_AS(D(x * i), save_text, xg::GraphError);
    CHECK_THROWS_WITH_AS(D(x * i[0]), save_text, xg::GraphError);
    CHECK_THROWS_WITH_AS(sum(x * i), save_text, xg::GraphError);
    CHECK_THROWS_WITH_AS(matmul(x, i), save_text, xg::GraphError);
    CHECK(difference(grad(sum(x * i.clone()), x), {1., 1.}) == "");
}

TEST_CASE("inference tensors are changed in place only inside") {
    D i = inference_tensor();
    D const x({1., 2.}, xg::requires_grad);
    auto const text = doctest::Contains(in_place_text);
    CHECK_THROWS_WITH_AS(i += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(i.exp_(), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(i[0] = 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(i.copy_(x), text, xg::GraphError);
    CHECK_THROWS_WITH_AS(i(i > 0.) = 3., text, xg::GraphError);
    {
        xg::NoGradGuard const off;
        CHECK_THROWS_WITH_AS(i += 1., text, xg::GraphError);
    }
    CHECK(difference(i, {1., 1.}) == "");
    xg::InferenceMode const on;
    i += x;
    CHECK(difference(i, {2., 3.}) == "");
    CHECK_FALSE(i.requires_grad());
}

TEST_CASE("a normal tensor takes over the values of an inference tensor and stays normal") {
    D y = xg::zeros({2});
    y.copy_(inference_tensor());
    CHECK_FALSE(y.is_inference());
    CHECK(difference(y, {1., 1.}) == "");
    CHECK(y.version() == 1);
}

TEST_CASE("an inference tensor does not start to require grad outside") {
    D i = inference_tensor();
    CHECK_THROWS_WITH_AS(i.requires_grad_(),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
        xg::GraphError);
    CHECK_FALSE(i.requires_grad_(false).requires_grad());
}

TEST_CASE("a normal tensor changed inside stays normal and counts a version") {
    D leaf({1., 2.}, xg::requires_grad);
    D y = leaf * 3.;
    D const saved = y * y;
    {
        xg::InferenceMode const on;
        leaf += 1.;
        y += 1.;
    }
    CHECK_FALSE(leaf.is_inference());
    CHECK(leaf.is_leaf());
    CHECK(leaf.version() == 1);
    CHECK(y.version() == 1);
    CHECK(y.grad_fn()->name() == "MulBackward");
    CHECK(difference(leaf, {2., 3.}) == "");
    CHECK_THROWS_AS(sum(saved).backward(), xg::VersionError);
}

TEST_CASE("a view of a normal tensor made inside is normal, but not changed outside") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3., plain = xg::ones({2});
    D view, of_view, of_plain, of_leaf;
    std::vector<D> several;
    {
        xg::InferenceMode const on;
        view = y[0];
        of_view = y.view({2, 1})[1];
        of_plain = plain[0];
        of_leaf = x[0];
        several = y.unbind();
        CHECK_FALSE(view.is_inference());
    }
    auto const text = doctest::Contains(view_text);
    CHECK_THROWS_WITH_AS(view += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(of_view += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(of_view[0] += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(of_plain += x[0], text, xg::GraphError);
    CHECK_THROWS_WITH_AS(of_leaf += 1., text, xg::GraphError);
    CHECK_THROWS_WITH_AS(several[1] += 1., text, xg::GraphError);
    of_plain += 1.;
    CHECK(difference(plain, {2., 1.}) == "");
    CHECK(D(view * 2.).requires_grad());
    {
        xg::InferenceMode const on;
        view += 1.;
        CHECK(D(view * 2.).item() == 8);
    }
    CHECK(y.version() == 1);
    CHECK_THROWS_WITH_AS(D(view * 2.),
        doctest::Contains("A view was created in inference mode and its base or another view of "
                          "its base has been modified inplace in normal mode."),
        xg::GraphError);
}

TEST_CASE("backward inside makes a gradient that is an inference tensor") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x);
    {
        xg::InferenceMode const on;
        y.backward({.retain_graph = true});
        CHECK(difference(x.grad(), {2., 4.}) == "");
        y.backward({.retain_graph = true});
    }
    CHECK(x.grad().is_inference());
    CHECK(difference(x.grad(), {4., 8.}) == "");
    CHECK_THROWS_WITH_AS(y.backward({.retain_graph = true}),
        doctest::Contains(
            "Inplace update to inference tensor outside InferenceMode is not allowed."),
        xg::GraphError);
    D(x).zero_grad();
    y.backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
    CHECK_FALSE(x.grad().is_inference());
}

TEST_CASE("complex and real views inside and outside") {
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    Z i;
    D part;
    {
        xg::InferenceMode const on;
        i = Z({complex<double>(3, 4)});
        part = z.real();
        CHECK(view_as_real(i).is_inference());
        CHECK(view_as_complex(view_as_real(i)).is_inference());
        i.imag() += 1.;
    }
    CHECK_FALSE(part.is_inference());
    CHECK(i.real().is_inference());
    CHECK(difference(i, {complex<double>(3, 5)}) == "");
    CHECK_THROWS_WITH_AS(i.real() += 1., doctest::Contains(in_place_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(part += 1., doctest::Contains(view_text), xg::GraphError);
}

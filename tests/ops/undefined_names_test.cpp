// What an undefined tensor is told by each function: the function's name, as the program writes it.
#include <support/error_names.hpp>

#include <xgrad/nn.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/vmap.hpp>

using namespace support;

namespace {
using D = xg::Tensor<double>;
using C = xg::Tensor<cd>;
using M = xg::Tensor<bool>;
using I = xg::Tensor<std::int64_t>;
namespace f = xg::nn::functional;

D const v = xg::ones({3});
I const ind({0, 1});
} // namespace

TEST_CASE("undefined: elementwise functions and operators") {
    D u;
    D x = xg::ones({2, 3});
    C z;
    M m;
    UNDEFINED("exp", exp(u).shape());
    UNDEFINED("expm1", expm1(u).shape());
    UNDEFINED("log", log(u).shape());
    UNDEFINED("log1p", log1p(u).shape());
    UNDEFINED("log2", log2(u).shape());
    UNDEFINED("log10", log10(u).shape());
    UNDEFINED("sigmoid", sigmoid(u).shape());
    UNDEFINED("softplus", softplus(u).shape());
    UNDEFINED("relu", relu(u).shape());
    UNDEFINED("sin", sin(u).shape());
    UNDEFINED("cos", cos(u).shape());
    UNDEFINED("tan", tan(u).shape());
    UNDEFINED("asin", asin(u).shape());
    UNDEFINED("acos", acos(u).shape());
    UNDEFINED("atan", atan(u).shape());
    UNDEFINED("sinh", sinh(u).shape());
    UNDEFINED("cosh", cosh(u).shape());
    UNDEFINED("tanh", tanh(u).shape());
    UNDEFINED("asinh", asinh(u).shape());
    UNDEFINED("acosh", acosh(u).shape());
    UNDEFINED("atanh", atanh(u).shape());
    UNDEFINED("abs", abs(u).shape());
    UNDEFINED("abs2", abs2(u).shape());
    UNDEFINED("sign", sign(u).shape());
    UNDEFINED("sgn", sgn(u).shape());
    UNDEFINED("angle", angle(u).shape());
    UNDEFINED("square", square(u).shape());
    UNDEFINED("sqrt", sqrt(u).shape());
    UNDEFINED("rsqrt", rsqrt(u).shape());
    UNDEFINED("reciprocal", reciprocal(u).shape());
    UNDEFINED("floor", floor(u).shape());
    UNDEFINED("ceil", ceil(u).shape());
    UNDEFINED("round", round(u).shape());
    UNDEFINED("trunc", trunc(u).shape());
    UNDEFINED("erf", erf(u).shape());
    UNDEFINED("erfc", erfc(u).shape());
    UNDEFINED("sinc", sinc(u).shape());
    UNDEFINED("lgamma", lgamma(u).shape());
    UNDEFINED("digamma", digamma(u).shape());
    UNDEFINED("nan_to_num", nan_to_num(u).shape());
    UNDEFINED("imag", imag(u).shape());
    UNDEFINED("gelu", gelu(u).shape());
    UNDEFINED("leaky_relu", leaky_relu(u).shape());
    UNDEFINED("elu", elu(u).shape());
    UNDEFINED("polygamma", polygamma(1, u).shape());
    UNDEFINED("pow", pow(u, 2).shape());
    UNDEFINED("pow", pow(2, u).shape());
    UNDEFINED("pow", pow(x, u).shape());
    UNDEFINED("-", (-u).shape());
    UNDEFINED("+", (u + x).shape());
    UNDEFINED("-", (1. - u).shape());
    UNDEFINED("*", (x * u).shape());
    UNDEFINED("/", (u / 2.).shape());
    UNDEFINED("<", (u < 1.).shape());
    UNDEFINED("<=", (u <= 1.).shape());
    UNDEFINED(">", (u > 1.).shape());
    UNDEFINED(">=", (u >= 1.).shape());
    UNDEFINED("==", (u == 1.).shape());
    UNDEFINED("!=", (u != 1.).shape());
    UNDEFINED("&&", (m && m).shape());
    UNDEFINED("||", (m || m).shape());
    UNDEFINED("!", (!m).shape());
    UNDEFINED("isnan", isnan(u).shape());
    UNDEFINED("isinf", isinf(u).shape());
    UNDEFINED("isfinite", isfinite(u).shape());
    UNDEFINED("real", real(z).shape());
    UNDEFINED("conj", conj(z).shape());
    UNDEFINED("abs", abs(z).shape());
    UNDEFINED("where", where(m, x, x).shape());
    UNDEFINED("where", where(x > 0., u, x).shape());
    UNDEFINED("maximum", maximum(u, x).shape());
    UNDEFINED("minimum", minimum(x, u).shape());
    UNDEFINED("clamp", clamp(u, 0, 1).shape());
    UNDEFINED("clamp_min", clamp_min(u, 0).shape());
    UNDEFINED("lerp", lerp(x, u, 0.5).shape());
    UNDEFINED("fmod", fmod(u, 2.).shape());
    UNDEFINED("atan2", atan2(x, u).shape());
    UNDEFINED("xlogy", xlogy(u, x).shape());
    UNDEFINED("logaddexp", logaddexp(u, x).shape());
    UNDEFINED("hypot", hypot(u, x).shape());
    UNDEFINED("copysign", copysign(u, x).shape());
    UNDEFINED("complex", complex(u, u).shape());
    UNDEFINED("polar", polar(u, u).shape());
    UNDEFINED("remainder", remainder(u, x).shape());
    UNDEFINED("exp", D(exp(u)));
    UNDEFINED("-", D(-u));
    UNDEFINED("*", D(x * u));
    UNDEFINED("sin", D(x * exp(sin(u) + x)));
    UNDEFINED("*", sum(x * u));
}

TEST_CASE("undefined: changes in place") {
    D u;
    D x = xg::ones({2, 3});
    M m;
    UNDEFINED("+=", u += x);
    UNDEFINED("+=", x += u);
    UNDEFINED("-=", x -= u);
    UNDEFINED("*=", x *= u);
    UNDEFINED("/=", x /= u);
    UNDEFINED("*", x += 2. * u);
    UNDEFINED("exp_", u.exp_());
    UNDEFINED("add_", x.add_(u));
    UNDEFINED("add_", u.add_(x));
    UNDEFINED("copy_", x.copy_(u));
    UNDEFINED("copy_", u.copy_(x));
    UNDEFINED("fill_", u.fill_(1.));
    UNDEFINED("zero_", u.zero_());
    UNDEFINED("neg_", u.neg_());
    UNDEFINED("masked_fill_", x.masked_fill_(m, 1.));
    UNDEFINED("clamp_", u.clamp_(0., 1.));
    UNDEFINED("pow_", u.pow_(2));
    UNDEFINED("requires_grad_", u.requires_grad_());
}

TEST_CASE("undefined: masks and indices") {
    D u;
    D x = xg::ones({2, 3});
    M m;
    UNDEFINED("x(mask)", x(m));
    UNDEFINED("x(mask)", u(x > 0.));
    UNDEFINED("x(mask)", x(m) = 1.);
    UNDEFINED("masked_select", masked_select(u, x > 0.));
    UNDEFINED("masked_select", masked_select(x, m));
    UNDEFINED("x(index)", u(0));
    UNDEFINED("x(index)", u[0]);
}

TEST_CASE("undefined: shapes") {
    D u;
    D x = xg::ones({2, 3});
    C z;
    UNDEFINED("reshape", reshape(u, {1}));
    UNDEFINED("reshape", u.reshape({1}));
    UNDEFINED("view", u.view({1}));
    UNDEFINED("flatten", flatten(u));
    UNDEFINED("permute", permute(u, {0}));
    UNDEFINED("permute", u.permute({0}));
    UNDEFINED("transpose", transpose(u));
    UNDEFINED("transpose", u.transpose());
    UNDEFINED("transpose", transpose(u, 0, 1));
    UNDEFINED("transpose", u.transpose(0, 1));
    UNDEFINED("t", u.t());
    UNDEFINED("movedim", movedim(u, 0, 1));
    UNDEFINED("mT", mT(u));
    UNDEFINED("broadcast_to", broadcast_to(u, {2}));
    UNDEFINED("expand", u.expand({2}));
    UNDEFINED("squeeze", squeeze(u));
    UNDEFINED("squeeze", squeeze(u, 0));
    UNDEFINED("unsqueeze", unsqueeze(u, 0));
    UNDEFINED("unflatten", unflatten(u, 0, {1}));
    UNDEFINED("sum_to", sum_to(u, {1}));
    UNDEFINED("unbind", xg::unbind(u));
    UNDEFINED("split", xg::split(u, 1));
    UNDEFINED("chunk", xg::chunk(u, 1));
    UNDEFINED("diagonal", xg::diagonal(u));
    UNDEFINED("view_as_real", view_as_real(z));
    UNDEFINED("view_as_complex", view_as_complex(u));
    UNDEFINED("clone", u.clone());
    UNDEFINED("cast", cast<float>(u));
    UNDEFINED("detach", u.detach());
    UNDEFINED("real", z.real());
    UNDEFINED("imag", z.imag());
    UNDEFINED("cat", xg::cat(std::vector{x, u}));
    UNDEFINED("stack", xg::stack(std::vector{x, u}));
    UNDEFINED("repeat", repeat(u, {2}));
    UNDEFINED("repeat_interleave", repeat_interleave(u, 2));
    UNDEFINED("repeat_interleave", repeat_interleave(u, 2, 0));
    UNDEFINED("pad", pad(u, {1, 1}));
    UNDEFINED("diag", diag(u));
    UNDEFINED("trace", trace(u));
    UNDEFINED("tril", tril(u));
    UNDEFINED("triu", triu(u));
    UNDEFINED("diag_embed", diag_embed(u));
    UNDEFINED("meshgrid", meshgrid(std::vector{v, u}));
    UNDEFINED("roll", roll(u, 1));
    UNDEFINED("roll", roll(u, 1, 0));
    UNDEFINED("flip", flip(u, {0}));
    UNDEFINED("item", u.item());
}

TEST_CASE("undefined: products, sums and extrema") {
    D u;
    D x = xg::ones({2, 3});
    M m;
    UNDEFINED("matmul", matmul(u, x));
    UNDEFINED("matmul", matmul(x, u));
    UNDEFINED("dot", dot(u, v));
    UNDEFINED("dot", dot(v, u));
    UNDEFINED("vdot", vdot(v, u));
    UNDEFINED("outer", outer(v, u));
    UNDEFINED("outer", outer(u, v));
    UNDEFINED("sum", sum(u));
    UNDEFINED("sum", sum(u, {0}));
    UNDEFINED("mean", mean(u));
    UNDEFINED("mean", mean(u, {0}));
    UNDEFINED("prod", prod(u));
    UNDEFINED("prod", prod(u, {0}));
    UNDEFINED("amax", amax(u));
    UNDEFINED("amin", amin(u, {0}));
    UNDEFINED("logsumexp", logsumexp(u));
    UNDEFINED("logsumexp", logsumexp(u, {0}));
    UNDEFINED("norm", norm(u));
    UNDEFINED("norm", norm(u, 2, {0}));
    UNDEFINED("var", var(u));
    UNDEFINED("stddev", stddev(u));
    UNDEFINED("any_of", any_of(m));
    UNDEFINED("all_of", all_of(m));
    UNDEFINED("count_nonzero", count_nonzero(u));
    UNDEFINED("var", var(u, {0}));
    UNDEFINED("stddev", stddev(u, {0}));
    UNDEFINED("norm", norm(u, 3, {0}));
    UNDEFINED("amax", amax(u, {0}));
}

TEST_CASE("undefined: transforms, orders and picking by numbers") {
    D u;
    D x = xg::ones({2, 3});
    I i;
    UNDEFINED("fft", fft(u));
    UNDEFINED("ifft", ifft(u));
    UNDEFINED("rfft", rfft(u));
    UNDEFINED("irfft", irfft(u));
    UNDEFINED("fftn", fftn(u));
    UNDEFINED("ifftn", ifftn(u));
    UNDEFINED("rfftn", rfftn(u));
    UNDEFINED("irfftn", irfftn(u));
    UNDEFINED("fftshift", fftshift(u));
    UNDEFINED("ifftshift", ifftshift(u));
    UNDEFINED("cumsum", cumsum(u, 0));
    UNDEFINED("cumprod", cumprod(u, 0));
    UNDEFINED("logcumsumexp", logcumsumexp(u, 0));
    UNDEFINED("argmax", argmax(u));
    UNDEFINED("argmax", argmax(u, 0));
    UNDEFINED("argmin", argmin(u));
    UNDEFINED("sort", sort(u));
    UNDEFINED("argsort", argsort(u));
    UNDEFINED("topk", topk(u, 1));
    UNDEFINED("median", median(u));
    UNDEFINED("median", median(u, 0));
    UNDEFINED("quantile", quantile(u, 0.5));
    UNDEFINED("quantile", quantile(u, 0.5, 0));
    UNDEFINED("gather", gather(u, 0, ind));
    UNDEFINED("gather", gather(x, 0, i));
    UNDEFINED("scatter_add", scatter_add(u, 0, ind, v));
    UNDEFINED("scatter_add", scatter_add(x, 0, i, v));
    UNDEFINED("index_select", index_select(u, 0, ind));
    UNDEFINED("index_select", index_select(x, 0, i));
    UNDEFINED("index_add", index_add(u, 0, ind, x));
    UNDEFINED("index_add", index_add(x, 0, i, x));
    UNDEFINED("index_add", index_add(x, 0, ind, u));
    UNDEFINED("fft2", fft2(u));
    UNDEFINED("ifft2", ifft2(u));
}

TEST_CASE("undefined: functions of networks and of tensors") {
    D u;
    D x = xg::ones({2, 3});
    UNDEFINED("backward", u.backward());
    UNDEFINED("+", (u + x).backward());
    UNDEFINED("softmax", f::softmax(u, 0));
    UNDEFINED("log_softmax", f::log_softmax(u, 0));
    UNDEFINED("silu", (f::silu(u)));
    UNDEFINED("gelu_tanh", (f::gelu_tanh(u)));
    UNDEFINED("zeros_like", xg::zeros_like(u));
    UNDEFINED("ones_like", xg::ones_like(u));
    UNDEFINED("retain_grad", u.retain_grad());
    UNDEFINED("register_hook", u.register_hook([](D const&) {}));
}

TEST_CASE("undefined: functions of functions, joins and comparisons") {
    D u;
    I i;
    I const corners({{0}, {1}});
    auto const first = [](auto const& p, auto const&...) { return p[0]; };
    UNDEFINED("vmap", xg::vmap([](auto const& a) { return 2. * a; })(u));
    UNDEFINED("vmap", xg::vmap([](auto const& a, auto const& b) { return a * b; })(v, u));
    UNDEFINED("sum_over", xg::sum_over<1>(first, u, corners));
    UNDEFINED("sum_over", xg::sum_over<1>(first, v, i));
    UNDEFINED("sum_over", xg::sum_over<1>(first, v, corners, u));
    UNDEFINED("block", xg::block<double>({{v, u}}));
    UNDEFINED("isclose", xg::isclose(u, v));
    UNDEFINED("allclose", xg::allclose(v, u));
    UNDEFINED("masked_fill", xg::masked_fill(u, v > 0., 1.));
}

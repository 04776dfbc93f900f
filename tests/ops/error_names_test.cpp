// An error names the function as the program writes it, and the shapes that matter: every public
// function with shapes, axes and numbers that it cannot take.
#include <support/error_names.hpp>

#include <xgrad/nn.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using M = xg::Tensor<bool>;
namespace f = xg::nn::functional;

D const number(1.), v2 = xg::ones({2}), v3 = xg::ones({3}), m23 = xg::ones({2, 3}),
                    m32 = xg::ones({3, 2}), m22 = xg::ones({2, 2}), cube = xg::ones({2, 3, 4});
} // namespace

TEST_CASE("elementwise functions of several operands: both shapes") {
    Parts const both = {"[2]", "[3]", "do not broadcast"};
    auto const check = [&](std::string const& name, auto f) {
        CHECK(complaint(name, both,
                  [&] { xg::Tensor<typename decltype(f())::scalar> const y = f(); }) == "");
    };
    check("atan2", [] { return atan2(v2, v3); });
    check("hypot", [] { return hypot(v2, v3); });
    check("pow", [] { return pow(v2, v3); });
    check("lerp", [] { return lerp(v2, v3, 0.5); });
    check("copysign", [] { return copysign(v2, v3); });
    check("complex", [] { return xg::complex(v2, v3); });
    check("polar", [] { return xg::polar(v2, v3); });
    check("xlogy", [] { return xlogy(v2, v3); });
    check("logaddexp", [] { return logaddexp(v2, v3); });
    check("fmod", [] { return fmod(v2, v3); });
    check("remainder", [] { return remainder(v2, v3); });
    check("maximum", [] { return maximum(v2, v3); });
    check("minimum", [] { return minimum(v2, v3); });
    check("clamp", [] { return clamp(v2, v3, 1.); });
    check("clamp_min", [] { return clamp_min(v2, v3); });
    check("clamp_max", [] { return clamp_max(v2, v3); });
    check("where", [] { return where(v2 > 0., v2, v3); });
    check("where", [] { return where(v2 > 0., 1., v3); });
    check("modrelu", [] { return modrelu(xg::complex(v2, v2), v3); });
    check("maximum", [] { return exp(sin(v3) * maximum(v2, exp(v3))); });
    CHECK(complaint("where", both, [] { sum(where(v2 > 0., v2, v3)); }) == "");
    CHECK(complaint("where", both, [] { where(v2 > 0., v2, v3).shape(); }) == "");
}

TEST_CASE("operators: both shapes, as they are written") {
    Parts const both = {"[2]", "[3]", "do not broadcast"};
    auto const check = [&](std::string const& name, auto f) {
        CHECK(complaint(name, both,
                  [&] { xg::Tensor<typename decltype(f())::scalar> const y = f(); }) == "");
        CHECK(complaint(name, both, [&] { f().shape(); }) == "");
    };
    check("+", [] { return v2 + v3; });
    check("-", [] { return v2 - v3; });
    check("*", [] { return v2 * v3; });
    check("/", [] { return v2 / v3; });
    check("<", [] { return v2 < v3; });
    check("<=", [] { return v2 <= v3; });
    check(">", [] { return v2 > v3; });
    check(">=", [] { return v2 >= v3; });
    check("==", [] { return v2 == v3; });
    check("!=", [] { return v2 != v3; });
    check("&&", [] { return (v2 > 0.) && (v3 > 0.); });
    check("||", [] { return (v2 > 0.) || (v3 > 0.); });
    check("*", [] { return exp(v3) + sin(v2 * v3); });
    CHECK(complaint("*", both, [] { sum(v2 * v3); }) == "");
    CHECK(complaint("*", both, [] { v2.clone() += v2 * v3; }) == "");
}

TEST_CASE("changes in place: as they are written") {
    D x = v2.clone();
    NAMES("+=", ({"[2]", "[3]"}), x += v3);
    NAMES("-=", ({"[2]", "[3]"}), x -= v3);
    NAMES("*=", ({"[2]", "[3]"}), x *= v3);
    NAMES("/=", ({"[2]", "[3]"}), x /= v3);
    NAMES("+=", ({"[2]", "[2, 2]"}), x += m22);
    NAMES("add_", ({"[2]", "[3]"}), x.add_(v3));
    NAMES("sub_", ({"[2]", "[3]"}), x.sub_(v3));
    NAMES("mul_", ({"[2]", "[3]"}), x.mul_(v3));
    NAMES("div_", ({"[2]", "[3]"}), x.div_(v3));
    NAMES("pow_", ({"[2]", "[3]"}), x.pow_(v3));
    NAMES("minimum_", ({"[2]", "[3]"}), x.minimum_(v3));
    NAMES("maximum_", ({"[2]", "[3]"}), x.maximum_(v3));
    NAMES("clamp_", ({"[2]", "[3]"}), x.clamp_(v3, 1.));
    NAMES("clamp_min_", ({"[2]", "[3]"}), x.clamp_min_(v3));
    NAMES("clamp_max_", ({"[2]", "[3]"}), x.clamp_max_(v3));
    NAMES("copy_", ({"[2]", "[3]"}), x.copy_(v3));
    NAMES("masked_fill_", ({"[2]", "[3]"}), x.masked_fill_(M(v3 > 0.), 1.));
    NAMES("masked_fill_", ({"[2]", "[3]"}), x.masked_fill_(M(v2 > 0.), v3));
    NAMES("masked_select", ({"[2]", "[3]"}), masked_select(x, M(v3 > 0.)));
    NAMES("x(mask)", ({"[2]", "[3]"}), x(v3 > 0.));
    NAMES("x(mask)", ({"2 times", "[3]"}), x(v2 > 0.) = v3);
    NAMES("copy_", ({"[2]", "[3]"}), x(xg::slice()) = v3);
}

TEST_CASE("shapes") {
    NAMES("reshape", ({"[4, 2]", "[2, 3]"}), reshape(m23, {4, 2}));
    NAMES("reshape", ({"[4, 2]", "[2, 3]"}), m23.reshape({4, 2}));
    NAMES("view", ({"[4, 2]", "[2, 3]"}), m23.view({4, 2}));
    NAMES("view", ({"[6]", "[3, 2]"}), m23.t().view({6}));
    NAMES("expand", ({"[2, 3]", "[4, 3]"}), m23.expand({4, 3}));
    NAMES("broadcast_to", ({"[2, 3]", "[4, 3]"}), broadcast_to(m23, {4, 3}));
    NAMES("sum_to", ({"[2, 3]", "[4, 3]"}), sum_to(m23, {4, 3}));
    NAMES("unflatten", ({"[2, 2]", "3", "[2, 3]"}), unflatten(m23, 1, {2, 2}));
    NAMES("permute", ({"[0]", "[2, 3]"}), permute(m23, {0}));
    NAMES("permute", ({"[0]", "[2, 3]"}), m23.permute({0}));
    NAMES("movedim", ({"[0]", "[0, 1]"}), movedim(m23, xg::Axes{0}, xg::Axes{0, 1}));
    NAMES("cat", ({"[2, 3]", "[3, 2]"}), xg::cat(std::vector{m23, m32}));
    NAMES("stack", ({"[2, 3]", "[3, 2]"}), xg::stack(std::vector{m23, m32}));
    NAMES("vstack", ({"[2, 3]", "[3, 2]"}), xg::vstack({m23, m32}));
    NAMES("hstack", ({"[2, 3]", "[3, 2]"}), xg::hstack({m23, m32}));
    NAMES("column_stack", ({"[2, 3]", "[3, 2]"}), xg::column_stack({m23, m32}));
    NAMES("block", ({"[2, 3]", "[3, 2]"}), xg::block<double>({{m23, m32}}));
    NAMES("isclose", ({"[2]", "[3]"}), xg::isclose(v2, v3));
    NAMES("allclose", ({"[2]", "[3]"}), xg::allclose(v2, v3));
    NAMES("masked_fill", ({"[2]", "[3]"}), xg::masked_fill(v2, v3 > 0., 1.));
    NAMES("split", ({"[2, 3]"}), xg::split(m23, 0));
    NAMES("split", ({"[2, 3]"}), m23.split(0));
    NAMES("chunk", ({"[2, 3]"}), xg::chunk(m23, 0));
    NAMES("repeat", ({"[2]", "[2, 3]"}), repeat(m23, {2}));
    NAMES("pad", ({"[1]", "[2, 3]"}), pad(m23, {1}));
    NAMES("pad", ({"[-4, 0]", "[2, 3]"}), pad(m23, {-4, 0}));
    NAMES("diagonal", ({"0", "[2, 3]"}), xg::diagonal(m23, 0, 0, 0));
    NAMES("diag", ({"[2, 3, 4]"}), diag(cube));
    NAMES("trace", ({"[2, 3, 4]"}), trace(cube));
    NAMES("tril", ({"[2]"}), tril(v2));
    NAMES("triu", ({"[2]"}), triu(v2));
    NAMES("diag_embed", ({"a number"}), diag_embed(number));
    NAMES("meshgrid", ({"[2, 3]"}), meshgrid(std::vector{v2, m23}));
    NAMES("roll", ({"[1]", "[0, 1]"}), roll(m23, xg::Axes{1}, xg::Axes{0, 1}));
    NAMES("item", ({"[2]"}), v2.item());
    NAMES("view_as_complex", ({"[2, 3]"}), view_as_complex(m23));
}

TEST_CASE("products") {
    NAMES("matmul", ({"[2, 3]", "[2]"}), matmul(m23, v2));
    NAMES("matmul", ({"[2, 3]", "[2, 2]"}), matmul(m23, m22));
    NAMES("matmul", ({"[2, 3, 4]", "[3, 4, 2]"}), matmul(cube, xg::ones({3, 4, 2})));
    NAMES("dot", ({"[2]", "[3]"}), dot(v2, v3));
    NAMES("vdot", ({"[2]", "[3]"}), vdot(v2, v3));
    NAMES("outer", ({"[2]", "[2, 3]"}), outer(v2, m23));
}

TEST_CASE("axes") {
    NAMES("max", ({"axis 5", "[2, 3]"}), max(m23, 5));
    NAMES("min", ({"axis 5", "[2, 3]"}), m23.min(5));
    auto const axis = [](std::string const& name, auto f, D const& x = m23) {
        CHECK(complaint(name,
                  {"axis 5", "out of range", std::to_string(x.dim()) + " dimensions",
                      "of shape " + text(x.shape())},
                  [&] { f(x, 5); }) == "");
    };
    auto const axes = [&](std::string const& name, auto f) {
        axis(name, [&](D const& x, std::ptrdiff_t d) { f(x, xg::Axes{d}); });
        CHECK(complaint(name, {"twice", "[0, 0]", "of shape [2, 3]"}, [&] {
            f(m23, xg::Axes{0, 0});
        }) == "");
    };
    axes("sum", [](D const& x, xg::Axes const& a) { sum(x, a); });
    axes("mean", [](D const& x, xg::Axes const& a) { mean(x, a); });
    axes("prod", [](D const& x, xg::Axes const& a) { prod(x, a); });
    axes("amax", [](D const& x, xg::Axes const& a) { amax(x, a); });
    axes("amin", [](D const& x, xg::Axes const& a) { amin(x, a); });
    axes("logsumexp", [](D const& x, xg::Axes const& a) { logsumexp(x, a); });
    axes("norm", [](D const& x, xg::Axes const& a) { norm(x, 2, a); });
    axes("var", [](D const& x, xg::Axes const& a) { var(x, a); });
    axes("stddev", [](D const& x, xg::Axes const& a) { stddev(x, a); });
    axes("any_of", [](D const& x, xg::Axes const& a) { any_of(x > 0., a); });
    axes("all_of", [](D const& x, xg::Axes const& a) { all_of(x > 0., a); });
    axes("count_nonzero", [](D const& x, xg::Axes const& a) { count_nonzero(x, a); });
    axes("flip", [](D const& x, xg::Axes const& a) { flip(x, a); });
    axes("fftn", [](D const& x, xg::Axes const& a) { fftn(x, a); });
    axes("ifftn", [](D const& x, xg::Axes const& a) { ifftn(x, a); });
    axes("rfftn", [](D const& x, xg::Axes const& a) { rfftn(x, a); });
    axes("irfftn", [](D const& x, xg::Axes const& a) { irfftn(x, a); });
    axes("fftshift", [](D const& x, xg::Axes const& a) { fftshift(x, a); });
    axes("ifftshift", [](D const& x, xg::Axes const& a) { ifftshift(x, a); });
    axis("shape", [](D const& x, std::ptrdiff_t d) { x.shape(d); });
    axis("fft", [](D const& x, std::ptrdiff_t d) { fft(x, {}, d); });
    axis("ifft", [](D const& x, std::ptrdiff_t d) { ifft(x, {}, d); });
    axis("rfft", [](D const& x, std::ptrdiff_t d) { rfft(x, {}, d); });
    axis("irfft", [](D const& x, std::ptrdiff_t d) { irfft(x, {}, d); });
    axis("transpose", [](D const& x, std::ptrdiff_t d) { transpose(x, 0, d); });
    axis("transpose", [](D const& x, std::ptrdiff_t d) { x.transpose(0, d); });
    axis("permute", [](D const& x, std::ptrdiff_t d) { permute(x, {0, d}); });
    axis("movedim", [](D const& x, std::ptrdiff_t d) { movedim(x, 0, d); });
    axis("squeeze", [](D const& x, std::ptrdiff_t d) { squeeze(x, d); });
    axis("unflatten", [](D const& x, std::ptrdiff_t d) { unflatten(x, d, {1, 1}); });
    axis("unbind", [](D const& x, std::ptrdiff_t d) { xg::unbind(x, d); });
    axis("unbind", [](D const& x, std::ptrdiff_t d) { x.unbind(d); });
    axis("split", [](D const& x, std::ptrdiff_t d) { xg::split(x, 1, d); });
    axis("chunk", [](D const& x, std::ptrdiff_t d) { xg::chunk(x, 1, d); });
    axis("diagonal", [](D const& x, std::ptrdiff_t d) { x.diagonal(0, 0, d); });
    axis("cat", [](D const& x, std::ptrdiff_t d) { xg::cat(std::vector{x, x}, d); });
    axis("repeat_interleave", [](D const& x, std::ptrdiff_t d) { repeat_interleave(x, 2, d); });
    axis("roll", [](D const& x, std::ptrdiff_t d) { roll(x, 1, d); });
    axis("cumsum", [](D const& x, std::ptrdiff_t d) { cumsum(x, d); });
    axis("cumprod", [](D const& x, std::ptrdiff_t d) { cumprod(x, d); });
    axis("logcumsumexp", [](D const& x, std::ptrdiff_t d) { logcumsumexp(x, d); });
    axis("argmax", [](D const& x, std::ptrdiff_t d) { argmax(x, d); });
    axis("argmin", [](D const& x, std::ptrdiff_t d) { argmin(x, d); });
    axis("sort", [](D const& x, std::ptrdiff_t d) { sort(x, d); });
    axis("argsort", [](D const& x, std::ptrdiff_t d) { argsort(x, d); });
    axis("topk", [](D const& x, std::ptrdiff_t d) { topk(x, 1, d); });
    axis("median", [](D const& x, std::ptrdiff_t d) { median(x, d); });
    axis("quantile", [](D const& x, std::ptrdiff_t d) { quantile(x, 0.5, d); });
    axis("gather", [](D const& x, std::ptrdiff_t d) { gather(x, d, I({{0}})); });
    axis("scatter_add",
        [](D const& x, std::ptrdiff_t d) { scatter_add(x, d, I({{0}}), D({{1.}})); });
    axis("index_select", [](D const& x, std::ptrdiff_t d) { index_select(x, d, I({0})); });
    axis("index_add", [](D const& x, std::ptrdiff_t d) { index_add(x, d, I({0}), x); });
    axis("softmax", [](D const& x, std::ptrdiff_t d) { f::softmax(x, d); });
    axis("log_softmax", [](D const& x, std::ptrdiff_t d) { f::log_softmax(x, d); });
    auto const new_axis = [](std::string const& name, auto f) {
        CHECK(complaint(name, {"axis 5", "out of range", "of shape [2, 3]"}, [&] { f(m23, 5); }) ==
              "");
    };
    new_axis("unsqueeze", [](D const& x, std::ptrdiff_t d) { unsqueeze(x, d); });
    new_axis("stack", [](D const& x, std::ptrdiff_t d) { xg::stack(std::vector{x, x}, d); });
    NAMES("mT", ({"axis -2", "1 dimensions", "[2]"}), mT(v2));
    NAMES("unbind", ({"axis 0", "0 dimensions", "[]"}), xg::unbind(number));
}

TEST_CASE("picking by numbers, orders, lengths") {
    NAMES("gather", ({"[2, 3]", "[1]"}), gather(m23, 0, I({0})));
    NAMES("gather", ({"index 5", "axis 0", "extent 2"}), gather(m23, 0, I({{5}})));
    NAMES("index_select", ({"[1, 1]"}), index_select(m23, 0, I({{0}})));
    NAMES("index_select", ({"index 7", "axis 0", "extent 2"}), index_select(m23, 0, I({7})));
    NAMES("index_add", ({"[2, 3]"}), index_add(m23, 0, I({0}), v2));
    NAMES("scatter_add", ({"[2, 3]"}), scatter_add(m23, 0, I({0}), v2));
    NAMES("topk", ({"9", "[2, 3]"}), topk(m23, 9));
    NAMES("quantile", ({"between 0 and 1"}), quantile(v2, 2.));
    NAMES("amax", ({"[0]"}), amax(xg::zeros({0})));
    NAMES("argmax", ({"[0]"}), argmax(xg::zeros({0}), 0));
    NAMES("fft", ({"at least one point"}), fft(v2, 0));
}

TEST_CASE("an index that has too many numbers, or one out of range") {
    for (auto const part : {"too many indices", "2 dimensions", "3 of them", "[2, 3]"})
        CHECK(message_of<xg::IndexError>([] { m23(0, 1, 2); }).find(part) != std::string::npos);
    for (auto const part : {"index 3", "axis 1", "extent 3"})
        CHECK(message_of<xg::IndexError>([] { m23(0, 3); }).find(part) != std::string::npos);
}

TEST_CASE("functions of networks") {
    NAMES("dropout", ({"probability"}), f::dropout(v2, 2.));
    NAMES("dropout2d", ({"[2]"}), f::dropout2d(v2));
    NAMES("mse_loss", ({"[2]", "[3]"}), f::mse_loss(v2, v3));
    NAMES("l1_loss", ({"[2]", "[3]"}), f::l1_loss(v2, v3));
    NAMES("smooth_l1_loss", ({"[2]", "[3]"}), f::smooth_l1_loss(v2, v3));
    NAMES("huber_loss", ({"[2]", "[3]"}), f::huber_loss(v2, v3));
    NAMES("binary_cross_entropy_with_logits", ({"[2]", "[3]"}),
        f::binary_cross_entropy_with_logits(v2, v3));
    NAMES("kl_div", ({"[2]", "[3]"}), f::kl_div(v2, v3));
    NAMES("cross_entropy", ({"[2, 3]", "[3]"}), f::cross_entropy(m23, I({0, 1, 2})));
    NAMES("nll_loss", ({"[2, 3]", "[3]"}), f::nll_loss(m23, I({0, 1, 2})));
    NAMES("cosine_embedding_loss", ({"[2, 3]", "[3, 2]"}), f::cosine_embedding_loss(m23, m32, v2));
    NAMES("triplet_margin_loss", ({"[2, 3]", "[3, 2]"}), f::triplet_margin_loss(m23, m32, m23));
    NAMES("layer_norm", ({"[2, 3]", "[2]"}), f::layer_norm(m23, {2}));
    NAMES("group_norm", ({"[2, 3]"}), f::group_norm(m23, 2));
    NAMES("conv1d", ({"[2, 3]"}), f::conv1d(cube, m23));
    NAMES("embedding", ({"index 9", "axis 0", "extent 2"}), f::embedding(I({9}), m23));
}

// Operations on whole arrays, and what brings numbers to the shape and domain that others need.
#include "program.hpp"

namespace composed {

namespace {

/// Elements of x in a shape: numbers are an offset and the extents.
Value gathered(Call const& c) {
    auto const& numbers = c.at.numbers;
    xg::Axes extents;
    std::size_t count = 1;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        extents.push_back(static_cast<std::ptrdiff_t>(numbers[i]));
        count *= static_cast<std::size_t>(numbers[i]);
    }
    return std::visit(
        [&](auto const& x) -> Value {
            auto const n = static_cast<std::int64_t>(x.numel());
            std::vector<std::int64_t> index;
            for (std::size_t i = 0; i < count; ++i)
                index.push_back((static_cast<std::int64_t>(i) + numbers[0]) % n);
            return xg::eval(xg::reshape(xg::take(xg::flatten(x), I(index)), extents));
        },
        c.operands[0]);
}

} // namespace

// clang-format off
void add_arrays(Catalogue& all) {
    std::string group = "adapter";
    REAL("*", xg::complex(a, 0.5 * a));
    COMPLEX("*", real(a) + 0.5 * imag(a));
    REAL("*", a / sqrt(1. + 0.25 * square(a)));
    COMPLEX("*", a / (1. + 0.2 * abs2(a)));
    Operation gather{"gather", "gather", {{'A', "*"}}};
    gather.call = gathered;
    gather.group = group;
    gather.print = [](Instruction const& at, std::vector<std::string> const& x) {
        xg::Shape shape;
        for (std::size_t i = 1; i < at.numbers.size(); ++i)
            shape.push_back(static_cast<std::size_t>(at.numbers[i]));
        return "elements(" + x[0] + ", " + std::to_string(at.numbers[0]) + ", " + braces(shape) + ")";
    };
    all.add(std::move(gather));
    auto const domain = [&](char const* name) { all.all.back()->name = name; };
    REAL("*", 0.4 + a * a / (1. + a * a)); domain("positive");
    REAL("*", 0.8 * sin(a)); domain("unit");
    REAL("*", 1.2 + square(sin(a))); domain("above1");
    REAL("*", sigmoid(a)); domain("probability");
    REAL("*", xg::eye(a.shape(-1)) + 0.25 * sin(a)); domain("regular");
    REAL("*", xg::eye(a.shape(-1)) + 0.1 * matmul(sin(a), mT(sin(a)))); domain("definite");
    REAL("*", xg::diag_embed(xg::arange(1., 1. + static_cast<double>(a.shape(-1)))) + 0.1 * (sin(a) + mT(sin(a)))); domain("symmetric");
    REAL("*", xg::eye(3)(xg::slice(0, static_cast<std::ptrdiff_t>(a.shape(-2))), xg::slice(0, static_cast<std::ptrdiff_t>(a.shape(-1)))) * xg::arange(1., 1. + static_cast<double>(a.shape(-1))) + 0.2 * sin(a)); domain("ranked");
    COMPLEX("*", 1.5 + a / (1. + abs2(a))); domain("complex positive");
    COMPLEX("*", a / (1. + abs2(a))); domain("complex unit");
    COMPLEX("*", xg::eye(a.shape(-1)) + 0.4 * a / (1. + abs2(a))); domain("complex regular");
    COMPLEX("*", xg::eye(a.shape(-1)) + 0.2 * matmul(a, adjoint(a)) / (1. + sum(abs2(a)))); domain("complex definite");

    group = "number";
    REAL("*", sum(a));
    REAL("*", sum(sin(a)));
    REAL("*", mean(square(a)));
    REAL("*", xg::sum(a * a * a) + a.sum() * a.mean());
    group = "complex number";
    COMPLEX("*", sum(abs2(a)));
    COMPLEX("*", sum(real(a * a)));
    COMPLEX("*", sum(real(a) + 0.3 * imag(a)));

    group = "reduction";
    REAL("+", sum(a, {0}));
    REAL("+", a.sum({-1}, true) * a.mean({0}));
    REAL("n,m", sum(a * a, {0, 1}, xg::keepdims));
    REAL("+", a - mean(a, 0));
    REAL("*", prod(a) + a.prod() * a.sum());
    REAL("+", prod(a, 0) + a.prod({-1}));
    REAL("*", amax(a) * a.amin());
    REAL("+", amin(a, 0) * a.amax({-1}).sum());
    REAL("+", xg::logsumexp(a, 0) * a.logsumexp());
    REAL("3,n", xg::var(a) * a.stddev({0}));
    REAL("*", norm(a) * a);
    REAL("* positive", norm(a, 3.) + norm(a, 1.));
    REAL("+", norm(a, 2., 0));
    REAL("+", cumsum(a, 0) * a.cumsum(-1));
    REAL("+", cumprod(a, 0));
    REAL("+", xg::logcumsumexp(a, 0));
    REAL("n,n", trace(a) * a);
    REAL("4", xg::trapezoid(a, 0.5));
    REAL2("4", "4", xg::trapezoid(a, b) * xg::diff(a));
    REAL("5", xg::diff(a, 2) * 2.);
    REAL("n,m", xg::sum_to(a, {1, a.shape(1)}));
    COMPLEX("+", sum(a, 0) * mean(conj(a)));
    COMPLEX("+", cumsum(a, 0) + cumprod(a, 0));
    COMPLEX("+", prod(a, 0) * a);
    COMPLEX("*", norm(a) * a);
    COMPLEX("3,2", xg::var(a) * a);
    COMPLEX("n,n", trace(a) * a);

    group = "ordering";
    REAL_T("4", xg::sort(a).values * a + a.sort().values);
    REAL_T("3,2", xg::sort(a, 0, true).values * a);
    REAL_T("4", xg::topk(a, 2).values * a.topk(2).values);
    REAL_T("5", xg::median(a) + a.median() * a(0));
    REAL_T("3,2", xg::median(a, 0).values);
    REAL_T("4", xg::quantile(a, 0.3) + a.quantile(0.6) + xg::percentile(a, 40.));
    REAL_T("4,2", xg::quantile(a, 0.7, 0) + xg::percentile(a, 20., 0));
    REAL_T("4", a(xg::argsort(a)) * a + a.take(a.argsort(), 0) * a(0));
    REAL_T("4", a(xg::argmax(a)) + a(xg::argmin(a)) * a + a(a.argmax()) - a(a.argmin()));
    REAL_T("4", sum(a(a > 0.1)) + xg::masked_select(a, a < 0.3).sum() * a(0));

    for (auto const& each : all.all)
        if (each->group == "ordering") each->reads_values = true;

    group = "view";
    REAL("+", a * a(-1));
    REAL("+", a * a[0] + a(xg::ellipsis));
    REAL("4", a(xg::slice(1, 4)) * a(xg::slice(0, 3)) + a(xg::range(0, 3)));
    REAL("3,2", a(xg::all, 0) * a(xg::all, 1) + a(xg::slice(0, 3), 1));
    REAL("3,3", a(xg::newaxis, xg::ellipsis, xg::slice(0, 3, 2)) * a(0, 0));
    REAL("2,3", transpose(a) + a.t() * mT(a) + a.transpose() + xg::permute(a, {1, 0}) + a.permute({1, 0}));
    REAL("2,3,2", xg::movedim(a, 0, 2) + xg::moveaxis(a, 0, -1) + transpose(a, 0, 1).transpose(1, 2) + xg::swapaxes(a, 0, 1).movedim(1, 2));
    REAL("n,m", xg::flatten(a) * a.reshape({-1}) + xg::ravel(a) + a.flatten() - a.ravel());
    REAL("4", reshape(a, {2, 2}) * a.view({2, 2}) + xg::unflatten(a, 0, {2, 2}));
    REAL("n,1", xg::squeeze(a, 1) * a.squeeze(-1) + xg::unsqueeze(xg::squeeze(a), 0));
    REAL("+", xg::unsqueeze(a, 0) * a.unsqueeze(0) + xg::expand_dims(a, 0));
    REAL("n", xg::broadcast_to(a, {2, a.shape(0)}) * a.broadcast_to({2, a.shape(0)}) + a.expand({2, -1}));
    REAL("3", a.select(0, 1) * a.narrow(0, 0, 2) + xg::select(a, 0, 2) * xg::narrow(a, 0, 1, 2));
    REAL("3,3", xg::diagonal(a) * a.diagonal() + xg::diag(a));
    REAL("3", xg::diag(a) + xg::diag_embed(a) + xg::diag(a));
    REAL("3,3", xg::tril(a) * xg::triu(a, -1) + a.tril() - a.triu());
    REAL("4", [&] { auto const p = xg::split(a, 2, 0); auto const q = a.chunk(2, 0); return xg::eval(p[0] * p[1] + q[0] - q[1]); }());
    REAL("3,2", [&] { auto const p = xg::unbind(a, 1); auto const q = a.unbind(0); return xg::eval(p[0] * p[1] + q[0](0)); }());
    REAL("4", [&] { auto const p = xg::chunk(a, 2); auto const q = a.split(2); return xg::eval(p[0] * p[1] + q[1]); }());
    REAL("3,2", xg::view_as_complex(a) * 2.);
    REAL("n,2", abs2(xg::view_as_complex(a)));
    COMPLEX("*", xg::view_as_real(a));
    COMPLEX("+", a * a(0) + conj(a[0]));
    COMPLEX("2,3", adjoint(a) + mT(a) * 2. + a.t());
    COMPLEX_T("2,3", a.H() + a.T() + a.mT());
    REAL_T("2,3", a.T() * a.mT() + a.H());
    REAL_T("2,3", a.view_as(a) * a.reshape_as(a) + a.expand_as(a) * a.detach() * 0.);
    REAL_T("3,2", xg::view(a, xg::all, 0) * a(xg::all, 1));
    COMPLEX("2,3", xg::diagonal(a) + a(xg::slice(0, 2), 0) * conj(a(xg::slice(0, 2), 1)));
    COMPLEX("3,3", xg::tril(a) + xg::triu(conj(a), 1) + xg::flip(a, {0}));

    group = "copying";
    REAL("+", xg::flip(a, 0) * a + a.flip(-1));
    REAL("2,3", xg::flipud(a) * xg::fliplr(a) + xg::flip(a));
    REAL("+", roll(a, 1, 0) * a + a.roll(1, -1));
    REAL("2,3", roll(a, 2) + roll(a, {1, 1}, {0, 1}));
    REAL("n,m", xg::tile(a, {2, 1}) + xg::repeat(a, {2, 1}) * a.repeat({2, 1}) + a.tile(xg::Shape{2, 1}));
    REAL("n,m", xg::repeat_interleave(a, 2, 1) * a.repeat_interleave(2, 1));
    REAL_T("3", xg::repeat_interleave(a, I({2, 0, 1}), 0) * 2.);
    REAL("n,3", xg::pad(a, {1, 2, 0, 1}) * 2. + sum(a));
    REAL("4", xg::pad(a, {1, 2}, "reflect") * xg::pad(a, {2, 1}, "replicate") + xg::pad(a, {1, 2}, "circular"));
    REAL("4", xg::fftshift(a) * xg::ifftshift(a));
    REAL("+", a.clone() * a + xg::cast<double>(a) - a.detach() * 0.);
    REAL_T("+", a.copy() * a.contiguous() + a.template to<double>() + a.template astype<double>());
    REAL2("n,m", "n,m", xg::cat({a, b}, 0) * 2.);
    REAL2("n,m", "n,m", xg::stack({a, b}, 1) * xg::stack({b, a}, 1));
    REAL2("n", "n", xg::cat(std::tuple(a, 2. * b, a), 0));
    REAL2("n,m", "n,m", xg::concatenate(std::tuple(a, b), 1));
    REAL2_T("n", "n", xg::vstack({a, b}) * xg::column_stack({a, b}).sum() + sum(xg::hstack({a, b})));
    REAL2_T("n,m", "n,m", xg::block({{a, b}, {b, a}}) * 0.5);
    REAL2_T("2", "3", [&] { auto const g = xg::meshgrid(a, b); return xg::eval(g[0] * g[1] + g[0]); }());
    COMPLEX("+", roll(a, 1, 0) * conj(a) + a.flip(0) + xg::cast<std::complex<double>>(real(a)));
    COMPLEX2("n,m", "n,m", xg::cat({a, b}, 0) * 2. + sum(a));
    COMPLEX2("n", "n", xg::stack(std::tuple(a, conj(b)), -1));
    COMPLEX("n,3", xg::pad(a, {1, 2}) * 2. + xg::tile(sum(a, {1}, true), {1, 6}));

    group = "indexing";
    REAL("4", a(I({2, 0, 2})) * a(I({1, 1, 3})));
    REAL("2,4", a(xg::all, I({3, -1})) + a(I({0, 1}), I({3, 2})));
    REAL("2,3", xg::index_select(a, 1, I({2, 2})) * a.index_select(1, I({0, 1})));
    REAL("2,3", xg::take(a, I({5, 0, 5})) + xg::take(a, I({1, 1, 0}), 1)(0) + a.take(I({0, 0, 1}), 1)(1));
    REAL("2,3", xg::gather(a, 1, I({{1, 0}, {2, 2}})) * a.gather(1, I({{0, 0}, {0, 1}})));
    REAL2("4", "3", xg::scatter_add(a, 0, I({1, 1, 0}), b) + a.scatter_add(0, I({3, 3, 3}), b * b));
    REAL2_T("4", "3", xg::index_add(a, 0, I({1, 1, 0}), b) * a.index_add(0, I({2, 0, 2}), b));
    REAL2_T("3,2", "2", [&] { auto t = a.clone(); t(I({2, 0})) = b; t(1) = b * b; return t; }());
    REAL2_T("4", "*", [&] { auto t = a.clone(); t(a > 0.2) = 0.7; t.masked_fill_(a < -0.3, -1.); return xg::eval(t * sum(b)); }());
    COMPLEX("4", a(I({2, 0, 2})) * conj(a(I({1, 1, 3}))));
    COMPLEX("2,3", xg::gather(a, 1, I({{1, 0}, {2, 2}})) + xg::take(a, I({5, 0})));
    COMPLEX2_T("4", "3", xg::scatter_add(a, 0, I({1, 1, 0}), b) + xg::index_add(a, 0, I({1, 1, 0}), conj(b)));

    group = "in place";
    REAL_T("+", [&] { auto t = a.clone(); t += 2. * a; t *= a; t -= 1.; t /= 2. + a * a; t %= 5.; return t; }());
    REAL_T("+", [&] { auto t = a.clone(); t(0) *= 2.; t.sin_().mul_(a).add_(1.).sub_(a); auto u = t(0); t(0) = u * u; return t; }());
    REAL_T("* positive", [&] { auto t = a.clone(); t.sqrt_().log_().exp_().rsqrt_().reciprocal_(); t.log1p_().log2_(); return t; }());
    REAL_T("*", [&] { auto t = a.clone(); t.cos_().tan_().sinh_().cosh_(); t.tanh_().asinh_(); return t; }());
    REAL_T("* unit", [&] { auto t = a.clone(); t.asin_(); auto u = a.clone(); u.acos_().atan_(); auto v = a.clone(); v.atanh_().abs_(); return xg::eval(t * u + v); }());
    REAL_T("*", [&] { auto t = a.clone(); t.sigmoid_().softplus_().square_().relu_().neg_().expm1_(); return t; }());
    REAL_T("* above1", [&] { auto t = a.clone(); t.acosh_().log10_(); auto u = a.clone(); u.lgamma_(); auto v = a.clone(); v.digamma_(); return xg::eval(t + u * v); }());
    REAL_T("*", [&] { auto t = a.clone(); t.erf_().erfc_().sinc_().nan_to_num_(); auto u = a.clone(); u.sign_(); auto v = a.clone(); v.sgn_(); return xg::eval(t * a + u * a * v); }());
    REAL_T("*", [&] { auto t = a.clone(); t.floor_(); auto u = a.clone(); u.ceil_(); auto v = a.clone(); v.round_(); auto w = a.clone(); w.trunc_(); return xg::eval(a * t + u * v * w); }());
    REAL2_T("n,m", "m", [&] { auto t = a.clone(); t.div_(2. + b * b).pow_(2.).minimum_(b).maximum_(-0.5).remainder_(3.); t.clamp_(-0.4, 0.9).clamp_min_(-0.3).clamp_max_(0.8); return t; }());
    REAL_T("+", [&] { auto t = a.clone(); t.copy_(a * a); auto u = t(0); u.zero_(); auto v = t(-1); v.fill_(0.3); t += a; return t; }());
    REAL_T("*", [&] { auto t = a.clone(); t.apply_(xg::Square{}); t.fill(0.2); return xg::eval(t + a); }());
    REAL("+", [&] { auto t = a.clone(); t += a; t *= a; return t; }());
    COMPLEX_T("+", [&] { auto t = a.clone(); t *= a; t += conj(a); t.conj_().square_(); t(0) = conj(t(0)); return t; }());
    COMPLEX_T("+", [&] { auto t = a.clone(); t.real() *= 2.; t.imag() += a.real(); return t; }());

    REAL("n", xg::on_batch([](auto const& t) { return 2. * t + xg::flip(t, 1); }, a));
    REAL_T("+", xg::on_batch([](auto const& t) { return 2. * t; }, a) * xg::ones_like(a) + xg::zeros_like(a) + xg::full_like(a, 0.3));

    group = "fourier";
    REAL("4", xg::fft(a) * 2.);
    REAL("n,3", xg::rfft(a) + 1.);
    REAL("2,3", xg::rfftn(a) * 0.5);
    REAL("4", xg::irfft(xg::rfft(a) * 2., 4) + real(xg::ifft(a)));
    REAL("2,3", abs2(xg::fft2(a)) + real(xg::ifft2(a)));
    COMPLEX("4", xg::fft(a) * conj(xg::ifft(a)));
    COMPLEX("2,3", xg::fftn(a) - xg::ifftn(conj(a)) + xg::fft(a, "ortho"));
    COMPLEX("3", xg::irfft(a, 4) * 2.);
    COMPLEX("2,3", xg::irfftn(a) * 1.);
}
// clang-format on

} // namespace composed

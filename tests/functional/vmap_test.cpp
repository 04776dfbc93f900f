// vmap() against a loop over the examples: elementwise operations and reductions.
#include "functional/vmap_check.hpp"

TEST_CASE("vmap: elementwise operations and their broadcasts") {
    D const v = some({3, 4}), m = some({3, 2, 4}, 1.), s = some({3}), w = some({4}),
            big = some({2, 4});
    CHECK_LOOP(tanh(x) * 2. + exp(-x) / (x + 1.), v);
    CHECK_LOOP(x * w + big, v);
    CHECK_LOOP(pow(x, 3) + pow(x, 0.5) + clamp(x, 0.5, 2.), v);
    CHECK_LOOP(where(x > 1., x, -w), v);
    CHECK_LOOP(x > 1., v);
    CHECK_LOOP(-x + +x, v);
    CHECK_LOOP2(x * y, v, m);
    CHECK_LOOP2((x * 2. + w) * (y + big), v, m);
    CHECK_LOOP2(x - y, s, m);
    CHECK_LOOP2(maximum(x, y) + atan2(y, x), v, m);
    CHECK_LOOP(abs2(x) + real(x * conj(x)), complex_numbers({3, 4}));
    CHECK_LOOP(x * 2 + 1, I({{1, 2}, {3, 4}}));
    CHECK_LOOP(where(x, w, 0.),
        xg::Tensor<bool>({{true, false, true, false}, {true, true, false, false}}));
    auto const fused = xg::vmap([&](auto const& x) { return sum(exp(x) * w + big); })(v);
    CHECK(fused.grad_fn()->formula() == "Sum(Add(Mul(Exp(a), b), c))");
}

TEST_CASE("vmap: reductions") {
    D const m = some({3, 2, 4}), v = some({3, 4});
    CHECK_LOOP(sum(x), m);
    CHECK_LOOP(sum(x, 0), m);
    CHECK_LOOP(sum(x, {-1}, true), m);
    CHECK_LOOP(mean(x * x, 1), m);
    CHECK_LOOP(prod(x, 0), m);
    CHECK_LOOP(prod(x), m);
    CHECK_LOOP(x.max(), m);
    CHECK_LOOP(amin(sin(x), {-1}), m);
    CHECK_LOOP(var(x, 1), m);
    CHECK_LOOP(stddev(x), m);
    CHECK_LOOP(norm(x), m);
    CHECK_LOOP(norm(x, 3., 0), m);
    CHECK_LOOP(logsumexp(x), m);
    CHECK_LOOP(logsumexp(x, 0, true), m);
    CHECK_LOOP(cumsum(x, 0) + cumprod(x, 1) + logcumsumexp(x, -1), m);
    CHECK_LOOP(argmax(x, 1), m);
    CHECK_LOOP(argmin(x), m);
    CHECK_LOOP(argsort(x), m);
    CHECK_LOOP(sort(x, 0), m);
    CHECK_LOOP(sort(x).values, m);
    CHECK_LOOP(topk(x, 2), m);
    CHECK_LOOP(median(x, 1), m);
    CHECK_LOOP(quantile(x, 0.3) + quantile(x, 0.7, 0), m);
    CHECK_LOOP(count_nonzero(x > 1.5), m);
    CHECK_LOOP(all_of(x > 0.6, 0), m);
    CHECK_LOOP(diff(x), m);
    CHECK_LOOP(diff(x, 1, 0), m);
    CHECK_LOOP(trapezoid(x, 0.5, 0), m);
}

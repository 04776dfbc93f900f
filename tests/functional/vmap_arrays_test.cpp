// vmap() against a loop over the examples: shapes, indices and joins.
#include "functional/vmap_check.hpp"

TEST_CASE("vmap: shapes") {
    D const m = some({3, 2, 4}), v = some({3, 4}), one = some({3, 1, 4, 1}),
            square = some({3, 4, 4});
    CHECK_LOOP(reshape(x, {4, -1}), m);
    CHECK_LOOP(x.reshape(8), m);
    CHECK_LOOP(x.view({2, 2, 2}) * 2., m);
    CHECK_LOOP(flatten(x), m);
    CHECK_LOOP(transpose(x), m);
    CHECK_LOOP(x.t(), m);
    CHECK_LOOP(transpose(x, 0, -1) + mT(x), m);
    CHECK_LOOP(permute(x, {-1, 0}), m);
    CHECK_LOOP(x.permute(1, 0), m);
    CHECK_LOOP(movedim(x, 0, 2), square(xg::all, xg::newaxis));
    CHECK_LOOP(squeeze(x), one);
    CHECK_LOOP(squeeze(x, 0), one);
    CHECK_LOOP(unsqueeze(x, -1), v);
    CHECK_LOOP(expand_dims(x, 0) * x, v);
    CHECK_LOOP(broadcast_to(x, {3, 2, 4}), m);
    CHECK_LOOP(broadcast_to(x, {2, 4}), v);
    CHECK_LOOP(x.expand({2, -1}), v);
    CHECK_LOOP(unflatten(x, 1, {2, 2}), m);
    CHECK_LOOP(flip(x, {0, 1}), m);
    CHECK_LOOP(roll(x, 1, 0) + roll(x, 3), m);
    CHECK_LOOP(tile(x, {2, 3}), m);
    CHECK_LOOP(x.repeat(2, 1, 2), m);
    CHECK_LOOP(repeat_interleave(x, 2, 0), m);
    CHECK_LOOP(pad(x, {1, 2, -1, 1}), m);
    CHECK_LOOP(pad(x, {1, 2}, "reflect"), m);
    CHECK_LOOP(tril(x) + triu(x, 1) * 2., square);
    CHECK_LOOP(diag(x), v);
    CHECK_LOOP(diag(x, 1), square);
    CHECK_LOOP(trace(x), square);
    CHECK_LOOP(diag_embed(x, -1), m);
    CHECK_LOOP(diagonal(x), square);
    CHECK_LOOP(cast<float>(x) > 1.f, m);
    CHECK_LOOP(abs(fft(x)), m);
    CHECK_LOOP(irfft(rfft(x, 6)), m);
    CHECK_LOOP(fftn(x), complex_numbers({3, 2, 4}));
    CHECK_LOOP(real(view_as_complex(reshape(x, {4, 2}))), m);
    CHECK_LOOP(view_as_real(x), complex_numbers({3, 4}));
    CHECK_LOOP(cross(x, x * x + 1.), some({2, 4, 3}));
    CHECK_LOOP(x.detach() + x.clone(), v);
    CHECK_LOOP(ones_like(x) * x + zeros_like(x), v);
    CHECK_LOOP(fftshift(x), m);
}

TEST_CASE("vmap: indices") {
    D const m = some({3, 2, 4}), v = some({3, 4}), w = some({5, 4});
    I const each({{1, 0, 3}, {2, 2, -1}, {0, 1, -4}}), one({0, 1, 3}), scalar({2, 0, -1});
    CHECK_LOOP(x(0), m);
    CHECK_LOOP(x[1], m);
    CHECK_LOOP(x(-1, xg::slice(1, 3)), m);
    CHECK_LOOP(x(xg::all, 2), m);
    CHECK_LOOP(x(xg::ellipsis, 0) + x(xg::ellipsis, -1), m);
    CHECK_LOOP(x(xg::newaxis, xg::ellipsis, xg::slice(0, 4, 2)), m);
    CHECK_LOOP(x.select(1, 2) + x.narrow(1, 1, 2)(xg::all, 0), m);
    CHECK_LOOP(x(I({2, 0, 0})), v);
    CHECK_LOOP(x(xg::all, I({2, -1})), m);
    CHECK_LOOP(x(I({0, 1}), I({3, 2})), m);
    CHECK_LOOP(index_select(x, 1, I({3, 3})), m);
    CHECK_LOOP(take(x, I({{5, 0}, {7, 7}})), m);
    CHECK_LOOP(take(x, I({1, 1, 0}), 0), m);
    CHECK_LOOP(gather(x, 1, I({{1, 0}, {3, 3}})), m);
    CHECK_LOOP(x(xg::Tensor<bool>({true, false, true, true})), v);
    CHECK_LOOP2(x(y), v, each);
    CHECK_LOOP2(x(y), v, scalar);
    CHECK_LOOP2(x(xg::all, y), m, each);
    CHECK_LOOP2(x(0, y), m, each);
    CHECK_LOOP2(x(I({1, 0, 1}), y), m, each);
    CHECK_LOOP2(take(x, y, 1), m, each);
    CHECK_LOOP2(take(x, y), m, each);
    CHECK_LOOP2(take(w, x, 0) * y, one, v);
    CHECK_LOOP2(gather(x, 0, where(y < 0, 0, y)), v, each);
    CHECK_LOOP2(scatter_add(x, 0, where(y < 0, 0, y), x(xg::slice(0, 3)) * 2.), v, each);
    CHECK_LOOP(x(argmax(x)), v);
    auto parts = [](auto const& x) { return x.unbind(1); };
    vmap_check::check_loop(
        "unbind",
        [](auto const& x) {
            auto p = x.unbind();
            return p[0] * p[1];
        },
        m);
    vmap_check::check_loop(
        "split",
        [](auto const& x) {
            auto p = x.split(3, 1);
            return std::tuple(p[0], p[1]);
        },
        m);
    vmap_check::check_loop(
        "chunk", [](auto const& x) { return chunk(x, 2, 1)[1]; }, m);
    CHECK(xg::vmap(parts)(m).size() == 4);
}

TEST_CASE("vmap: joins") {
    D const v = some({3, 4}), u = some({3, 4}, 1.), w = some({4}, 2.);
    CHECK_LOOP2(cat(std::tuple(x, 2. * y, w), 0), v, u);
    CHECK_LOOP2(stack(std::tuple(x, y), -1), v, u);
    CHECK_LOOP2(cat(std::tuple(w, x)) + cat(std::tuple(y, w)), v, u);
    CHECK_LOOP2(xg::stack({x, y}, 1), v, u);
    CHECK_LOOP2(xg::cat({x, y}), v, u);
    CHECK(xg::cat<double>({v, 2. * u}).shape() == xg::Shape{6, 4}); // of tensors, with their type
}

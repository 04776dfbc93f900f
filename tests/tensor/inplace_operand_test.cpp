// Changes in place with a second real tensor, compared with their out-of-place forms.
#include "inplace_forms.hpp"

#define SCALARS double, double
TEST_CASE("operations with a second real tensor in place, of the same shape and repeated") {
    for (auto const& shape : {xg::Shape{2, 3}, xg::Shape{3}, xg::Shape{2, 1}, xg::Shape{}}) {
        Point const any{real({2, 3}, 1, 0.25, 2), real(shape, 2, 0.5, 1.5)};
        IS_THE_SAME(x += b, x + b, any);
        IS_THE_SAME(x -= b, x - b, any);
        IS_THE_SAME(x *= b, x * b, any);
        IS_THE_SAME(x /= b, x / b, any);
        IS_THE_SAME(x.add_(b), x + b, any);
        IS_THE_SAME(x.sub_(b), x - b, any);
        IS_THE_SAME(x.mul_(b), x * b, any);
        IS_THE_SAME(x.div_(b), x / b, any);
        IS_THE_SAME(x.pow_(b), pow(x, b), any);
        IS_THE_SAME(x.minimum_(b), minimum(x, b), any);
        IS_THE_SAME(x.maximum_(b), maximum(x, b), any);
        IS_THE_SAME(x.clamp_(b, b + 0.25), clamp(x, b, b + 0.25), any);
        IS_THE_SAME(x.clamp_min_(b), clamp_min(x, b), any);
        IS_THE_SAME(x.clamp_max_(b), clamp_max(x, b), any);
        IS_THE_SAME(x.copy_(b), x * 0 + b, any);
        IS_THE_SAME(x.copy_(b * x), b * x, any);
        IS_THE_SAME(x *= exp(b) * x + b, x * (exp(b) * x + b), any);
        IS_THE_SAME((x *= b, x += b, x *= b), (x * b + b) * b, any);
    }
}
#undef SCALARS

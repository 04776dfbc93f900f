// expect: vmap: `x\(index\) \+= y` of an index tensor or a mask changes a copy
#include <xgrad/vmap.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., -2.}, {3., 4.}});
    xgrad::Tensor<std::int64_t> const index({0, 1});
    auto const f = [&](auto const& v) {
        auto w = v.clone();
#ifdef MISTAKE
        w(index) += 1.;
#else
        w(xgrad::slice(0, 2)) += 1.;
#endif
        return w;
    };
    xgrad::Tensor<double> const y = xgrad::vmap(f)(x);
}

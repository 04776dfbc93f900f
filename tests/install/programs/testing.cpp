#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/testing/to_dot.hpp>
#include <xgrad/xgrad.hpp>

int main() {
    using D = xgrad::Tensor<double>;
    D x({1., 2.}, xgrad::requires_grad);
    D y = sum(sin(x));
    bool const right = xgrad::gradcheck([](D const& a) { return D(sum(sin(a))); }, x);
    return right && xgrad::to_dot(y).starts_with("digraph") ? 0 : 1;
}

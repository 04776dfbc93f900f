// expect: view = value: of a loop over x.unbind\(\)
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}, {3., 4.}});
#ifdef MISTAKE
    for (auto row : x.unbind()) row = 1.;
#else
    for (auto row : x.unbind()) row.fill_(1.);
#endif
}

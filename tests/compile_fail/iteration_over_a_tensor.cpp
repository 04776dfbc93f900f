// expect: (?s)error: .*write x\.array\(\) for the elements, x\.unbind\(\) for the rows
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({{1., 2.}, {3., 4.}});
    double total = 0.;
#ifdef MISTAKE
    for (auto const& part : x) total += part;
#else
    for (double element : x.array()) total += element;
    for (auto const& row : x.unbind()) total += sum(row).item();
#endif
    return total != 20.;
}

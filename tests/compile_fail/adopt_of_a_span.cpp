// expect: adopt: a view, an adaptor or a span does not own its elements
#include <span>
#include <vector>

#include <xgrad/xgrad.hpp>

int main() {
    std::vector<double> numbers{1., 2.};
#ifdef MISTAKE
    xgrad::adopt(std::span(numbers));
#else
    auto const x = xgrad::borrow(std::span(numbers));
    return x(1).item() >= 2. ? 0 : 1;
#endif
}

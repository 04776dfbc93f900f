// program LIBRARY once|twice: opens a library, and exchanges tensors with it. `twice`: both have a
// copy of xgrad; then the first tensor that is recorded across them is refused with a sentence.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

void must(bool holds, char const* what) {
    if (holds) return;
    std::printf("does not hold: %s\n", what);
    std::exit(1);
}

template <class F> F* function(void* library, char const* name) {
    auto* const found = reinterpret_cast<F*>(dlsym(library, name));
    must(found, name);
    return found;
}

int main(int count, char** arguments) {
    must(count == 3, "usage: program LIBRARY once|twice");
    void* const library = dlopen(arguments[1], RTLD_LOCAL | RTLD_NOW);
    if (!library) std::printf("%s\n", dlerror());
    must(library, "the library opens");
    auto* const apply = function<void(D const&, D&)>(library, "apply");

    D x({1., 2.}, xg::requires_grad), y;
    if (std::string(arguments[2]) == "twice") {
        function<void(D const&)>(library, "use_constant")(x.detach()); // records nothing of ours
        try {
            apply(x, y);
        } catch (xg::Error const& e) {
            must(std::string(e.what()).starts_with("xgrad is there twice: "), e.what());
            return 0;
        }
        must(false, "a tensor of another copy is refused");
    }

    apply(x, y);
    D z = 2 * y;
    z.backward();
    must(std::abs(x.grad()(0).item() - 2 * (std::cos(1.) + std::sin(1.))) < 1e-14, "gradients");
    {
        xg::NoGradGuard const off;
        must(!function<bool()>(library, "records")(), "NoGradGuard");
    }
    int calls = 0;
    D hooked = 3 * x;
    function<void(D&, int&)>(library, "count_calls")(hooked, calls);
    x.zero_grad();
    sum(hooked).backward();
    must(calls == 1 && x.grad()(0).item() == 6, "hooks");

    D second, w;
    apply(D(1 * x), w);
    function<void(D const&, D const&, D&)>(library, "second")(w, x, second);
    must(std::abs(second(0).item() - (2 * std::cos(1.) - std::sin(1.))) < 1e-14, "second order");

    xg::manual_seed(3);
    double const number = xg::rand({1}).item();
    function<void(unsigned)>(library, "seed")(3);
    must(xg::rand({1}).item() == number, "one generator");
    try {
        function<void(D const&)>(library, "fail")(D({{1., 2., 3.}}));
        must(false, "errors arrive");
    } catch (xg::ShapeError const&) {}
}

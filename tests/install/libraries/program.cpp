// program once|twice LIBRARY [LIBRARY]: opens libraries, and exchanges tensors with them. `twice`:
// each has a copy of xgrad of its own; then the first tensor that is recorded across two of them is
// refused with a sentence, in every direction.
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

void* opened(char const* name) {
    void* const library = dlopen(name, RTLD_LOCAL | RTLD_NOW);
    if (!library) std::printf("%s\n", dlerror());
    must(library, "the library opens");
    return library;
}

template <class F> void must_refuse(char const* what, F f) {
    try {
        f();
    } catch (xg::Error const& e) {
        must(std::string(e.what()).starts_with("xgrad is there twice: "), e.what());
        return;
    }
    must(false, what);
}

void exchange(void* library, void* other) {
    using Apply = void(D const&, D&);
    D x({1., 2.}, xg::requires_grad), y, theirs;
    function<void(D const&)>(library, "use_constant")(x.detach()); // records nothing of ours
    function<void(D&)>(library, "make_leaf")(theirs);
    {
        xg::NoGradGuard const off; // of this copy: docs/libraries.md
        must(function<bool()>(library, "records")(), "each copy has a grad mode");
    }
    must_refuse("a tensor of the program", [&] { function<Apply>(library, "apply")(x, y); });
    must_refuse("a hook by the library", [&] {
        int calls = 0;
        D hooked = 3 * x;
        function<void(D&, int&)>(library, "count_calls")(hooked, calls);
    });
    must_refuse("a pass of the library",
        [&] { function<void(D const&)>(library, "differentiate")(D(sum(3 * x))); });
    must_refuse("a tensor of the library", [&] { y = sum(sin(theirs) * theirs); });
    // g++ lets two libraries have one state; then all is as with one copy.
    try {
        function<Apply>(other, "apply")(theirs, y);
        function<void(D const&)>(other, "differentiate")(y);
        must(std::abs(theirs.grad().data()[0] - (std::cos(1.) + std::sin(1.))) < 1e-14, "gradient");
    } catch (xg::Error const& e) {
        must(std::string(e.what()).starts_with("xgrad is there twice: "), e.what());
    }
}

int main(int count, char** arguments) {
    must(count == 3 || count == 4, "usage: program once|twice LIBRARY [LIBRARY]");
    void* const library = opened(arguments[2]);
    if (std::string(arguments[1]) == "twice") {
        must(count == 4, "twice takes two libraries");
        exchange(library, opened(arguments[3]));
        return 0;
    }
    auto* const apply = function<void(D const&, D&)>(library, "apply");
    D x({1., 2.}, xg::requires_grad), y;
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
    bool called = false;
    D later = 3 * x;
    function<void(D&, bool&)>(library, "call_after")(later, called);
    sum(later).backward();
    must(called, "callbacks");
    D theirs;
    function<void(D&)>(library, "make_leaf")(theirs);
    sum(theirs * x).backward();
    must(theirs.grad()(1).item() == 2, "a leaf of the library");

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

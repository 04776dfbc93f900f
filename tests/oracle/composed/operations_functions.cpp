// Functions of a user: right ones, and wrong ones, which are there only where a test plants them.
#include "program.hpp"

#include "user_operations.hpp"

namespace composed {

// clang-format off
void add_functions(Catalogue& all) {
    std::string group = "function";
    REAL_T("*", CubeFunction::apply(a));
    REAL_T("*", PowerFunction::apply(a, 3));
    REAL3_T("n,k", "m,k", "m", AffineFunction::apply(a, b, c));
    COMPLEX2_T("*", "*", ScaledFunction::apply(a, b));
    REAL_T("*", std::get<0>(SplitFunction::apply(a)) * std::get<1>(SplitFunction::apply(a)));

    // Inside of vmap() these are vmap() of vmap(). The alternative is that of the line before.
    group = "vmap of rows";
#define SAME(...) all.all.back()->alternative = [](Call const& call) -> Value { auto const [a, b] = std::pair(std::get<D>(call.operands[0]), std::get<D>(call.operands.back())); static_cast<void>(b); return xg::eval(__VA_ARGS__); };
    REAL("n,m", xg::vmap([](auto const& r) { return sum(sin(r) * r) * r; })(a));
    SAME(unsqueeze(sum(sin(a) * a, 1), 1) * a)
    REAL2("n,m", "n", xg::vmap([](auto const& r, auto const& s) { return s * s * prod(r) + s; })(a, b));
    SAME(b * b * prod(a, 1) + b)
    REAL2_T("n,m", "m", xg::vmap([&](auto const& r) { return xg::vmap([&](auto const& s, auto const& t) { return s * tanh(t) * sum(r * b); })(r, b); })(a));
    SAME(a * tanh(b) * unsqueeze(sum(a * b, 1), 1))
    REAL_T("2,n,m", xg::vmap(xg::vmap(xg::grad([](auto const& r) { return sum(r * r * r); })))(a));
    SAME(3. * a * a)
}
std::vector<std::string> planted_names() {
    return {"sign", "conjugate", "sum", "pair", "third"};
}
void add_planted(Catalogue& all, std::string const& name) {
    std::string group = "planted";
    if (name == "sign") REAL2("*", "*", xg::apply<WrongSign>(a, b));
    if (name == "conjugate") COMPLEX_T("*", LostConjugate::apply(a));
    if (name == "sum") REAL2_T("n,m", "m", LostSum::apply(a, b));
    if (name == "pair") REAL2_T("n,m", "n,m", LostPair::apply(a, b));
    if (name == "third") REAL_T("*", LostThird::apply(a));
}
// clang-format on

} // namespace composed

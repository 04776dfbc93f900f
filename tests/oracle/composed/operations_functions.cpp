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
}
std::vector<std::string> planted_names() {
    return {"sign", "conjugate", "sum", "pair"};
}
void add_planted(Catalogue& all, std::string const& name) {
    std::string group = "planted";
    if (name == "sign") REAL2("*", "*", xg::apply<WrongSign>(a, b));
    if (name == "conjugate") COMPLEX_T("*", LostConjugate::apply(a));
    if (name == "sum") REAL2_T("n,m", "m", LostSum::apply(a, b));
    if (name == "pair") REAL2_T("n,m", "n,m", LostPair::apply(a, b));
}
// clang-format on

} // namespace composed

// expect: the names of arguments are identifiers, all of them different
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {
    std::size_t in, out;
    Net(std::size_t i, std::size_t o) : in(i), out(o) {}
};

#ifdef MISTAKE
package::Type<Net, "acme.Net", package::Argument<"n", &Net::in>,
    package::Argument<"n", &Net::out>> const type;
#else
package::Type<Net, "acme.Net", package::Argument<"in", &Net::in>,
    package::Argument<"out", &Net::out>> const type;
#endif

int main() {}

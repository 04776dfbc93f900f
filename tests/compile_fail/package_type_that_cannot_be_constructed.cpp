// expect: the module is constructed from its Arguments, in their order
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {
    std::size_t width;
    explicit Net(std::size_t w) : width(w) {}
};

#ifdef MISTAKE
package::Type<Net, "acme.Net"> const type;
#else
package::Type<Net, "acme.Net", package::Argument<"width", &Net::width>> const type;
#endif

int main() {}

// expect: it is read by a pointer to a member of the module, or to a function that takes the module
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Other {
    std::size_t width = 1;
};
struct Net : xgrad::nn::Module<Net> {
    std::size_t width;
    explicit Net(std::size_t w) : width(w) {}
};

#ifdef MISTAKE
package::Type<Net, "acme.Net", package::Argument<"width", &Other::width>> const type;
#else
package::Type<Net, "acme.Net", package::Argument<"width", &Net::width>> const type;
#endif

int main() {}

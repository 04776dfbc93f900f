// expect: after the name stand Argument, Call, DependsOn, Make, StateSize or NameOnly
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {};

#ifdef MISTAKE
package::Type<Net, "acme.Net", int> const type;
#else
package::Type<Net, "acme.Net", package::NameOnly> const type;
#endif

int main() {}

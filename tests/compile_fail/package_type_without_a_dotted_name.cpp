// expect: a name is identifiers with dots between them
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {};

#ifdef MISTAKE
package::Type<Net, "Net 2"> const type;
#else
package::Type<Net, "acme.Net2"> const type;
#endif

int main() {}

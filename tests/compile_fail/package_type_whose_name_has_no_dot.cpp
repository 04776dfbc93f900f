// expect: package::Type: this name has no dot; the name of the project stands before that of the type, as in "acme.Net"
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {};

#ifdef MISTAKE
package::Type<Net, "acme"> const type;
#else
package::Type<Net, "acme.Net"> const type;
#endif

int main() {}

// expect: names that begin with .*xgrad.* are those of the library
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Net : xgrad::nn::Module<Net> {};

#ifdef MISTAKE
package::Type<Net, "xgrad.nn.Net"> const type;
#else
package::Type<Net, "acme.nn.Net"> const type;
#endif

int main() {}

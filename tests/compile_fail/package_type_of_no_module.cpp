// expect: only a module, derived from nn::Module, has a type in packages
#include <xgrad/package/type.hpp>

namespace nn = xgrad::nn;
namespace package = xgrad::package;

struct Scale {
    double factor = 2;
};
struct Module : nn::Module<Module> {};

#ifdef MISTAKE
package::Type<Scale, "acme.Scale"> const type;
#else
package::Type<Module, "acme.Scale"> const type;
#endif

int main() {}

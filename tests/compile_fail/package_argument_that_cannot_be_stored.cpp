// expect: a value of this type cannot be stored; name its members with package::Fields
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;

struct Options {
    double slope = 1;
};
struct Net : xgrad::nn::Module<Net> {
    Options options;
    explicit Net(Options o) : options(o) {}
};
#ifndef MISTAKE
template <>
struct package::Fields<Options> : package::FieldList<package::Argument<"slope", &Options::slope>> {
};
#endif
package::Type<Net, "acme.Net", package::Argument<"options", &Net::options>> const type;

int main() {}

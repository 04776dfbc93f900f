// expect: forward of this module cannot be called with these arguments
#include <xgrad/package/type.hpp>

namespace package = xgrad::package;
using D = xgrad::Tensor<double>;

struct Net : xgrad::nn::Module<Net> {
    template <class T> T forward(T const& x, T const& y) const { return x + y; }
};

#ifdef MISTAKE
package::Type<Net, "acme.Net", package::Call<D(D)>> const type;
#else
package::Type<Net, "acme.Net", package::Call<D(D, D)>> const type;
#endif

int main() {}

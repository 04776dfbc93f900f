// expect: then: the function takes the result of this future
#include <xgrad/distributed.hpp>

namespace dist = xgrad::distributed;

int main() {
    auto const future = dist::Future<int>::of(1);
#ifdef MISTAKE
    future.then([](xgrad::AnyTensor const& t) { return t.numel(); });
#else
    future.then([](int i) { return i + 1; });
#endif
}

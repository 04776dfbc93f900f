// Operations that are in no table, in complex<float>: compared with complex<double>, in value and
// both derivatives.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

void check(Function const& narrow, Function const& wide) {
    CHECK(agrees_with_double(narrow, wide, {sample(xg::DType::complex64, {3, 5})}));
}
template <class F> void check(F) { check(function_of<cf>(F{}), function_of<cd>(F{})); }

} // namespace

TEST_CASE("reductions of complex<float> agree with those of complex<double>") {
    check([](auto z) { return sum(z * z, {0}); });
    check([](auto z) { return mean(z * conj(z), {1}); });
    check([](auto z) { return prod(z, {1}); });
    check([](auto z) { return logsumexp(z, {0}); });
    check([](auto z) { return norm(z, 2, {1}); });
}

TEST_CASE("shaping of complex<float> agrees with that of complex<double>") {
    check([](auto z) {
        return square(reshape(transpose(z), {5, 3})) * z(xg::slice(1, 2), xg::slice(0, 3));
    });
    check([](auto z) { return broadcast_to(z, {2, 3, 5}) * z; });
    check([](auto z) { return matmul(z, adjoint(z)); });
    CHECK(agrees_with_double(function_of<cf>([](auto z) {
        return square(xg::stack<cf>({z, z * z}, 1));
    }),
        function_of<cd>([](auto z) {
            return square(xg::stack<cd>({z, z * z}, 1));
        }),
        {sample(xg::DType::complex64, {3, 5})}));
}

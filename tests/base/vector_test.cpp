// The vectors of core/memory.hpp beside std::vector.
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/core/memory.hpp>

using xgrad::detail::CachedVector;
using xgrad::detail::InlineVector;

namespace {

template <class V> bool same(V const& v, std::vector<long> const& wanted) {
    return std::equal(v.begin(), v.end(), wanted.begin(), wanted.end());
}

TEST_CASE("a vector takes an element of its own where it grows") {
    for (std::size_t n = 1; n < 40; ++n) {
        CachedVector<long> v;
        InlineVector<long, 4> in_place;
        std::vector<long> wanted;
        for (std::size_t i = 0; i < n; ++i) {
            long const x = i ? wanted[i / 2] + static_cast<long>(i) : 7;
            v.push_back(x);
            in_place.emplace_back(x);
            wanted.push_back(x);
        }
        for (std::size_t k = 0; k < 3; ++k) {
            v.push_back(v[k % n]);
            in_place.emplace_back(in_place[k % n]);
            wanted.push_back(wanted[k % n]);
        }
        CHECK(same(v, wanted));
        CHECK(same(in_place, wanted));
        v.resize(5 * n, v.back());
        wanted.resize(5 * n, wanted.back());
        CHECK(same(v, wanted));
    }
}

} // namespace

// Random programs by xgrad and by libtorch: values, gradients, and gradients of gradients.
// XGRAD_ORACLE_PROGRAMS and XGRAD_ORACLE_SEED choose how many and which.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "program.hpp"

namespace {

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
    char const* const text = std::getenv(variable);
    return text ? std::stoull(text) : otherwise;
}

std::string difference(oracle::Program const& p) {
    return oracle::compare(oracle::run_by_xgrad(p), oracle::run_by_torch(p));
}
bool fails(oracle::Program const& p) {
    auto const text = difference(p);
    return !text.empty() && text != "skipped";
}

/// A smaller program that fails as well: with fewer outputs, and with operations taken out, as long
/// as that is possible.
oracle::Program shrunk(oracle::Program p) {
    auto const accept = [&](oracle::Program const& smaller) {
        if (!fails(smaller)) return false;
        p = smaller;
        return true;
    };
    for (bool changed = true; changed;) {
        auto const alive = oracle::without_dead_code(p);
        changed = alive.code.size() < p.code.size() && accept(alive);
        for (std::size_t i = 0; i < p.outputs.size() && p.outputs.size() > 1; ++i) {
            auto fewer = p;
            fewer.outputs.erase(fewer.outputs.begin() + static_cast<std::ptrdiff_t>(i));
            changed |= accept(oracle::without_dead_code(fewer));
        }
        // Any register of the same type may stand where the result of an operation was.
        for (std::size_t k = p.code.size(); k-- > 0;) {
            std::size_t const result = p.leaves.size() + k;
            for (std::size_t r = 0; r < result; ++r) {
                if (!(p.type(r) == p.type(result))) continue;
                auto without = p;
                for (auto& i : without.code)
                    for (auto& of : i.of)
                        if (of == result) of = r;
                for (auto& of : without.outputs)
                    if (of == result) of = r;
                auto const smaller = oracle::without_dead_code(without);
                if (smaller.code.size() < p.code.size() && accept(smaller)) {
                    changed = true;
                    break;
                }
            }
            if (k > p.code.size()) k = p.code.size();
        }
    }
    return p;
}

} // namespace

TEST_CASE("a wrong number, and a missing one, would be found") {
    auto const p = oracle::make_program(7);
    auto const right = oracle::run_by_torch(p);
    REQUIRE(oracle::compare(right, right) == "");
    for (auto part :
        {&oracle::Outcome::values, &oracle::Outcome::first, &oracle::Outcome::second}) {
        auto wrong = right;
        (wrong.*part)[0][0] += 1e-6;
        CHECK(oracle::compare(wrong, right) != "");
        CHECK(oracle::compare(wrong, right) != "skipped");
        wrong = right;
        (wrong.*part)[0].pop_back();
        CHECK(oracle::compare(wrong, right) != "");
    }
}

TEST_CASE("random programs have the numbers of libtorch") {
    auto const count = number_from("XGRAD_ORACLE_PROGRAMS", 400),
               first = number_from("XGRAD_ORACLE_SEED", 1);
    std::size_t skipped = 0, failed = 0;
    for (std::uint64_t seed = first; seed < first + count && failed < 5; ++seed) {
        auto const p = oracle::make_program(seed);
        auto const text = difference(p);
        if (text == "skipped") ++skipped;
        else if (!text.empty()) {
            ++failed;
            auto const small = shrunk(p);
            FAIL_CHECK(oracle::describe(small) << "\n  " << difference(small));
        }
    }
    MESSAGE(count << " programs, of which " << skipped << " cannot be differentiated or compared");
    CHECK(skipped < count / 2);
}

// Names and patterns.
#include <doctest/doctest.h>
#include <xgrad/package/names.hpp>

namespace package = xgrad::package;
using package::Pattern;

TEST_CASE("a star stands for a part of one segment, two stars for any number of segments") {
    CHECK(Pattern("torch.*").matches("torch.nn"));
    CHECK_FALSE(Pattern("torch.*").matches("torch.nn.functional"));
    CHECK_FALSE(Pattern("torch.*").matches("torch"));
    CHECK(Pattern("torch.**").matches("torch"));
    CHECK(Pattern("torch.**").matches("torch.nn.functional"));
    CHECK_FALSE(Pattern("torch.**").matches("torchvision"));
    CHECK(Pattern("**").matches("a.b"));
    CHECK(Pattern("**.b.**").matches("b"));
    CHECK(Pattern("**.b.**").matches("a.a.b.c"));
    CHECK_FALSE(Pattern("**.b.**").matches("a.bb.c"));
    CHECK(Pattern("a.*b*d").matches("a.xbcbd"));
    CHECK_FALSE(Pattern("a.*b*d").matches("a.xbc"));
    CHECK(Pattern("a.**.**.b").matches("a.b"));
    CHECK(Pattern("a").matches("a"));
    CHECK_FALSE(Pattern("a").matches("ab"));
    CHECK(Pattern("acme/**", '/').matches("acme/x.y/z"));
}

TEST_CASE("a pattern of many stars is matched in no time") {
    std::string stars, name;
    for (int i = 0; i < 20; ++i) stars += "*a";
    name.assign(5000, 'a');
    CHECK(Pattern(stars).matches(name));
    CHECK_FALSE(Pattern(stars).matches(name + "b"));
}

TEST_CASE("a pattern that cannot match is refused") {
    CHECK_THROWS_WITH_AS(
        Pattern("a.b**"), "the pattern 'a.b**': ** must be a whole segment", package::PackageError);
    CHECK_THROWS_WITH_AS(
        Pattern("a..b"), "the pattern 'a..b' has an empty segment", package::PackageError);
    CHECK_THROWS_WITH_AS(Pattern(""), "the pattern '' has an empty segment", package::PackageError);
}

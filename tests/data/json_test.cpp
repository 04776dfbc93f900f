// Json: what is read, what is written, and what is said of texts that are no JSON.
#include <doctest/doctest.h>
#include <xgrad/data/json.hpp>

#include <limits>

namespace data = xgrad::data;
using data::Json;

namespace {

Json parse(std::string_view text) {
    return data::read_json(data::Input(std::as_bytes(std::span(text)), "f"));
}
std::string complaint(std::string_view text) {
    try {
        static_cast<void>(parse(text));
    } catch (data::FormatError const& e) { return e.what(); }
    return "none";
}

} // namespace

TEST_CASE("JSON of every kind is read") {
    auto const v =
        parse(R"( {"a": [1, -2.5e3, true, false, null, "\u00e9\n"], "b": {}, "c" : []} )");
    auto const& a = *v.find("a")->get_if<Json::Array>();
    REQUIRE(a.size() == 6);
    CHECK(*a[0].get_if<std::int64_t>() == 1);
    CHECK(*a[1].get_if<double>() == -2500);
    CHECK(*a[2].get_if<bool>());
    CHECK_FALSE(*a[3].get_if<bool>());
    CHECK(a[4].is_null());
    CHECK(*a[5].get_if<std::string>() == "\u00e9\n");
    CHECK(v.find("b")->get_if<Json::Object>()->empty());
    CHECK(v.find("c")->get_if<Json::Array>()->empty());
    CHECK(v.find("d") == nullptr);
    CHECK(a[0].find("a") == nullptr);
}

TEST_CASE("what is written as JSON is read as the same") {
    using Double = std::numeric_limits<double>;
    Json v;
    v.set("name \"\\\t", "text").set("none", Json()).set("yes", true);
    Json numbers;
    for (double const x : {0., -0., 1., 0.1, 1e300, -1e22, 1. / 3, Double::min(),
             Double::denorm_min(), Double::max()})
        numbers.push_back(x);
    numbers.push_back(std::numeric_limits<std::int64_t>::min());
    numbers.push_back(std::numeric_limits<std::int64_t>::max());
    v.set("numbers", numbers).set("empty", Json::Array()).set("object", Json::Object());
    CHECK(parse(data::to_text(v)) == v);
    CHECK(data::to_text(Json(Json::Object{{"a", Json::Array{std::int64_t(1), 2.}}})) ==
          "{\n  \"a\": [\n    1,\n    2.0\n  ]\n}\n");
    CHECK_THROWS_WITH_AS(
        data::to_text(Double::infinity()), "JSON has no infinities and no NaN", xgrad::Error);
}

TEST_CASE("what is said of a text that is no JSON") {
    CHECK(complaint("") == "f, at byte 0: here should be a digit");
    CHECK(complaint("[1,]") == "f, at byte 3: here should be a digit");
    CHECK(complaint("[1 2]") == "f, at byte 3: here should be ']'");
    CHECK(complaint("{\"a\":1,\"a\":2}") == "f, at byte 7: the key 'a' stands twice");
    CHECK(complaint("01") == "f, at byte 0: a number begins with 0");
    CHECK(complaint("1.") == "f, at byte 2: here should be a digit");
    CHECK(complaint("1e999") == "f, at byte 0: a number is too large or too small");
    CHECK(complaint("truth") == "f, at byte 0: here should be a digit");
    CHECK(complaint("{} {}") == "f, at byte 3: something stands after the value");
    CHECK(complaint("\"\xff\"") == "f, at byte 1: the text is not UTF-8");
    CHECK(complaint(std::string(100000, '[')) ==
          "f, at byte 201: objects and arrays are nested more than 200 deep");
}

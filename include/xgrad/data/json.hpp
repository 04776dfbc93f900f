// Json: a value of JSON (RFC 8259), how it is read and how it is written. Also the functions that
// read an object or an array of a known form without a Json in between.
//
// Errors: a text that is no JSON, is nested more than 200 deep, or has a key twice is a FormatError
// with the offset. Writing infinity or NaN is an Error.
#pragma once

#include <charconv>
#include <cmath>
#include <set>
#include <variant>
#include <vector>

#include <xgrad/core/array.hpp>
#include <xgrad/data/parse_number.hpp>
#include <xgrad/data/scanner.hpp>

namespace xgrad::data {

/// null, a boolean, an integer, a floating-point number, a string, an array or an object. The
/// members of an object stay in order.
class Json {
public:
    using Array = std::vector<Json>; // the elements of an array
    /// The members of an object with their names, as they stand in the text.
    using Object = std::vector<std::pair<std::string, Json>>;

    Json() noexcept = default;
    Json(std::same_as<bool> auto value) noexcept : value_(value) {}
    Json(std::int64_t value) noexcept : value_(value) {}
    Json(double value) noexcept : value_(value) {}
    Json(std::string value) noexcept : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(char const* value) : value_(std::string(value)) {}
    Json(Array value) noexcept : value_(std::move(value)) {}
    Json(Object value) noexcept : value_(std::move(value)) {}

    /// True for null, and for a value that was never set.
    bool is_null() const noexcept { return value_.index() == 0; }
    /// A pointer to the value where it has this type (bool, std::int64_t, double, std::string,
    /// Array, Object), else null.
    template <class T> T const* get_if() const noexcept { return std::get_if<T>(&value_); }
    template <class T> T* get_if() noexcept { return std::get_if<T>(&value_); }
    /// The member of an object under a name. Null where there is none, or this is no object.
    Json const* find(std::string_view name) const noexcept;
    /// Appends a member to an object; null becomes an object first.
    Json& set(std::string name, Json value);
    /// Appends an element to an array; null becomes an array first.
    Json& push_back(Json value);
    friend bool operator==(Json const& a, Json const& b) { return a.value_ == b.value_; }

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

namespace detail {

inline constexpr std::string_view json_space = " \t\n\r";
/// Objects and arrays may be nested this deep in what is read.
inline constexpr int max_json_depth = 200;

/// `{"key": value, ...}`: calls value(key, where the key is) where a value is next. A key that
/// stands twice is an error, in which keys are called `what`.
template <class F> void read_json_object(Scanner& s, std::string_view what, F value) {
    s.expect('{');
    s.skip(json_space);
    if (s.accept('}')) return;
    std::set<std::string, std::less<>> keys;
    do {
        s.skip(json_space);
        auto const before = s;
        auto const [at, is_new] = keys.insert(s.json_string());
        std::string const& key = *at;
        if (!is_new) before.fail("the ", what, " '", key, "' stands twice");
        s.skip(json_space);
        s.expect(':');
        s.skip(json_space);
        value(key, before);
        s.skip(json_space);
    } while (s.accept(','));
    s.expect('}');
}
/// `[value, ...]`: calls value() where a value is next.
template <class F> void read_json_array(Scanner& s, F value) {
    s.expect('[');
    s.skip(json_space);
    if (s.accept(']')) return;
    do {
        s.skip(json_space);
        value();
        s.skip(json_space);
    } while (s.accept(','));
    s.expect(']');
}

/// An integer where it has neither fraction nor exponent and fits 64 bits, else a double.
Json read_json_number(Scanner& s);

/// A value of any kind. `depth` is the number of objects and arrays around it.
Json read_json(Scanner& s, int depth = 0);

/// A string as JSON writes it.
std::string json(std::string_view text);

/// Writes one member or element a line, indented by two more spaces than what is around it.
void write_json(std::string& to, Json const& value, std::size_t indent);

} // namespace detail

/// Reads a text of JSON. Throws FormatError with the offset of the first wrong byte.
Json read_json(Input const& in);
/// The text of a value, indented, with a line break at its end. Numbers are read back as the same.
std::string to_text(Json const& value);

} // namespace xgrad::data

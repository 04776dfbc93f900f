// Bodies of json.hpp.
#pragma once

#include <xgrad/data/json.hpp>

namespace xgrad::data {

XGRAD_FUNCTION Json const* Json::find(std::string_view name) const noexcept {
    if (auto const* const members = get_if<Object>())
        for (auto const& [key, value] : *members)
            if (key == name) return &value;
    return nullptr;
}

XGRAD_FUNCTION Json& Json::set(std::string name, Json value) {
    if (is_null()) value_ = Object();
    std::get<Object>(value_).emplace_back(std::move(name), std::move(value));
    return *this;
}

XGRAD_FUNCTION Json& Json::push_back(Json value) {
    if (is_null()) value_ = Array();
    std::get<Array>(value_).push_back(std::move(value));
    return *this;
}

} // namespace xgrad::data

namespace xgrad::data::detail {

XGRAD_FUNCTION Json read_json_number(Scanner& s) {
    auto const before = s;
    auto const digits = [&s] {
        auto const found = s.take_while([](char c) { return c >= '0' && c <= '9'; });
        if (found.empty()) s.fail("here should be a digit");
        return found;
    };
    std::string text(s.accept('-') ? "-" : "");
    auto const whole = digits();
    if (whole.size() > 1 && whole[0] == '0') before.fail("a number begins with 0");
    text += whole;
    bool integer = true;
    if (s.accept('.')) text.append(".").append(digits()), integer = false;
    if (s.accept('e') || s.accept('E')) {
        text += 'e';
        text += s.accept('-') ? "-" : (s.accept('+'), "");
        text += digits();
        integer = false;
    }
    auto const* const end = text.data() + text.size();
    std::int64_t n = 0;
    if (integer && parse_number(text.data(), end, n).ec == std::errc()) return n;
    double v = 0;
    if (parse_number(text.data(), end, v).ec != std::errc())
        before.fail("a number is too large or too small");
    return v;
}

XGRAD_FUNCTION Json read_json(Scanner& s, int depth) {
    if (depth > max_json_depth)
        s.fail("objects and arrays are nested more than ", max_json_depth, " deep");
    if (s.next_is('{')) {
        Json::Object members;
        read_json_object(s, "key", [&](std::string const& key, Scanner const&) {
            members.emplace_back(key, read_json(s, depth + 1));
        });
        return members;
    }
    if (s.next_is('[')) {
        Json::Array array;
        read_json_array(s, [&] { array.push_back(read_json(s, depth + 1)); });
        return array;
    }
    if (s.next_is('"')) return s.json_string();
    if (s.accept("null")) return {};
    if (s.accept("true")) return true;
    if (s.accept("false")) return false;
    return read_json_number(s);
}

XGRAD_FUNCTION std::string json(std::string_view text) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string s = "\"";
    for (char const c : text) {
        auto const code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') s += {'\\', c};
        else if (code < 0x20) s += std::string("\\u00") + digits[code >> 4] + digits[code & 15];
        else s += c;
    }
    return s + '"';
}

XGRAD_FUNCTION void write_json(std::string& to, Json const& value, std::size_t indent) {
    auto const write_all = [&](auto const& all, char open, char close, auto const& write) {
        to += open;
        for (auto const& each : all) {
            to += (&each == &all.front() ? "\n" : ",\n") + std::string(indent + 2, ' ');
            write(each);
        }
        if (!all.empty()) to += '\n' + std::string(indent, ' ');
        to += close;
    };
    char digits[40];
    if (auto const* const truth = value.get_if<bool>()) to += *truth ? "true" : "false";
    else if (auto const* const n = value.get_if<std::int64_t>()) to += std::to_string(*n);
    else if (auto const* const v = value.get_if<double>()) {
        if (!xgrad::detail::is_finite(*v)) fail("JSON has no infinities and no NaN");
        std::string const text(digits, std::to_chars(digits, digits + sizeof digits, *v).ptr);
        to += text;
        if (text.find_first_not_of("-0123456789") == text.npos) to += ".0";
    } else if (auto const* const text = value.get_if<std::string>()) to += json(*text);
    else if (auto const* const array = value.get_if<Json::Array>())
        write_all(*array, '[', ']', [&](Json const& e) { write_json(to, e, indent + 2); });
    else if (auto const* const members = value.get_if<Json::Object>())
        write_all(*members, '{', '}', [&](auto const& member) {
            to += json(member.first) + ": ";
            write_json(to, member.second, indent + 2);
        });
    else to += "null";
}

} // namespace xgrad::data::detail

namespace xgrad::data {

XGRAD_FUNCTION Json read_json(Input const& in) {
    auto const text = in.text(0, xgrad::detail::converted<std::size_t>(in.size()), "the text");
    if (auto const good = detail::utf8_until(text); good != text.size())
        in.fail_at(good, "the text is not UTF-8");
    detail::Scanner s(in, text, 0);
    s.skip(detail::json_space);
    auto value = detail::read_json(s);
    s.skip(detail::json_space);
    if (!s.at_end()) s.fail("something stands after the value");
    return value;
}

XGRAD_FUNCTION std::string to_text(Json const& value) {
    std::string text;
    detail::write_json(text, value, 0);
    return text + '\n';
}

} // namespace xgrad::data

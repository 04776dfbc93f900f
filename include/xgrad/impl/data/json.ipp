// Bodies of json.hpp and scanner.hpp.
#pragma once

#include <xgrad/data/json.hpp>
#include <xgrad/data/scanner.hpp>

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

XGRAD_FUNCTION std::size_t utf8_until(std::string_view s) noexcept {
    for (std::size_t at = 0; at < s.size();) {
        auto const byte = [&](std::size_t i) {
            return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0u;
        };
        auto const follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
        unsigned const first = byte(0), second = byte(1);
        std::size_t length = 0;
        if (first < 0x80) length = 1;
        else if (first >= 0xc2 && first < 0xe0 && follows(1)) length = 2;
        else if ((first & 0xf0u) == 0xe0 && follows(1) && follows(2) &&
                 (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0))
            length = 3;
        else if (first >= 0xf0 && first < 0xf5 && follows(1) && follows(2) && follows(3) &&
                 (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90))
            length = 4;
        if (!length) return at;
        at += length;
    }
    return s.size();
}

XGRAD_FUNCTION void put_utf8(std::string& to, std::uint32_t code) {
    auto const put = [&](std::uint32_t bits) { to += static_cast<char>(bits); };
    if (code < 0x80) return put(code);
    if (code < 0x800) put(0xc0 | code >> 6);
    else {
        if (code < 0x10000) put(0xe0 | code >> 12);
        else put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 63));
        put(0x80 | (code >> 6 & 63));
    }
    put(0x80 | (code & 63));
}

XGRAD_FUNCTION void Scanner::skip(std::string_view characters) noexcept {
    at_ = std::min(text_.find_first_not_of(characters, at_), text_.size());
}

XGRAD_FUNCTION bool Scanner::accept(std::string_view keyword) noexcept {
    if (text_.substr(at_, keyword.size()) != keyword) return false;
    at_ += keyword.size();
    return true;
}

XGRAD_FUNCTION void Scanner::expect(char c) {
    if (!accept(c)) fail("here should be ", std::string{'\'', c, '\''});
}

XGRAD_FUNCTION std::size_t Scanner::extent() {
    auto const before = *this;
    auto const value = number();
    if (value > std::numeric_limits<std::size_t>::max())
        before.fail("an extent is more than any memory holds");
    return static_cast<std::size_t>(value);
}

XGRAD_FUNCTION std::uint64_t Scanner::number() {
    std::uint64_t value = 0;
    auto const begin = at_;
    for (; !at_end() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        auto const digit = static_cast<std::uint64_t>(text_[at_] - '0');
        if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
            fail("a number is too large");
        value = 10 * value + digit;
    }
    if (at_ == begin) fail("here should be a number that is not negative");
    if (at_ > begin + 1 && text_[begin] == '0') fail("a number begins with 0");
    return value;
}

XGRAD_FUNCTION std::string_view Scanner::plain_string() {
    char const quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    auto const end = text_.find(quote, at_);
    if (end == text_.npos) fail("a string does not end");
    auto const s = text_.substr(at_, end - at_);
    at_ = end + 1;
    return s;
}

XGRAD_FUNCTION std::string Scanner::json_string() {
    expect('"');
    std::string s;
    while (!accept('"')) {
        if (at_end()) fail("a string does not end");
        char const c = text_[at_];
        if (static_cast<unsigned char>(c) < 0x20) fail("a control character stands in a string");
        ++at_;
        if (c != '\\') s += c;
        else escape(s);
    }
    return s;
}

XGRAD_FUNCTION void Scanner::escape(std::string& s) {
    static constexpr std::string_view escapes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (accept('u')) {
        auto code = hexadecimal();
        if (code >= 0xdc00 && code < 0xe000) fail("half of a surrogate pair");
        if (code >= 0xd800 && code < 0xdc00) {
            if (!accept("\\u")) fail("half of a surrogate pair");
            auto const low = hexadecimal();
            if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        return put_utf8(s, code);
    }
    auto const which = at_end() ? escapes.npos : escapes.find(text_[at_]);
    if (which == escapes.npos) fail("an escape that JSON does not have");
    s += meanings[which];
    ++at_;
}

XGRAD_FUNCTION std::uint32_t Scanner::hexadecimal() {
    static constexpr std::string_view digits = "0123456789abcdef0123456789ABCDEF";
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
        auto const digit = at_end() ? digits.npos : digits.find(text_[at_]);
        if (digit == digits.npos) fail("here should be four hexadecimal digits");
        code = code << 4 | (digit & 15);
    }
    return code;
}

} // namespace xgrad::data::detail

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

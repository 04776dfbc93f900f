// Scanner: reads the texts in the headers of files, character by character. Its errors have the
// offset of the wrong byte.
#pragma once

#include <algorithm>
#include <limits>

#include <xgrad/data/file.hpp>

namespace xgrad::data::detail {

/// The offset of the first byte that is not UTF-8 (surrogates and overlong forms are not); the size
/// of the text if there is none.
std::size_t utf8_until(std::string_view s) noexcept;

void put_utf8(std::string& to, std::uint32_t code);

class Scanner {
public:
    /// Reads the text that begins at byte `offset` of the file.
    Scanner(Input const& in, std::string_view text, std::uint64_t offset)
        : in_(in), text_(text), offset_(offset) {}

    std::uint64_t offset() const noexcept { return offset_ + at_; }
    bool at_end() const noexcept { return at_ == text_.size(); }
    void skip(std::string_view characters) noexcept;
    bool next_is(char c) const noexcept { return !at_end() && text_[at_] == c; }
    /// The characters from here on for which f(c) is true.
    template <class F> std::string_view take_while(F f) noexcept {
        auto const begin = at_;
        while (!at_end() && f(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
    }
    bool accept(char c) noexcept {
        if (!next_is(c)) return false;
        ++at_;
        return true;
    }
    bool accept(std::string_view keyword) noexcept;
    void expect(char c);
    /// A non-negative integer without leading zeros.
    std::uint64_t number();
    /// Reads the extent of an axis: a whole number that a size of this machine holds.
    std::size_t extent();
    /// A quoted text, up to a closing quote like the opening one; there are no escapes.
    std::string_view plain_string();
    /// A string of JSON.
    std::string json_string();
    template <class... Parts> [[noreturn]] void fail(Parts const&... parts) const {
        in_.fail_at(offset(), parts...);
    }

private:
    void escape(std::string& s);
    std::uint32_t hexadecimal();

    Input const& in_;
    std::string_view text_;
    std::uint64_t offset_;
    std::size_t at_ = 0;
};

} // namespace xgrad::data::detail

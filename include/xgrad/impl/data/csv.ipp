// Bodies of csv.hpp and csv_log.hpp.
#pragma once

#include <xgrad/data/csv.hpp>
#include <xgrad/data/csv_log.hpp>

namespace xgrad::data::detail {

XGRAD_FUNCTION std::string_view trimmed(std::string_view s) noexcept {
    auto const begin = std::min(s.find_first_not_of(" \t"), s.size());
    return s.substr(begin, s.find_last_not_of(" \t") + 1 - begin);
}

XGRAD_FUNCTION std::size_t first_repeated(std::vector<std::string> const& names) {
    std::set<std::string_view> known;
    std::size_t i = 0;
    while (i < names.size() && known.insert(names[i]).second) ++i;
    return i;
}

XGRAD_FUNCTION CsvReader::CsvReader(Input const& in, char delimiter)
    : in_(in), delimiter_(delimiter),
      text_(in.text(0, xgrad::detail::converted<std::size_t>(in.size()), "the table")) {
    if (std::string_view("\"\r\n").find(delimiter) != std::string_view::npos)
        fail("read_csv: quotes and ends of lines cannot be delimiters");
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

XGRAD_FUNCTION bool CsvReader::next(std::vector<std::string>& fields) {
    fields.clear();
    while (at_ < text_.size() && end_of_line()) {}
    if (at_ == text_.size()) return false;
    line_ = next_line_;
    for (;;) {
        fields.push_back(field(fields.size()));
        if (at_ == text_.size() || end_of_line()) return true;
        ++at_; // a delimiter
        if (at_ == text_.size()) return fields.emplace_back(), true;
    }
}

XGRAD_FUNCTION bool CsvReader::end_of_line() {
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    if (text_[at_] != '\n' && text_[at_] != '\r') return false;
    ++at_, ++next_line_;
    return true;
}

XGRAD_FUNCTION std::string CsvReader::field(std::size_t column) {
    if (text_[at_] != '"') {
        auto const ends = std::string{delimiter_, '\n', '\r'};
        auto const end = std::min(text_.find_first_of(ends, at_), text_.size());
        auto const begin = std::exchange(at_, end);
        return std::string(trimmed(std::string_view(text_).substr(begin, end - begin)));
    }
    std::string s;
    for (++at_;; ++at_) {
        if (at_ == text_.size()) fail_at(column, "a quoted field does not end");
        if (text_[at_] == '\n') ++next_line_;
        if (text_[at_] == '"') {
            ++at_;
            if (at_ == text_.size() || text_[at_] != '"') break;
        }
        s += text_[at_];
    }
    if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r')
        fail_at(column, "something stands after the closing quote");
    return s;
}

XGRAD_FUNCTION bool is_tiny(std::string_view text) {
    auto const e = std::min(text.find_first_of("eE"), text.size()),
               point = std::min(text.find('.'), e), first = text.find_first_of("123456789");
    std::int64_t exponent = 0;
    if (e < text.size()) {
        bool const has_plus = text[e + 1] == '+';
        if (parse_number(text.data() + e + 1 + has_plus, text.data() + text.size(), exponent).ec !=
            std::errc())
            return text[e + 1] == '-';
    }
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    return std::clamp(exponent, -largest, largest) + static_cast<std::int64_t>(point) <
           static_cast<std::int64_t>(first) + 1;
}

} // namespace xgrad::data::detail

namespace xgrad::data {

XGRAD_FUNCTION void CsvLog::add(std::int64_t step, std::vector<NamedNumber> const& numbers) {
    std::string text;
    auto columns = columns_;
    if (!begun_) {
        text = "step";
        for (auto const& [name, value] : numbers) {
            if (name.empty() || detail::trimmed(name) != name || name == "step" ||
                name.find_first_of(",\"\r\n") != name.npos ||
                std::ranges::find(columns, name) != columns.end())
                detail::fail("CsvLog: '", name, "' cannot be the name of a column");
            columns.push_back(name);
            text += "," + name;
        }
        text += "\n";
    }
    text += std::to_string(step);
    std::vector<bool> used(numbers.size());
    for (auto const& column : columns) {
        text += ',';
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (!used[i] && numbers[i].name == column) {
                char digits[32];
                text.append(
                    digits, std::to_chars(digits, digits + sizeof digits, numbers[i].value).ptr);
                used[i] = true;
                break;
            }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (!used[i])
            detail::fail("CsvLog: there is no column '", numbers[i].name,
                "'; the first line decides which there are");
    columns_ = std::move(columns), begun_ = true;
    file_ << text + "\n" << std::flush;
    check();
}

} // namespace xgrad::data

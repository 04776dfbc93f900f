// Bodies of csv_log.hpp.
#pragma once

#include <xgrad/data/csv_log.hpp>

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

// CsvLog: the metrics of a training run, one line for each step, on disk as soon as they are
// logged.
#pragma once

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <vector>

#include <xgrad/data/csv.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::data {

struct NamedNumber {
    std::string name;
    double value;
};

/// `CsvLog log("run.csv"); log.add(step, {{"loss", 0.5}});` The first line decides which columns
/// there are. A metric that a later line does not have leaves its field empty, which read_csv()
/// reads as missing.
class CsvLog {
public:
    explicit CsvLog(std::filesystem::path path)
        : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
        check();
    }

    void add(std::int64_t step, std::initializer_list<NamedNumber> numbers) {
        add(step, std::vector<NamedNumber>(numbers));
    }
    void add(std::int64_t step, std::vector<NamedNumber> const& numbers) {
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
                    text.append(digits,
                        std::to_chars(digits, digits + sizeof digits, numbers[i].value).ptr);
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

private:
    void check() const {
        if (!file_) detail::fail(path_.string(), ": cannot be written");
    }

    std::filesystem::path path_;
    std::ofstream file_;
    std::vector<std::string> columns_;
    bool begun_ = false;
};

} // namespace xgrad::data

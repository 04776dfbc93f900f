// CsvLog: the metrics of a training run, one line for each step, on disk as soon as they are
// logged.
//
// Errors: a file that cannot be written, a name that no column can have, and a name that the first
// line did not have are an Error.
#pragma once

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <vector>

#include <xgrad/data/csv.hpp>

namespace xgrad::data {

/// A metric under its name, for CsvLog.
struct NamedNumber {
    std::string name; // the column
    double value;     // the metric
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

    /// Appends a line. Throws for a name that the first line did not have.
    void add(std::int64_t step, std::initializer_list<NamedNumber> numbers) {
        add(step, std::vector<NamedNumber>(numbers));
    }
    void add(std::int64_t step, std::vector<NamedNumber> const& numbers);

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

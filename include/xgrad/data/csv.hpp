// CSV: tables of numbers as text (RFC 4180).
//
// Shapes: a table is [rows, columns]; write_csv() takes a matrix, or a vector as one column.
// Gradients: none are recorded.
// Errors: a field that is no number, a missing value, and lines of different lengths are a
// FormatError with line and column; a column that is not there is an IndexError; a tensor of other
// dimensions, or another number of names, is a ShapeError; a file that cannot be read or written is
// an Error. Elements of other types than double, float and int64 do not compile.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <xgrad/data/file.hpp>
#include <xgrad/data/parse_number.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad::data {

/// How a field that is empty or "NA" is read: `error` throws FormatError, `nan` reads NaN.
enum class Missing { error, nan };

/// Options of read_csv().
struct CsvOptions {
    char delimiter = ','; // Between two fields. A quote or an end of line is an Error.
    /// True if the first line has the names of the columns.
    bool header = true;
    Missing missing = Missing::error; // for integers a missing value is always an error
};

/// A table: the names of its columns (none without a header), and its values, one row a line.
template <class T> struct Table {
    std::vector<std::string> columns; // names; none without a header
    Tensor<T> values;                 // [rows, columns]

    /// The column of this name. Throws IndexError if there is none.
    Tensor<T> column(std::string_view name) const {
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (columns[i] == name)
                return Tensor<T>(values.array_of().view(Shape{values.shape(0)},
                    Strides{values.strides()[0]}, static_cast<std::ptrdiff_t>(i)));
        xgrad::detail::fail<IndexError>("Table: there is no column '", name, "'");
    }
};

namespace detail {

std::string_view trimmed(std::string_view s) noexcept;

/// The index of the first name that occurs before; the number of names if all differ.
std::size_t first_repeated(std::vector<std::string> const& names);

/// Fields of a text, line by line, without the blanks around them. A field between quotes may hold
/// delimiters, ends of lines, doubled quotes and blanks at its ends.
class CsvReader {
public:
    CsvReader(Input const& in, char delimiter);

    /// The fields of the next line that is not empty; false where there is none.
    bool next(std::vector<std::string>& fields);
    /// Throws FormatError for a field (counted from 0) of the line that was read most recently.
    template <class... Parts>
    [[noreturn]] void fail_at(std::size_t column, Parts const&... parts) const {
        fail<FormatError>(in_.name(), ", line ", line_, ", column ", column + 1, ": ", parts...);
    }

private:
    bool end_of_line();
    std::string field(std::size_t column);

    Input const& in_;
    char delimiter_;
    std::string text_;
    std::size_t at_ = 0, line_ = 1, next_line_ = 1;
};

/// For a text outside the range of a type: true if the value underflows, by the position of its
/// first digit that is not 0.
bool is_tiny(std::string_view text);

template <class T>
T number_of(CsvReader const& in, std::string_view field, std::size_t column, Missing missing) {
    auto const text = trimmed(field);
    if (text.empty() || text == "NA") {
        if constexpr (RealScalar<T>)
            if (missing == Missing::nan) return std::numeric_limits<T>::quiet_NaN();
        in.fail_at(column, "the value is missing");
    }
    T value{};
    auto const* const begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-');
    auto const [end, error] = parse_number(begin, text.data() + text.size(), value);
    bool const is_outside = error == std::errc::result_out_of_range;
    if ((error != std::errc() && !is_outside) || end != text.data() + text.size())
        in.fail_at(column, "'", text.substr(0, 40), "' is no number of type ", name(dtype_of<T>));
    if constexpr (RealScalar<T>)
        if (is_outside && is_tiny(text)) return text[0] == '-' ? -T(0) : T(0);
    if (is_outside)
        in.fail_at(column, "'", text.substr(0, 40), "' is out of the range of ", name(dtype_of<T>));
    return value;
}

} // namespace detail

/// A table of elements of one type: double, float or std::int64_t. Empty lines are skipped; all
/// others must have the same number of fields.
template <class T = double> Table<T> read_csv(Input const& in, CsvOptions const& options = {}) {
    static_assert(RealScalar<T> || std::same_as<T, std::int64_t>,
        "read_csv: a table has elements of double, float or std::int64_t");
    detail::CsvReader reader(in, options.delimiter);
    Table<T> table;
    std::vector<std::string> fields;
    std::vector<T> values;
    std::size_t rows = 0, columns = 0;
    bool known = options.header && reader.next(fields);
    if (known) {
        columns = fields.size();
        table.columns = fields;
        if (auto const i = detail::first_repeated(table.columns); i < columns)
            reader.fail_at(i, "the name '", table.columns[i], "' stands twice");
    }
    for (; reader.next(fields); ++rows) {
        if (!std::exchange(known, true)) columns = fields.size();
        if (fields.size() != columns)
            reader.fail_at(std::min(fields.size(), columns), "the line has ", fields.size(),
                " fields, and those before have ", columns);
        for (std::size_t i = 0; i < columns; ++i)
            values.push_back(detail::number_of<T>(reader, fields[i], i, options.missing));
    }
    table.values = Tensor<T>::empty(Shape{rows, columns});
    std::copy(values.begin(), values.end(), table.values.array_of().begin());
    return table;
}

/// Writes a matrix, or a vector as one column, with so many digits that reading gives the same
/// values. Names are quoted if necessary; all must differ.
template <class T>
void write_csv(std::filesystem::path const& path, Tensor<T> const& values,
    std::vector<std::string> const& columns = {}, char delimiter = ',') {
    static_assert(RealScalar<T> || std::same_as<T, std::int64_t>,
        "write_csv: a table has elements of double, float or std::int64_t");
    if (values.dim() != 1 && values.dim() != 2)
        detail::fail<ShapeError>(
            "write_csv: a table is a matrix or a vector, and not of shape ", values.shape());
    std::size_t const width = values.dim() == 2 ? values.shape(1) : 1;
    if (!columns.empty() && columns.size() != width)
        detail::fail<ShapeError>("write_csv: ", columns.size(), " names for ", width, " columns");
    if (auto const i = detail::first_repeated(columns); i < columns.size())
        detail::fail("write_csv: the name '", columns[i], "' stands twice");
    AtomicFile file(path);
    std::string line;
    for (auto const& name : columns) {
        line += &name == columns.data() ? "" : std::string{delimiter};
        bool const is_plain = !name.empty() && detail::trimmed(name) == name &&
                              name.find_first_of(std::string("\"\r\n") + delimiter) == name.npos;
        if (is_plain) line += name;
        else {
            line += '"';
            for (char const c : name) line += c == '"' ? std::string("\"\"") : std::string{c};
            line += '"';
        }
    }
    if (!columns.empty()) file.write(line + "\n");
    auto const elements = xgrad::detail::contiguous(values.array_of());
    for (auto const* p = elements.begin(); p != elements.end();) {
        line.clear();
        for (std::size_t i = 0; i < width; ++i, ++p) {
            char digits[32];
            line += i ? std::string{delimiter} : "";
            line.append(digits, std::to_chars(digits, digits + sizeof digits, *p).ptr);
        }
        file.write(line + "\n");
    }
    file.commit();
}

} // namespace xgrad::data

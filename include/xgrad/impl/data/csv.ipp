// Bodies of csv.hpp, csv_log.hpp, element.hpp and event_log.hpp.
#pragma once

#include <xgrad/data/csv.hpp>
#include <xgrad/data/csv_log.hpp>
#include <xgrad/data/element.hpp>
#include <xgrad/data/event_log.hpp>

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

XGRAD_FUNCTION std::optional<std::size_t> convert_bool(
    std::byte const* from, std::byte* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        if (from[i] > std::byte{1}) return i;
        to[i] = from[i];
    }
    return {};
}

XGRAD_FUNCTION float float_of_half(std::uint16_t h) noexcept {
    std::uint32_t const sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u,
                        mantissa = h & 1023u;
    if (exponent == 0) return (sign ? -1.f : 1.f) * static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(
        sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

XGRAD_FUNCTION Element const* element_of(
    std::string_view Element::*format, std::string_view name) noexcept {
    for (auto const& e : elements)
        if (!name.empty() && e.*format == name) return &e;
    return nullptr;
}

XGRAD_FUNCTION Element const& element_of(DType t) noexcept {
    for (auto const& e : elements)
        if (e.dtype == t && (!e.convert || t == DType::boolean)) return e;
    return elements.back();
}

XGRAD_FUNCTION xgrad::detail::TypeInfo const& type_info_of(DType t) noexcept {
    switch (t) {
    case DType::boolean:
        return xgrad::detail::type_info<bool>;
    case DType::int64:
        return xgrad::detail::type_info<std::int64_t>;
    case DType::float32:
        return xgrad::detail::type_info<float>;
    case DType::float64:
        return xgrad::detail::type_info<double>;
    case DType::complex64:
        return xgrad::detail::type_info<std::complex<float>>;
    default:
        return xgrad::detail::type_info<std::complex<double>>;
    }
}

XGRAD_FUNCTION std::optional<std::uint64_t> bytes_of(
    Shape const& shape, std::size_t element) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
    std::uint64_t bytes = 16 * element; // elements may become wider, hence 16 times
    for (std::uint64_t const extent : shape) {
        if (extent > 1 && bytes > most / extent) return {};
        if (extent > 1) bytes *= extent;
    }
    return xgrad::numel(shape) == 0 ? 0 : bytes / 16;
}

XGRAD_FUNCTION void swap_bytes(std::byte* at, std::size_t unit, std::size_t bytes) noexcept {
    for (auto const* const end = at + bytes; unit > 1 && at != end; at += unit)
        std::reverse(at, at + unit);
}

XGRAD_FUNCTION AnyTensor read_tensor(
    Input const& in, std::uint64_t offset, Element const& e, bool swapped, Shape const& shape) {
    AnyTensor t(xgrad::detail::TensorImpl::make(type_info_of(e.dtype), shape));
    auto* to = t.impl().array.data;
    std::size_t const n = t.numel();
    if (!e.convert) {
        in.read(offset, to, n * e.size, "the elements");
        if (swapped) swap_bytes(to, e.unit, n * e.size);
        return t;
    }
    std::vector<std::byte> part(std::min<std::size_t>(n, 1 << 14) * e.size);
    std::size_t const width = t.impl().type->size;
    for (std::size_t done = 0, count = 0; done < n; done += count) {
        count = std::min<std::size_t>(n - done, 1 << 14);
        in.read(offset + done * e.size, part.data(), count * e.size, "the elements");
        if (swapped) swap_bytes(part.data(), e.unit, count * e.size);
        if (auto const wrong = e.convert(part.data(), to + done * width, count))
            in.fail_at(offset + (done + *wrong) * e.size,
                e.dtype == DType::boolean ? "a truth value that is neither 0 nor 1"
                                          : "an integer that is too large for int64");
    }
    return t;
}

XGRAD_FUNCTION ProtoMessage& ProtoMessage::number(unsigned field, double v) {
    return key(field, 1), put_little_endian(text_, std::bit_cast<std::uint64_t>(v)), *this;
}

XGRAD_FUNCTION ProtoMessage& ProtoMessage::number(unsigned field, float v) {
    return key(field, 5), put_little_endian(text_, std::bit_cast<std::uint32_t>(v)), *this;
}

XGRAD_FUNCTION ProtoMessage& ProtoMessage::bytes(unsigned field, std::string_view v) {
    return key(field, 2), varint(v.size()), text_ += v, *this;
}

XGRAD_FUNCTION ProtoMessage& ProtoMessage::numbers(unsigned field, std::vector<double> const& all) {
    key(field, 2), varint(8 * all.size());
    for (double const v : all) put_little_endian(text_, std::bit_cast<std::uint64_t>(v));
    return *this;
}

XGRAD_FUNCTION void ProtoMessage::varint(std::uint64_t v) {
    for (; v >= 128; v >>= 7) text_ += static_cast<char>(v | 128);
    text_ += static_cast<char>(v);
}

XGRAD_FUNCTION std::string tf_record(std::string const& content) {
    auto const masked = [](std::string const& s) {
        auto const c = crc<crc32c_polynomial>(s.data(), s.size());
        return (c >> 15 | c << 17) + 0xa282ead8u;
    };
    std::string record;
    put_little_endian(record, std::uint64_t{content.size()});
    put_little_endian(record, masked(record));
    record += content;
    put_little_endian(record, masked(content));
    return record;
}

XGRAD_FUNCTION std::string histogram(std::vector<double> const& values) {
    double least = std::numeric_limits<double>::infinity(), largest = -least, sum = 0, squares = 0;
    std::vector<double> positive{0};
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> limits;
    for (std::size_t i = positive.size(); i-- > 1;) limits.push_back(-positive[i]);
    limits.insert(limits.end(), positive.begin(), positive.end());
    std::vector<double> counts(limits.size(), 0.);
    for (double const v : values) {
        least = std::min(least, v), largest = std::max(largest, v), sum += v, squares += v * v;
        ++counts[std::min(
            static_cast<std::size_t>(std::ranges::lower_bound(limits, v) - limits.begin()),
            counts.size() - 1)];
    }
    // empty bins before the first and after the last one are omitted
    auto const used = [](double n) { return n > 0; };
    auto const begin = std::ranges::find_if(counts, used) - counts.begin(),
               end = std::find_if(counts.rbegin(), counts.rend(), used).base() - counts.begin();
    auto const cut = [&](std::vector<double> const& v) {
        return begin < end ? std::vector<double>(v.begin() + std::max<std::ptrdiff_t>(begin - 1, 0),
                                 v.begin() + end)
                           : std::vector<double>{0};
    };
    ProtoMessage message;
    message.number(1, values.empty() ? 0. : least)
        .number(2, values.empty() ? 0. : largest)
        .number(3, static_cast<double>(values.size()))
        .number(4, sum)
        .number(5, squares);
    return message.numbers(6, cut(limits)).numbers(7, cut(counts)).text();
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

XGRAD_FUNCTION EventLog::EventLog(std::filesystem::path const& directory) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    auto const seconds = static_cast<std::uint64_t>(now());
    path_ = directory / ("events.out.tfevents." + std::to_string(seconds) + "." +
                            std::to_string(std::random_device()()) + ".xgrad");
    file_.open(path_, std::ios::binary | std::ios::app);
    write(detail::ProtoMessage().number(1, now()).bytes(3, "brain.Event:2"));
    flush();
}

XGRAD_FUNCTION void EventLog::add_scalar(std::string_view tag, double value, std::int64_t step) {
    add(step, detail::ProtoMessage().bytes(1, tag).number(2, static_cast<float>(value)));
}

XGRAD_FUNCTION void EventLog::add_histogram(
    std::string_view tag, AnyTensor const& t, std::int64_t step) {
    std::vector<double> values;
    xgrad::detail::with_type(t, [&]<Scalar T>(Tensor<T> const& typed) {
        for (T const v : xgrad::detail::contiguous(typed.array_of())) {
            if constexpr (xgrad::detail::is_complex<T>)
                values.push_back(static_cast<double>(std::abs(v)));
            else values.push_back(static_cast<double>(v));
            if (!xgrad::detail::is_finite(values.back()))
                detail::fail("add_histogram: '", tag, "' has an element that is not finite");
        }
    });
    add(step, detail::ProtoMessage().bytes(1, tag).bytes(5, detail::histogram(values)));
}

XGRAD_FUNCTION void EventLog::flush() {
    file_.flush();
    if (!file_) detail::fail(path_.string(), ": cannot be written");
}

XGRAD_FUNCTION double EventLog::now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

XGRAD_FUNCTION void EventLog::add(std::int64_t step, detail::ProtoMessage const& value) {
    auto const summary = detail::ProtoMessage().bytes(1, value.text());
    write(detail::ProtoMessage()
              .number(1, now())
              .integer(2, static_cast<std::uint64_t>(step))
              .bytes(5, summary.text()));
    if (++added_ % 100 == 0) flush();
}

XGRAD_FUNCTION void EventLog::write(detail::ProtoMessage const& event) {
    auto const record = detail::tf_record(event.text());
    file_.write(record.data(), static_cast<std::streamsize>(record.size()));
    if (!file_) detail::fail(path_.string(), ": cannot be written");
}

} // namespace xgrad::data

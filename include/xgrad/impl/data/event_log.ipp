// Bodies of event_log.hpp.
#pragma once

#include <xgrad/data/event_log.hpp>

namespace xgrad::data::detail {

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

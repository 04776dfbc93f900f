// EventLog: scalars and histograms for TensorBoard, in its files of events: records with checks
// (TFRecord) of protocol buffers (tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto, of which four messages are needed).
//
// Errors: a file that cannot be written, an element that is not finite, and an undefined tensor are
// an Error.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <vector>

#include <xgrad/data/checksum.hpp>
#include <xgrad/data/file.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::data {

namespace detail {

/// A protocol buffer under construction: fields, each of a field number and a value.
class ProtoMessage {
public:
    ProtoMessage& integer(unsigned field, std::uint64_t v) {
        return key(field, 0), varint(v), *this;
    }
    ProtoMessage& number(unsigned field, double v);
    ProtoMessage& number(unsigned field, float v);
    ProtoMessage& bytes(unsigned field, std::string_view v);
    ProtoMessage& numbers(unsigned field, std::vector<double> const& all);
    std::string const& text() const noexcept { return text_; }

private:
    void key(unsigned field, unsigned kind) { varint(field << 3 | kind); }
    void varint(std::uint64_t v);
    std::string text_;
};

/// A record: its length and its content, each with a check.
std::string tf_record(std::string const& content);

/// Sums and counts of a histogram, in bins that grow by a tenth from 1e-12 on, as TensorBoard's
/// own.
std::string histogram(std::vector<double> const& values);

} // namespace detail

/// `EventLog log("runs/first"); log.add_scalar("loss/train", loss, step);` makes a file in that
/// directory, which `tensorboard --logdir runs` shows.
class EventLog {
public:
    explicit EventLog(std::filesystem::path const& directory);
    ~EventLog() { file_.flush(); }

    /// Appends one value of the curve `tag`, at a step.
    void add_scalar(std::string_view tag, double value, std::int64_t step);
    /// The distribution of a tensor's elements, or of the moduli of complex ones. They must be
    /// finite.
    void add_histogram(std::string_view tag, AnyTensor const& t, std::int64_t step);
    /// Writes to disk what was added. The destructor and each 100th addition do so, too.
    void flush();
    std::filesystem::path const& path() const noexcept { return path_; }

private:
    static double now();
    void add(std::int64_t step, detail::ProtoMessage const& value);
    void write(detail::ProtoMessage const& event);

    std::filesystem::path path_;
    std::ofstream file_;
    std::size_t added_ = 0;
};

} // namespace xgrad::data

// Progress and logs: what is drawn at which time, and files that other programs read.
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include <xgrad/data.hpp>

#include "tensor/compare.hpp"

namespace data = xg::data;
using namespace std::string_literals;

namespace {

/// A message of protocol buffers, field by field: the reader's side of the format.
std::map<std::uint64_t, std::string> fields(std::string_view text) {
    std::map<std::uint64_t, std::string> all;
    auto const varint = [&] {
        std::uint64_t v = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto const byte = static_cast<unsigned char>(text.at(0));
            text.remove_prefix(1);
            v |= std::uint64_t(byte & 127) << shift;
            if (byte < 128) return v;
        }
    };
    while (!text.empty()) {
        auto const key = varint();
        auto const kind = key & 7;
        if (kind == 0) {
            all[key >> 3] = std::to_string(varint());
            continue;
        }
        auto const length = kind == 1 ? 8 : kind == 5 ? 4 : varint();
        all[key >> 3] = text.substr(0, length);
        text.remove_prefix(length);
    }
    return all;
}
template <class T> std::vector<T> numbers(std::string const& bytes) {
    std::vector<T> all(bytes.size() / sizeof(T));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

} // namespace

TEST_CASE(
    "a progress bar on a terminal redraws one line, elsewhere it prints a line now and then") {
    double now = 0;
    auto const run = [&](bool terminal) {
        std::ostringstream out;
        now = 100;
        {
            data::ProgressBar bar(4, {.label = "epoch 1",
                                         .out = &out,
                                         .terminal = terminal,
                                         .interval = 30.,
                                         .smoothing = 0.5,
                                         .width = 4,
                                         .clock = [&] { return now; }});
            for (double const loss : {4., 1., 1., 1.}) {
                now += 20;
                bar.update(1, loss);
            }
            CHECK(bar.loss() == doctest::Approx((4. + 2 + 4 + 8) / 15));
        }
        return out.str();
    };
    CHECK(run(false) ==
          "epoch 1:  50% 2/4 00:40 left 00:40 loss 2\nepoch 1: 100% 4/4 01:20 loss 1.2\n");
    CHECK(run(true) == "\repoch 1:  50% [##..] 2/4 00:40 left 00:40 loss 2\x1b[K\repoch 1: 100% "
                       "[####] 4/4 01:20 loss 1.2\x1b[K\n");
    std::ostringstream out;
    data::ProgressBar empty(0, {.out = &out});
    empty.finish();
    CHECK(out.str() == "100% 0/0 00:00\n");
}

TEST_CASE("checks of known texts") {
    CHECK(data::detail::crc<data::detail::crc32_polynomial>("123456789", 9) == 0xcbf43926);
    CHECK(data::detail::crc<data::detail::crc32c_polynomial>("123456789", 9) == 0xe3069283);
    CHECK(data::detail::crc<data::detail::crc32_polynomial>("3456789", 7,
              data::detail::crc<data::detail::crc32_polynomial>("12", 2)) == 0xcbf43926);
}

TEST_CASE("logs") {
    auto const directory = std::filesystem::temp_directory_path() /
                           ("xgrad_log_" + std::to_string(std::random_device()()));
    std::filesystem::create_directory(directory);
    {
        data::CsvLog log(directory / "run.csv");
        CHECK_THROWS_WITH_AS(log.add(0, {{"loss", 1.}, {"a,b", 1.}}),
            "CsvLog: 'a,b' cannot be the name of a column", xg::Error);
        CHECK_THROWS_WITH_AS(log.add(0, {{"loss ", 1.}}),
            "CsvLog: 'loss ' cannot be the name of a column",
            xg::Error); // would be read as another
        log.add(1, {{"loss", 0.5}, {"accuracy", 0.25}});
        log.add(2, {{"accuracy", 1. / 3}});
        CHECK_THROWS_WITH_AS(log.add(3, {{"los", 1.}}),
            "CsvLog: there is no column 'los'; the first line decides which there are", xg::Error);
    }
    auto const table = data::read_csv(directory / "run.csv", {.missing = data::Missing::nan});
    CHECK(table.columns == std::vector{"step"s, "loss"s, "accuracy"s});
    CHECK(difference(table.values, {{1., 0.5, 0.25}, {2., NAN, 1. / 3}}, 0.) == "");

    std::filesystem::path path;
    {
        data::EventLog log(directory / "runs");
        log.add_scalar("loss/train", 0.25, 7);
        log.add_histogram("weights", D({-1., 0., 2., 2.}), 300);
        path = log.path();
    }
    CHECK(path.filename().string().starts_with("events.out.tfevents."));
    auto file = std::make_unique<data::Input>(path);
    data::Input const& in = *file;
    std::vector<std::map<std::uint64_t, std::string>> events;
    for (std::uint64_t at = 0; at < in.size();) {
        auto const length = data::detail::little_endian<std::uint64_t>(in.text(at, 8, "").data());
        events.push_back(fields(in.text(at + 12, length, "")));
        at += 16 + length;
    }
    REQUIRE(events.size() == 3);
    CHECK(events[0][3] == "brain.Event:2");
    CHECK(events[1][2] == "7");
    auto scalar = fields(fields(events[1][5])[1]);
    CHECK(scalar[1] == "loss/train");
    CHECK(numbers<float>(scalar[2]) == std::vector{0.25f});
    CHECK(events[2][2] == "300");
    auto histogram = fields(fields(fields(events[2][5])[1])[5]);
    std::vector<double> summary;
    for (std::uint64_t i = 1; i <= 5; ++i) summary.push_back(numbers<double>(histogram[i]).at(0));
    CHECK(summary == std::vector{-1., 2., 4., 3., 9.}); // least, largest, count, sum, squares
    auto const limits = numbers<double>(histogram[6]), counts = numbers<double>(histogram[7]);
    REQUIRE(limits.size() == counts.size());
    for (double const v : {-1., 0., 2.}) {
        auto const bin =
            static_cast<std::size_t>(std::ranges::lower_bound(limits, v) - limits.begin());
        CHECK(counts.at(bin) == (v == 2. ? 2. : 1.));
    }
    file.reset(); // Windows removes no open file
    std::filesystem::remove_all(directory);
}

// The table that every benchmark prints: xgrad beside a peer that does the same, and beside its
// goal. A time is the smallest of many short runs, which take turns in random order, so that a
// disturbance meets xgrad and its peers alike.
//
//     bench::Case("sum(a*b)", n).peer("hand", by_hand).xgrad(by_xgrad).at_most(1.5);
//     bench::Case("page faults", n).found(count, "").max_value(0);
//
// options: --json=FILE      also writes the rows as JSON, one on each line
//          --libtorch=FILE  such a file, from bench_torch: adds the times of libtorch for the cases
//          that it names and those of Google Benchmark
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

struct Row {
    std::string name;
    std::size_t n = 0;
    std::vector<std::pair<std::string, std::vector<double>>> peers; // who, ns of each run
    std::vector<double> xgrad;
    std::optional<double> value; // of a row that is no time
    std::string unit = "ns";
    double per = 1; // a time is that of so many steps
    std::optional<double> max_ratio, max_value, min_libtorch;
    std::string aim; // better than the goal asks; printed beside it in brackets
};

inline std::deque<Row>& rows() {
    static std::deque<Row> all;
    return all;
}

/// Adds a row to the table. Functions take nothing; peers of one row compete, and the fastest
/// counts.
class Case {
public:
    Case(std::string name, std::size_t n) : row_(rows().emplace_back()) {
        row_.name = std::move(name);
        row_.n = n;
    }
    template <class F> Case& peer(std::string const& who, F f) {
        row_.peers.emplace_back(who, std::vector<double>{});
        time(who + std::to_string(row_.peers.size()), std::move(f));
        return *this;
    }
    template <class F> Case& xgrad(F f) {
        time("xgrad", std::move(f));
        return *this;
    }
    /// What is no time: a count, or bytes.
    Case& found(double value, std::string unit) {
        row_.value = value;
        row_.unit = std::move(unit);
        return *this;
    }
    Case& per_step(std::size_t steps) {
        row_.per = static_cast<double>(steps);
        return *this;
    }
    Case& at_most(double times_the_peer) {
        row_.max_ratio = times_the_peer;
        return *this;
    }
    Case& max_value(double value) {
        row_.max_value = value;
        return *this;
    }
    Case& faster_than_libtorch(double times) {
        row_.min_libtorch = times;
        return *this;
    }
    Case& aim(std::string text) {
        row_.aim = std::move(text);
        return *this;
    }

private:
    template <class F> void time(std::string const& who, F f) {
        auto const name = std::to_string(rows().size() - 1) + '/' + row_.name + '/' +
                          std::to_string(row_.n) + '/' + who;
        auto const loop = [f = std::move(f)](benchmark::State& state) mutable {
            for (auto _ : state) {
                if constexpr (std::is_void_v<decltype(f())>) f();
                else benchmark::DoNotOptimize(f());
                benchmark::ClobberMemory();
            }
        };
        benchmark::RegisterBenchmark(name.c_str(), loop)->MinTime(0.02);
    }

    Row& row_;
};

/// Collects the times of all runs, and prints the table when the last one has come.
class Table : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const& runs) override {
        for (auto const& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            auto const& name = run.run_name.function_name;
            auto& row = rows()[std::stoul(name)];
            auto const who = name.substr(name.rfind('/') + 1);
            auto const ns = run.GetAdjustedCPUTime() / row.per;
            if (who == "xgrad") row.xgrad.push_back(ns);
            else row.peers[static_cast<std::size_t>(who.back() - '1')].second.push_back(ns);
        }
    }
};

using Times = std::vector<double>;
inline double least(Times const& t) {
    return t.empty() ? std::numeric_limits<double>::quiet_NaN()
                     : *std::min_element(t.begin(), t.end());
}
inline double median(Times t) {
    if (t.empty()) return std::numeric_limits<double>::quiet_NaN();
    auto const middle = t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2);
    std::nth_element(t.begin(), middle, t.end());
    return *middle;
}

inline std::string with_space(std::string const& unit) {
    std::string text(unit.empty() ? "" : " ");
    return text += unit;
}

/// The numbers of a row, NaN where there are none.
struct Figures {
    std::string peer = "-";
    double peer_ns = least({}), peer_median = least({}), xgrad, xgrad_median, ratio,
           libtorch = least({});
    std::string goal;
    bool checked = false, met = true;

    explicit Figures(
        Row const& row, std::vector<std::pair<std::string, double>> const& libtorch_times)
        : xgrad(row.value ? *row.value : least(row.xgrad)),
          xgrad_median(row.value ? *row.value : median(row.xgrad)) {
        for (auto const& [who, times] : row.peers)
            if (auto const t = least(times); !(t >= peer_ns))
                peer = who, peer_ns = t, peer_median = median(times);
        ratio = xgrad / peer_ns;
        for (auto const& [key, ns] : libtorch_times)
            if (key == row.name + '/' + std::to_string(row.n)) libtorch = ns;
        check(row.max_ratio, ratio, "x");
        check(row.max_value, xgrad, with_space(row.unit));
        if (row.min_libtorch) {
            add_goal(std::string("libtorch/") += number(*row.min_libtorch));
            if (libtorch == libtorch) checked = true, met &= libtorch / xgrad >= *row.min_libtorch;
        }
        if (!row.aim.empty()) (((goal += goal.empty() ? "(" : " (") += row.aim) += ")");
    }
    static std::string number(double x) {
        char text[32];
        if (x != x) return "-";
        std::snprintf(text, sizeof text, x >= 1000 ? "%.0f" : "%.4g", x);
        return text;
    }

private:
    void add_goal(std::string const& text) {
        if (!goal.empty()) goal += ", ";
        goal += text;
    }
    void check(std::optional<double> max, double value, std::string const& unit) {
        if (!max) return;
        add_goal(number(*max) + unit);
        if (value == value) checked = true, met &= value <= *max;
    }
};

/// A row of the table, from a file that another benchmark wrote.
inline std::vector<std::pair<std::string, double>> read_times(std::string const& path) {
    std::vector<std::pair<std::string, double>> times;
    if (path.empty()) return times;
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (!file) return times;
    char line[1024], name[256];
    unsigned long long n;
    double ns;
    while (std::fgets(line, sizeof line, file))
        if (std::sscanf(line,
                R"( {"case": "%255[^"]", "n": %llu, "peer": "libtorch", "peer_ns": %lf)", name, &n,
                &ns) == 3)
            times.emplace_back(std::string(name) + '/' + std::to_string(n), ns);
    std::fclose(file);
    return times;
}

inline void print(std::vector<Figures> const& figures) {
    bool const torch = std::any_of(
        figures.begin(), figures.end(), [](auto const& f) { return f.libtorch == f.libtorch; });
    std::printf("%-50s %7s  %-14s %10s %10s %7s  %-26s %-4s", "case", "n", "peer", "peer ns",
        "xgrad ns", "ratio", "goal", "met?");
    std::printf(torch ? " %11s %8s\n" : "\n", "libtorch ns", "/ xgrad");
    for (std::size_t i = 0; i < figures.size(); ++i) {
        auto const& f = figures[i];
        auto const& row = rows()[i];
        auto const number = Figures::number;
        if (f.xgrad != f.xgrad && f.peer_ns != f.peer_ns) continue; // filtered out
        auto const value = number(f.xgrad) + (row.value ? with_space(row.unit) : std::string());
        std::printf("%-50s %7zu  %-14s %10s %10s %7s  %-26s %-4s", row.name.c_str(), row.n,
            f.peer.c_str(), number(f.peer_ns).c_str(), value.c_str(), number(f.ratio).c_str(),
            f.goal.c_str(),
            !f.checked ? ""
            : f.met    ? "yes"
                       : "NO");
        std::printf(torch ? " %11s %8s\n" : "\n", number(f.libtorch).c_str(),
            number(f.libtorch / f.xgrad).c_str());
    }
}

inline void write_json(std::vector<Figures> const& figures, std::string const& path) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (!file) {
        std::perror(path.c_str());
        std::exit(2);
    }
    auto const number = [](double x) { return x == x ? std::to_string(x) : "null"; };
    std::fputs("[\n", file);
    for (std::size_t i = 0; i < figures.size(); ++i) {
        auto const& f = figures[i];
        std::fprintf(file,
            R"( {"case": "%s", "n": %zu, "peer": "%s", "peer_ns": %s, "peer_median_ns": %s, "xgrad": %s, "xgrad_median": %s, )",
            rows()[i].name.c_str(), rows()[i].n, f.peer.c_str(), number(f.peer_ns).c_str(),
            number(f.peer_median).c_str(), number(f.xgrad).c_str(), number(f.xgrad_median).c_str());
        std::fputs(R"("peers": {)", file);
        for (auto const& [who, times] : rows()[i].peers)
            std::fprintf(file, R"(%s"%s": %s)", &who == &rows()[i].peers.front().first ? "" : ", ",
                who.c_str(), number(least(times)).c_str());
        std::fprintf(file,
            R"(}, "unit": "%s", "ratio": %s, "libtorch_ns": %s, "goal": "%s", "met": %s}%s)",
            rows()[i].unit.c_str(), number(f.ratio).c_str(), number(f.libtorch).c_str(),
            f.goal.c_str(),
            !f.checked ? "null"
            : f.met    ? "true"
                       : "false",
            i + 1 < figures.size() ? ",\n" : "\n");
    }
    std::fputs("]\n", file);
    std::fclose(file);
}

/// The whole of main(), after the cases have been added.
inline int run(int argc, char** argv) {
    std::string json, libtorch;
    std::string defaults[] = {
        "--benchmark_repetitions=25", "--benchmark_enable_random_interleaving=true"};
    std::vector<char*> arguments{argv[0], defaults[0].data(), defaults[1].data()};
    for (int i = 1; i < argc; ++i) {
        std::string const argument = argv[i];
        if (argument.rfind("--json=", 0) == 0) json = argument.substr(7);
        else if (argument.rfind("--libtorch=", 0) == 0) libtorch = argument.substr(11);
        else arguments.push_back(argv[i]);
    }
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    Table table;
    benchmark::RunSpecifiedBenchmarks(&table);
    std::vector<Figures> figures;
    auto const times = read_times(libtorch);
    for (auto const& row : rows()) figures.emplace_back(row, times);
    print(figures);
    if (!json.empty()) write_json(figures, json);
    return 0;
}

/// Stops the program where xgrad and a peer do not compute the same.
template <class T> void agree(std::string const& what, T const* x, T const* y, std::size_t n) {
    double const tolerance =
        std::numeric_limits<decltype(std::abs(T()))>::digits < 53 ? 1e-5 : 1e-10;
    double largest = 0, difference = 0;
    bool numbers = true;
    for (std::size_t i = 0; i < n; ++i) {
        auto const apart = static_cast<double>(std::abs(x[i] - y[i]));
        largest = std::max(largest, static_cast<double>(std::abs(y[i])));
        difference = std::max(difference, apart);
        numbers &= apart == apart;
    }
    if (numbers && difference <= tolerance * largest) return;
    std::fprintf(stderr, "%s, n = %zu: the results differ by %g, the largest being %g%s\n",
        what.c_str(), n, difference, largest, numbers ? "" : ", and some are no numbers");
    std::exit(1);
}
template <class T> void agree(std::string const& what, T x, T y) { agree(what, &x, &y, 1); }

} // namespace bench

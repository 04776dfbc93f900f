// tools/test oracle: random programs, each number of which is compared with another way to it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "generate.hpp"

using namespace composed;

namespace {

struct Options {
    std::uint64_t seed = 1;
    double minutes = 0;
    std::size_t programs = 0, failures = 1;
    bool verbose = false, brief = false, print = false, more = false;
    std::string plant = {}, write = {}, with = {};
};
double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Writes programs as C++, which compares their values with those that were found here.
void write_programs(Catalogue const& all, Options const& o) {
    std::ofstream file(o.write);
    file << "#include \"oracle/composed/example.hpp\"\n\nint main() {\n    double worst = 0;\n";
    Tallies tallies;
    std::size_t written = 0;
    for (auto s = o.seed; written < o.programs; ++s) {
        auto const p = make_program(s, all, tallies);
        if (size_of(*p.function) > 9) continue;
        file << source_of_value(p);
        ++written;
    }
    file << "    std::cout << worst << '\\n';\n    return !(worst < 1e-9);\n}\n";
}

bool calls(Function const& f, Operation const* op) {
    return std::any_of(f.code.begin(), f.code.end(),
        [op](Instruction const& at) { return at.op == op || (at.inner && calls(*at.inner, op)); });
}

/// The number of programs that failed, of those that call an operation if one is given.
std::size_t try_programs(Catalogue const& all, Options const& o, Tallies& tallies,
    std::string& text, Operation const* of = nullptr) {
    Counts counts;
    std::size_t failures = 0;
    auto const start = std::chrono::steady_clock::now();
    std::uint64_t s = o.seed;
    for (; (o.programs == 0 || s < o.seed + o.programs) &&
           (o.minutes == 0 || seconds_since(start) < o.minutes * 60);
         ++s) {
        auto const begun = std::clock();
        auto const p = make_program(s, all, tallies);
        auto const made = std::clock();
        if (of && !calls(*p.function, of)) continue;
        if (o.print) std::cout << source(p, {"no fault", ""}) << '\n';
        auto const fault = try_program(p, counts);
        if (o.verbose)
            std::cerr << s << ": " << size_of(*p.function) << " instructions, made in "
                      << (made - begun) * 1000 / CLOCKS_PER_SEC << " ms, compared in "
                      << (std::clock() - made) * 1000 / CLOCKS_PER_SEC << " ms\n";
        if (!fault) continue;
        ++failures;
        if (o.brief) {
            std::cout << s << ' ' << fault->kind << ": " << fault->message.substr(0, 90)
                      << std::endl;
            continue;
        }
        std::ostringstream report;
        report << "after " << s - o.seed + 1 << " programs and " << seconds_since(start)
               << " s, seed " << s << ": " << fault->kind << '\n'
               << fault->message << '\n';
        auto const [small, why] = shrink(p, *fault);
        report << source(small, why) << '\n';
        text += report.str();
        if (o.plant.empty()) std::cout << report.str() << std::flush;
        if (failures >= o.failures) break;
    }
    if (o.verbose)
        for (auto const& [op, tally] : tallies)
            std::cerr << tally.used << '/' << tally.drawn << ' ' << op->name << ' ' << tally.refused
                      << '\n';
    std::cout << counts.programs << " programs from seed " << o.seed << " in "
              << seconds_since(start) << " s, " << counts.transforms
              << " transforms, nested to depth " << counts.deepest << "; " << counts.comparisons
              << " comparisons, " << counts.differences << " of them with differences, "
              << counts.undecided << " undecided, " << counts.cut << " cut short; " << counts.limits
              << " programs want what is documented as missing" << std::endl;
    // A check that decides nothing would never fail.
    if (counts.undecided > 50 && counts.undecided * 5 > counts.differences) {
        std::cout << "too many differences are undecided\n";
        ++failures;
    }
    return failures;
}
Catalogue all_operations() {
    Catalogue all;
    add_elementwise(all);
    add_arrays(all);
    add_numbers(all);
    add_matrices(all);
    add_functions(all);
    add_layers(all);
    add_transforms(all);
    add_solutions(all);
    return all;
}
/// Each error that is planted is found, by its name, within so many programs.
bool finds_planted(Options o) {
    bool all_found = true;
    auto const names = o.plant == "all" ? planted_names() : std::vector{o.plant};
    for (auto const& name : names) {
        auto all = all_operations();
        auto const before = all.all.size();
        add_planted(all, name);
        if (all.all.size() == before) {
            std::cout << "there is no error " << name << '\n';
            return false;
        }
        Tallies tallies;
        std::string text;
        auto const& planted = all.all.back()->text;
        bool const found = try_programs(all, o, tallies, text, all.all.back().get()) != 0 &&
                           text.find(planted.substr(0, planted.find('('))) != text.npos;
        std::cout << "planted " << name << (found ? ": found\n" : ": NOT found\n") << text
                  << std::flush;
        all_found &= found;
    }
    return all_found;
}

} // namespace

int main(int argc, char** argv) {
    Options o;
    for (int i = 1; i < argc; ++i) {
        std::string const option = argv[i];
        auto const next = [&] { return ++i < argc ? argv[i] : "0"; };
        if (option == "--seed") o.seed = std::stoull(next());
        else if (option == "--minutes") o.minutes = std::stod(next());
        else if (option == "--programs") o.programs = std::stoull(next());
        else if (option == "--failures") o.failures = std::stoull(next());
        else if (option == "--plant") o.plant = next();
        else if (option == "--write") o.write = next();
        else if (option == "--with") o.with = next();
        else if (option == "--verbose") o.verbose = true;
        else if (option == "--brief") o.brief = true;
        else if (option == "--print") o.print = true;
        else if (option == "--and-more") o.more = true;
        else {
            std::cerr << "usage: [--seed N] [--minutes M] [--programs K] [--failures F] "
                         "[--plant NAME|all] [--with TEXT] [--write FILE] [--print] [--brief] "
                         "[--verbose] "
                         "[--and-more]\n"
                         "--with: only programs that call the first operation with this text\n"
                         "--and-more: a new seed, or XGRAD_ORACLE_SEED, for XGRAD_ORACLE_MINUTES\n";
            return 2;
        }
    }
    if (o.programs == 0 && o.minutes == 0) o.programs = 300;
    if (!o.plant.empty()) return !finds_planted(o);
    auto const all = all_operations();
    if (!o.write.empty()) return write_programs(all, o), 0;
    Tallies tallies;
    std::string text;
    Operation const* with = nullptr;
    for (auto const& each : all.all)
        if (!with && !o.with.empty() && each->text.find(o.with) != each->text.npos)
            with = each.get();
    bool failed = try_programs(all, o, tallies, text, with) != 0;
    auto const* const minutes = std::getenv("XGRAD_ORACLE_MINUTES");
    if (o.more && minutes) {
        auto const* const seed = std::getenv("XGRAD_ORACLE_SEED");
        o.seed = seed ? std::stoull(seed) : std::random_device()();
        o.minutes = std::stod(minutes);
        o.programs = 0;
        std::cout << "a new seed: " << o.seed << std::endl;
        failed |= try_programs(all, o, tallies, text) != 0;
    }
    return failed;
}

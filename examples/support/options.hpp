// The command line of an example: named options with defaults, `--help`, and the exit code that an
// error deserves. The work is CLI11's (https://github.com/CLIUtils/CLI11).
#pragma once

#include <concepts>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace examples {

/// The command line is wrong: exit code 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// `--help` was given and answered: exit code 0.
struct HelpShown {};

/// Options write into the variables that they were declared with; what a variable holds at that
/// time is the default.
///
///     double tolerance = 1e-5;
///     Options options("Recovers an image.");
///     options.number("tolerance", tolerance, "relative error to reach", 0);
///     options.parse(argc, argv); // --tolerance 1e-6 or --tolerance=1e-6
class Options {
public:
    explicit Options(std::string const& summary);
    Options(Options const&) = delete;
    Options& operator=(Options const&) = delete;
    ~Options();

    void text(std::string const& name, std::string& value, std::string const& help);

    /// One of a few choices.
    void choice(std::string const& name, std::string& value,
        std::vector<std::string> const& choices, std::string const& help);

    /// A double, an unsigned integer, or a std::vector<double> with commas between the numbers,
    /// none of them below `minimum` or above `maximum`.
    template <class T>
    void number(std::string const& name, T& value, std::string const& help,
        double minimum = std::numeric_limits<double>::lowest(),
        double maximum = std::numeric_limits<double>::max());

    void parse(int argc, char const* const* argv);

private:
    std::unique_ptr<CLI::App> app_;
};

/// Runs `program`, which returns an exit code. An error becomes one line on stderr and an exit
/// code: 2 for a wrong command line, 1 for everything else.
template <std::invocable Program> int exit_code(Program program) {
    try {
        return program();
    } catch (HelpShown const&) { return 0; } catch (UsageError const& error) {
        std::cerr << "error: " << error.what() << '\n';
        return 2;
    } catch (std::exception const& error) {
        std::cerr << "error: " << error.what() << '\n';
        return 1;
    }
}

} // namespace examples

// The command line of an example: named options with defaults, `--help`, and the exit code that an
// error deserves.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace examples {

/// The command line is wrong: exit code 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// `--help` was given and answered: exit code 0.
struct HelpShown {};

namespace detail {

template <std::integral T> bool read(std::string_view text, T& value) {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

// std::from_chars for floating point is missing from some standard libraries.
inline bool read(std::string_view text, double& value) {
    std::istringstream stream{std::string(text)};
    stream.imbue(std::locale::classic());
    return (stream >> std::noskipws >> value) &&
           stream.peek() == std::istringstream::traits_type::eof();
}

inline bool read(std::string_view text, std::vector<double>& values) {
    std::vector<double> read_values;
    for (std::size_t begin = 0; begin <= text.size();) {
        auto const end = std::min(text.find(',', begin), text.size());
        if (!read(text.substr(begin, end - begin), read_values.emplace_back())) return false;
        begin = end + 1;
    }
    values = std::move(read_values);
    return true;
}

template <class T> std::string show(T const& value) {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream << value;
    return stream.str();
}

inline std::string show(std::vector<double> const& values) {
    std::string text;
    for (double const value : values) text += (text.empty() ? "" : ",") + show(value);
    return text;
}

inline double smallest(double value) { return value; }
inline double smallest(std::vector<double> const& values) { return std::ranges::min(values); }
template <std::integral T> double smallest(T value) { return static_cast<double>(value); }
inline double largest(double value) { return value; }
inline double largest(std::vector<double> const& values) { return std::ranges::max(values); }
template <std::integral T> double largest(T value) { return static_cast<double>(value); }

template <class T> constexpr char const* placeholder = "NUMBER";
template <> inline constexpr char const* placeholder<std::vector<double>> = "NUMBER,...";

template <class T> constexpr char const* kind_of = "a number";
template <std::integral T> constexpr char const* kind_of<T> = "a whole number";
template <>
inline constexpr char const* kind_of<std::vector<double>> = "numbers with commas between them";

} // namespace detail

/// Options write into the variables that they were declared with; what a variable holds at that
/// time is the default.
///
///     double tolerance = 1e-5;
///     Options options("Recovers an image.");
///     options.number("tolerance", tolerance, "relative error to reach", 0);
///     options.parse(argc, argv);                                  // --tolerance 1e-6 or
///     --tolerance=1e-6
class Options {
public:
    explicit Options(std::string summary) : summary_(std::move(summary)) {}

    void text(std::string name, std::string& value, std::string help) {
        add({std::move(name), "TEXT", std::move(help), value,
            [&value](std::string_view text) { value = text; }});
    }

    /// A number, a whole number or a list of numbers, none of them below `minimum` or above
    /// `maximum`.
    template <class T>
    void number(std::string name, T& value, std::string help,
        double minimum = std::numeric_limits<double>::lowest(),
        double maximum = std::numeric_limits<double>::max()) {
        auto const assign = [&value, name, minimum, maximum](std::string_view text) {
            auto const refuse = [&](std::string const& wanted) {
                throw UsageError(
                    "--" + name + " takes " + wanted + ", not '" + std::string(text) + "'");
            };
            if (!detail::read(text, value)) refuse(detail::kind_of<T>);
            if (detail::smallest(value) < minimum) refuse("no less than " + detail::show(minimum));
            if (detail::largest(value) > maximum) refuse("no more than " + detail::show(maximum));
        };
        add({name, detail::placeholder<T>, std::move(help), detail::show(value), assign});
    }

    void flag(std::string name, bool& value, std::string help) {
        add({std::move(name), "", std::move(help), "",
            [&value](std::string_view) { value = true; }});
    }

    void parse(int argc, char const* const* argv) const {
        std::vector<std::string_view> const words(argv + 1, argv + std::max(argc, 1));
        for (auto word = words.begin(); word != words.end(); ++word) {
            if (*word == "--help" || *word == "-h") {
                show_help(argv[0]);
                throw HelpShown{};
            }
            auto const equals = std::min(word->find('='), word->size());
            auto const& option = find(word->substr(0, equals), *word);
            bool const has_value = equals != word->size();
            if (option.takes.empty()) {
                if (has_value) throw UsageError("--" + option.name + " takes no value");
                option.assign({});
            } else if (has_value) {
                option.assign(word->substr(equals + 1));
            } else {
                if (std::next(word) == words.end() || std::next(word)->starts_with("--"))
                    throw UsageError("--" + option.name + " needs a value");
                option.assign(*++word);
            }
        }
    }

private:
    struct Option {
        std::string name, takes, help, initial;
        std::function<void(std::string_view)> assign;
    };

    void add(Option option) { options_.push_back(std::move(option)); }

    Option const& find(std::string_view dashed, std::string_view word) const {
        if (!dashed.starts_with("--"))
            throw UsageError("unexpected argument '" + std::string(word) + "' (try --help)");
        auto const found = std::ranges::find(options_, dashed.substr(2), &Option::name);
        if (found == options_.end())
            throw UsageError("unknown option '" + std::string(dashed) + "' (try --help)");
        return *found;
    }

    void show_help(std::string_view program) const {
        std::cout << summary_ << "\n\nUsage: " << program << " [options]\n\n";
        auto const row = [](std::string left, std::string_view help) {
            left.resize(std::max<std::size_t>(left.size(), 22), ' ');
            std::cout << "  " << left << ' ' << help << '\n';
        };
        for (auto const& option : options_)
            if (option.takes.empty()) row("--" + option.name, option.help);
            else
                row("--" + option.name + ' ' + option.takes,
                    option.help + " (default: " + option.initial + ')');
        row("--help", "show this text");
    }

    std::string summary_;
    std::vector<Option> options_;
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

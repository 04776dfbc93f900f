#include <options.hpp>

#include <algorithm>
#include <sstream>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>

namespace examples {

Options::Options(std::string const& summary) : app_(std::make_unique<CLI::App>(summary)) {}
Options::~Options() = default;

void Options::text(std::string const& name, std::string& value, std::string const& help) {
    app_->add_option("--" + name, value, help)->capture_default_str()->take_last();
}

void Options::choice(std::string const& name, std::string& value,
    std::vector<std::string> const& choices, std::string const& help) {
    std::string list;
    for (auto const& each : choices) list += (list.empty() ? "" : ", ") + each;
    auto* const option = app_->add_option("--" + name, value, help)->capture_default_str();
    option->type_name("{" + list + "}")
        ->take_last()
        ->check([choices, list](std::string const& text) {
            bool const known = std::find(choices.begin(), choices.end(), text) != choices.end();
            return known ? std::string() : "'" + text + "' is none of " + list;
        });
}

template <class T>
void Options::number(
    std::string const& name, T& value, std::string const& help, double minimum, double maximum) {
    auto* const option = app_->add_option("--" + name, value, help)->capture_default_str();
    if constexpr (std::is_arithmetic_v<T>) option->type_name("NUMBER")->take_last();
    else option->type_name("NUMBER,...")->delimiter(',')->allow_extra_args(false);
    option->check([range = CLI::Range(minimum, maximum), minimum, maximum](std::string text) {
        if (range(text).empty()) return std::string();
        std::ostringstream message;
        message << "'" << text << "' is not a number";
        if (maximum != std::numeric_limits<double>::max())
            message << " between " << minimum << " and " << maximum;
        else if (minimum != std::numeric_limits<double>::lowest())
            message << " that is at least " << minimum;
        return message.str();
    });
}

template void Options::number(std::string const&, double&, std::string const&, double, double);
template void Options::number(std::string const&, unsigned&, std::string const&, double, double);
template void Options::number(
    std::string const&, unsigned long&, std::string const&, double, double);
template void Options::number(
    std::string const&, unsigned long long&, std::string const&, double, double);
template void Options::number(
    std::string const&, std::vector<double>&, std::string const&, double, double);

void Options::parse(int argc, char const* const* argv) {
    try {
        app_->parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
        std::cout << app_->help();
        throw HelpShown{};
    } catch (CLI::ParseError const& error) { throw UsageError(error.what()); }
}

} // namespace examples

// Call stacks in messages: addr2line is called once, when somebody reads the text, and never
// without anomaly mode.
#include "walk.hpp"

#if __has_include(<execinfo.h>) && __has_include(<link.h>)

#    include <cstdlib>
#    include <filesystem>
#    include <fstream>
#    include <optional>

#    include <unistd.h>

namespace {

namespace fs = std::filesystem;

/// In its scope, PATH finds an addr2line first that notes its calls, and says of each address that
/// it is in these functions, one inlined into the next, in "user.cpp".
class CountedAddr2line {
public:
    explicit CountedAddr2line(std::vector<std::string> const& functions = {"user_function"})
        : folder_(fs::temp_directory_path() / ("xgrad_addr2line_" + std::to_string(::getpid()))),
          path_(std::getenv("PATH")) {
        fs::create_directories(folder_);
        std::ofstream text(folder_ / "lines");
        for (auto const& function : functions) text << function << "\nuser.cpp:7\n";
        std::ofstream(folder_ / "addr2line") << "#!/bin/sh\n"
                                                "echo \"$@\" >> \"${0%/*}/calls\"\n"
                                                "for a in \"$@\"; do case $a in 0x*)\n"
                                                "echo $a; cat \"${0%/*}/lines\"\n"
                                                "esac; done\n";
        fs::permissions(folder_ / "addr2line", fs::perms::owner_all);
        ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    }
    CountedAddr2line(CountedAddr2line const&) = delete;
    CountedAddr2line& operator=(CountedAddr2line const&) = delete;
    ~CountedAddr2line() {
        ::setenv("PATH", path_.c_str(), 1);
        fs::remove_all(folder_);
    }

    int calls() const {
        std::ifstream file(folder_ / "calls");
        int count = 0;
        for (std::string line; std::getline(file, line);) ++count;
        return count;
    }

private:
    fs::path folder_;
    std::string path_;
};

/// A graph whose saved value was changed; sum() takes no source location, so that its Node records
/// the call stack.
D changed_after_it_was_saved(bool in_anomaly_mode) {
    std::optional<xg::AnomalyMode> mode;
    if (in_anomaly_mode) mode.emplace();
    D const x({1., 2.}, xg::requires_grad);
    D y = x + 1.;
    D const s = sum(y * y);
    y += 1.;
    return s;
}

std::size_t occurrences(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
        ++count;
    return count;
}

} // namespace

TEST_CASE("a VersionError looks up its call stack when its text is read, by one call") {
    auto const s = changed_after_it_was_saved(true);
    CountedAddr2line const addr2line;
    bool thrown = false;
    try { // CHECK_THROWS would read the text
        s.backward();
    } catch (xg::VersionError const&) { thrown = true; }
    CHECK(thrown);
    CHECK(addr2line.calls() == 0);
    try {
        s.backward();
    } catch (std::exception const& e) {
        CHECK(addr2line.calls() == 0);
        std::string const text = e.what();
        CAPTURE(text);
        CHECK(addr2line.calls() == 1);
        CHECK(text.find("It was saved by ") != text.npos);
        CHECK(occurrences(text, "\n    user.cpp:7, in user_function") == 8);
        CHECK(e.what() == text);
    }
    CHECK_THROWS_WITH(s.backward(), doctest::Contains("user.cpp:7, in user_function"));
    CHECK(addr2line.calls() == 1); // the Node has the text now
}

TEST_CASE("without anomaly mode an error starts no process") {
    auto const s = changed_after_it_was_saved(false);
    CountedAddr2line const addr2line;
    CHECK_THROWS_WITH_AS(
        s.backward(), doctest::Contains("Hint: record in the scope of an"), xg::VersionError);
    CHECK(addr2line.calls() == 0);
}

TEST_CASE("the stacks of a Node, and of the passes that induced it, are looked up by one call") {
    CountedAddr2line const addr2line;
    auto const before = xg::set_warning_handler([](std::string const&) {});
    {
        xg::AnomalyMode const on;
        D const x({0.}, xg::requires_grad);
        D const y = sum(pow(x, 1.5));
        D const g = sum(grad(y, x, {.create_graph = true}) * 0.);
        CHECK(addr2line.calls() == 0);
        CHECK_THROWS_WITH_AS(
            g.backward(), doctest::Contains("induced by the backward pass"), xg::GraphError);
    }
    xg::set_warning_handler(before);
    CHECK(addr2line.calls() == 1); // the warning read the text, too
}

TEST_CASE("a call stack lists the functions of the program, whatever types of xgrad they have") {
    auto const text_with = [&](std::vector<std::string> const& functions) {
        auto const s = changed_after_it_was_saved(true);
        CountedAddr2line const addr2line(functions);
        try {
            s.backward();
        } catch (xg::VersionError const& e) { return std::string(e.what()); }
        return std::string();
    };
    std::vector<std::string> const of_the_program{"main", "solve(xgrad::Tensor<double> const&)",
        "xgrad::Tensor<double> solve<double>(xgrad::Tensor<double> const&)",
        "void solve<xgrad::Tensor<double> >(xgrad::Tensor<double> const&)",
        "(anonymous namespace)::Net::forward(xgrad::Tensor<double> const&)",
        "decltype (xgrad::sin({parm#1})) (anonymous namespace)::f<xgrad::Tensor<double> >(int)",
        "auto main::{lambda(auto:1)#1}::operator()<xgrad::Tensor<double> >(int) const",
        "Loss::operator xgrad::Tensor<double>() const",
        "bool mine::operator< <xgrad::Tensor<double> >(int, int)", "my_xgrad::run(int)"};
    std::vector<std::string> const of_others{"xgrad::Tensor<double>::backward() const",
        "auto xgrad::detail::apply<xgrad::Tensor<double>, (xgrad::Kind)3>(int)",
        "std::ostream& xgrad::operator<< <double>(std::ostream&, xgrad::Tensor<double> const&)",
        "decltype (a->b(1>2)) xgrad::(anonymous namespace)::f<decltype (a->b)>(int)",
        "decltype(auto) xgrad::f<int>(int)", "xgrad::f<(int)1>(int)::{lambda()#1}::operator()()",
        "void std::__invoke_impl<void, xgrad::Op<double>&>(std::__invoke_other, int)"};
    std::string const listed = text_with(of_the_program);
    for (auto const& function : of_the_program) {
        CAPTURE(function);
        CHECK(listed.find(", in " + function) != listed.npos);
    }
    auto functions = of_others;
    functions.push_back("user_function");
    std::string const hidden = text_with(functions);
    CHECK(hidden.find(", in user_function") != hidden.npos);
    for (auto const& function : of_others) {
        CAPTURE(function);
        CHECK(hidden.find(", in " + function) == hidden.npos);
    }
}

#endif

// The one translation unit that holds doctest itself; every test program links it.
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
#    define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#    include <doctest/doctest.h>
#else
// Where the platform has no threads, a case that starts one ends with the exception of std::thread.
// It counts as skipped if nothing failed before; the program fails for all others.
#    define DOCTEST_CONFIG_IMPLEMENT
#    include <doctest/doctest.h>

#    include <iostream>
#    include <string_view>

namespace {

int failed = 0, skipped = 0;

struct WithoutThreads : doctest::IReporter {
    explicit WithoutThreads(doctest::ContextOptions const&) {}

    void test_case_start(doctest::TestCaseData const& data) override {
        name_ = data.m_name;
        needs_thread_ = failed_before_ = false;
    }
    void test_case_exception(doctest::TestCaseException const& e) override {
        look_at(e.error_string.c_str());
    }
    void log_assert(doctest::AssertData const& a) override {
        if (a.m_threw) look_at(a.m_exception.c_str());
        failed_before_ |= a.m_failed && !needs_thread_;
    }
    void test_case_end(doctest::CurrentTestCaseStats const& stats) override {
        if (!stats.failure_flags) return;
        bool const skips = needs_thread_ && !failed_before_;
        ++(skips ? skipped : failed);
        if (skips) std::cout << "skipped, since it starts a thread: " << name_ << '\n';
    }
    void report_query(doctest::QueryData const&) override {}
    void test_run_start() override {}
    void test_run_end(doctest::TestRunStats const&) override {}
    void test_case_reenter(doctest::TestCaseData const&) override {}
    void subcase_start(doctest::SubcaseSignature const&) override {}
    void subcase_end() override {}
    void log_message(doctest::MessageData const&) override {}
    void test_case_skipped(doctest::TestCaseData const&) override {}

private:
    void look_at(std::string_view message) {
        needs_thread_ |= message.find("thread constructor failed") != message.npos;
    }

    char const* name_ = "";
    bool needs_thread_ = false, failed_before_ = false;
};
REGISTER_LISTENER("without threads", 1, WithoutThreads);

} // namespace

int main(int argc, char** argv) {
    doctest::Context(argc, argv).run();
    std::cout << "without threads: " << failed << " cases failed, " << skipped
              << " need a thread and were skipped\n";
    return failed != 0;
}
#endif

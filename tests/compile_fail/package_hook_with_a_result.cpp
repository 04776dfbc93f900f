// expect: PackageExporter: a hook returns nothing
#include <xgrad/package.hpp>

using Exporter = xgrad::package::PackageExporter;

int main() {
    Exporter exporter("file");
#ifdef MISTAKE
    exporter.register_mock_hook([](Exporter&, std::string const& name) { return name; });
#else
    exporter.register_mock_hook([](Exporter&, std::string const&) {});
#endif
}

// expect: a hook takes the PackageExporter& and the name, a std::string const&
#include <xgrad/package.hpp>

using Exporter = xgrad::package::PackageExporter;

int main() {
    Exporter exporter("file");
#ifdef MISTAKE
    exporter.register_extern_hook([](std::string const&) {});
#else
    exporter.register_extern_hook([](Exporter&, std::string const&) {});
#endif
}

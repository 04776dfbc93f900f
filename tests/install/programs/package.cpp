#include <xgrad/package.hpp>

namespace package = xgrad::package;

int main(int, char** arguments) {
    char const* const file = arguments[1];
    package::PackageExporter exporter(file);
    exporter.intern("xgrad.**");
    exporter.save_module("acme", "net", xgrad::nn::Linear<double>(2, 1));
    exporter.close();
    package::PackageImporter importer(file);
    return importer.load_module<xgrad::nn::Linear<double>>("acme", "net").parameter_count() == 3
               ? 0
               : 1;
}

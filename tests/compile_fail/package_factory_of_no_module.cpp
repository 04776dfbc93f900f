// expect: a factory returns a module, or a std::unique_ptr of one
#include <xgrad/package.hpp>

void provide(xgrad::package::PackageImporter& importer) {
#ifdef MISTAKE
    importer.provide_factory("acme.Log", [] { return 3; });
#else
    importer.provide_factory("acme.Log", [] { return xgrad::nn::Tanh(); });
#endif
}

int main() {}

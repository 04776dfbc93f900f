// The readers of files, and files that grow: the time to read them shall be linear in their size.
// For tests/package/linear_time_test.cpp and for the fuzzer.
#pragma once

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include <xgrad/data.hpp>
#include <xgrad/package.hpp>

namespace readers {

namespace data = xgrad::data;

/// Reads all elements, so that a sanitizer reports those outside of the memory.
inline void read_elements(xgrad::AnyTensor const& t) {
    xgrad::detail::with_type(t, [](auto const& typed) {
        for (auto const& v : xgrad::detail::contiguous(typed.array_of())) [[maybe_unused]]
            auto const volatile copy = v;
    });
}
inline void read_elements(xgrad::StateDict const& state) {
    for (auto const& [name, tensor] : state) read_elements(tensor);
}

inline void read_tables(data::Input const& in) {
    read_elements(data::read_csv(in, {.missing = data::Missing::nan}).values);
    read_elements(data::read_csv<std::int64_t>(in, {.delimiter = ';', .header = false}).values);
}

/// Loads all resources, with what a program provides that knows no type but those of xgrad. Throws
/// the error of the last one that cannot be loaded.
inline void load_package(data::Input const& in) {
    xgrad::package::PackageImporter importer(in);
    importer.provide("acme.Outside", xgrad::nn::Tanh());
    std::exception_ptr error;
    for (auto const& [package, resource, kind] : importer.resources()) {
        try {
            if (kind == "module")
                read_elements(importer.load_module(package, resource)->state_dict());
            else if (kind == "tensor") read_elements(importer.load_tensor(package, resource));
            else if (kind == "tensors") read_elements(importer.load_tensors(package, resource));
            else if (kind == "text") importer.load_text(package, resource);
            else importer.load_binary(package, resource);
        } catch (xgrad::Error const&) { error = std::current_exception(); }
    }
    static_cast<void>(importer.dependency_graph() + importer.file_structure());
    if (error) std::rethrow_exception(error);
}

/// Decompresses to at most 64 MB.
inline void decompress(data::Input const& in) {
    auto const bytes = in.text(0, in.size(), "");
    static std::vector<std::byte> out(std::size_t{1} << 26);
    static_cast<void>(data::detail::inflate(std::as_bytes(std::span(bytes)), out));
}

using Reader = void (*)(data::Input const&);
struct NamedReader {
    std::string_view name;
    Reader read;
};
inline constexpr NamedReader all[] = {
    {"npy", [](data::Input const& in) { read_elements(data::load_npy(in)); }},
    {"npz", [](data::Input const& in) { read_elements(data::load_npz(in)); }},
    {"safetensors", [](data::Input const& in) { read_elements(data::load_safetensors(in)); }},
    {"json", [](data::Input const& in) { static_cast<void>(data::read_json(in)); }},
    {"csv", read_tables},
    {"package", load_package},
    {"inflate", decompress},
};
inline Reader find(std::string_view name) {
    for (auto const& each : all)
        if (each.name == name) return each.read;
    return nullptr;
}

/// What a reader says of these bytes: "" where it reads them.
inline std::string complaint(Reader read, std::string const& bytes) {
    try {
        read(data::Input(std::as_bytes(std::span(bytes)), "f"));
        return "";
    } catch (xgrad::Error const& e) { return e.what(); }
}

/// n pieces piece(0), ..., piece(n-1) with a separator between them.
template <class F> std::string joined(std::size_t n, F piece, std::string_view separator = ",") {
    std::string s;
    for (std::size_t i = 0; i < n; ++i) (s += i ? separator : "") += piece(i);
    return s;
}
inline std::string number(std::size_t i) { return std::to_string(100'000'000 + i); }
inline std::string member(std::size_t i, std::string const& value) {
    return "\"" + number(i) + "\":" + value;
}

inline std::string npy(std::string header, std::string const& elements) {
    header += '\n';
    std::string s("\x93NUMPY\2\0", 8);
    data::detail::put_little_endian(s, static_cast<std::uint32_t>(header.size()));
    return s + header + elements;
}
inline std::string safetensors(std::string const& header, std::size_t bytes = 0) {
    std::string s;
    data::detail::put_little_endian(s, std::uint64_t{header.size()});
    return s + header + std::string(bytes, '\0');
}
/// n tensors without elements, each under name(i).
template <class F> std::string empty_tensors(std::size_t n, F name) {
    return safetensors("{" + joined(n, [&](std::size_t i) {
        return "\"" + name(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    }) + "}");
}

/// The bytes of a zip file of these entries.
template <class Files> std::string zip(Files const& files) {
    auto const path = std::filesystem::temp_directory_path() /
                      ("xgrad_readers_" + std::to_string(std::random_device()()));
    {
        data::AtomicFile file(path);
        data::detail::ZipWriter writer(file);
        for (auto const& [name, text] : files) writer.add(name, text);
        writer.finish();
        file.commit();
    }
    data::Input const in(path);
    auto bytes = in.text(0, in.size(), "");
    std::filesystem::remove(path);
    return bytes;
}
using Files = std::vector<std::pair<std::string, std::string>>;

inline std::string package(
    std::string const& dependencies, std::string const& resources, Files files) {
    files.emplace_back(".data/package.json", R"({"format":1,"xgrad":"0.2.0","dependencies":{)" +
                                                 dependencies + R"(},"resources":{)" + resources +
                                                 "}}");
    return zip(files);
}
/// A package of one module.
inline std::string package_of(std::string const& dependencies, std::string const& module,
    std::string const& state, std::string const& parameters = "") {
    return package(dependencies, R"("a/m":{"kind":"module","depends_on":["acme.Net"]})",
        {{"a/m.json", R"({"module":)" + module + R"(,"parameters":[)" + parameters +
                          R"(],"frozen":[],"evaluating":[]})"},
            {"a/m.safetensors", state}});
}
inline std::string dependency(
    std::string const& name, char const* action = "intern", std::string const& depends_on = "") {
    return "\"" + name + R"(":{"action":")" + action + R"(","depends_on":[)" + depends_on + "]}";
}
inline std::string net_of(std::string const& modules) {
    return R"({"type":"acme.Net","modules":{)" + modules + "}}";
}
inline std::string type_name(std::size_t i) { return "b.N" + number(i); }
inline std::string in_quotes(std::string const& s) { return '"' + s + '"'; }

/// A file that consists of n pieces of one kind, and how the complaint of its reader begins.
struct GrowingFile {
    std::string_view reader, pieces;
    std::size_t n;
    std::string (*bytes)(std::size_t n);
    std::string_view complaint = "";
};
inline GrowingFile const growing_files[] = {
    {"npy", "blanks in the header", 200'000,
        [](std::size_t n) {
            return npy("{'descr': '<f8', 'fortran_order': False, " + std::string(n, ' ') +
                           "'shape': (1,), }",
                std::string(8, '\0'));
        }},
    {"npy", "columns", 50'000,
        [](std::size_t n) {
            return npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, " + std::to_string(n) +
                           "), }",
                std::string(16 * n, '\0'));
        }},
    {"npz", "entries", 2'000,
        [](std::size_t n) {
            Files files;
            auto const one = npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", std::string(8, '\0'));
            for (std::size_t i = 0; i < n; ++i) files.emplace_back(number(i) + ".npy", one);
            return zip(files);
        }},
    {"safetensors", "tensors", 20'000, [](std::size_t n) { return empty_tensors(n, number); }},
    {"safetensors", "metadata", 20'000,
        [](std::size_t n) {
            return safetensors(R"({"__metadata__":{)" +
                               joined(n, [](std::size_t i) { return member(i, R"("v")"); }) + "}}");
        }},
    {"safetensors", "bytes of a name", 200'000,
        [](std::size_t n) {
            return empty_tensors(1, [n](std::size_t) { return std::string(n, 'x'); });
        }},
    {"json", "members", 20'000,
        [](std::size_t n) {
            return "{" + joined(n, [](std::size_t i) { return member(i, "1"); }) + "}";
        }},
    {"json", "objects of two members", 10'000,
        [](std::size_t n) {
            return "[" + joined(n, [](std::size_t) { return R"({"a":1,"b":{}})"; }) + "]";
        }},
    {"json", "escapes", 100'000,
        [](std::size_t n) {
            return in_quotes(joined(
                n, [](std::size_t) { return "\\u00e9"; }, ""));
        }},
    {"json", "digits", 100'000, [](std::size_t n) { return "0." + std::string(n, '7'); }},
    {"csv", "lines", 10'000,
        [](std::size_t n) {
            return joined(
                n, [](std::size_t i) { return i ? "1,2" : "a,b"; }, "\n");
        },
        "f, line 1, column 1: 'a,b' is no number"},
    {"csv", "columns", 10'000,
        [](std::size_t n) {
            return joined(n, number) + "\n" + joined(n, [](std::size_t) { return "1"; });
        },
        "f, line 1, column 1: '100000000,"},
    {"csv", "empty lines", 100'000, [](std::size_t n) { return "a\n" + std::string(n, '\n'); },
        "f, line 1, column 1: 'a' is no number"},
    {"csv", "bytes between quotes", 100'000,
        [](std::size_t n) { return in_quotes(std::string(n, '\n')); }, "f, line 1, column 1: "},
    {"csv", "digits", 100'000, [](std::size_t n) { return "a\n0." + std::string(n, '7'); },
        "f, line 1, column 1: 'a' is no number"},
    {"package", "resources", 2'000,
        [](std::size_t n) {
            Files files;
            for (std::size_t i = 0; i < n; ++i) files.emplace_back("a/" + number(i), "text");
            return package("",
                joined(n,
                    [](std::size_t i) {
                        return "\"a/" + number(i) + R"(":{"kind":"text","depends_on":[]})";
                    }),
                files);
        }},
    {"package", "names that a name depends on", 5'000,
        [](std::size_t n) {
            return package_of(
                dependency("acme.Net", "intern",
                    joined(n, [](std::size_t i) { return in_quotes(type_name(i)); })) +
                    "," + joined(n, [](std::size_t i) { return dependency(type_name(i)); }),
                net_of(""), empty_tensors(0, number));
        }},
    {"package", "names that are not provided", 5'000,
        [](std::size_t n) {
            return package_of(
                dependency("acme.Net", "intern",
                    joined(n, [](std::size_t i) { return in_quotes(type_name(i)); })) +
                    "," +
                    joined(n, [](std::size_t i) { return dependency(type_name(i), "extern"); }),
                net_of(""), empty_tensors(0, number));
        },
        "f: needs what this program does not provide"},
    {"package", "names, each of which depends on the next", 5'000,
        [](std::size_t n) {
            return package_of(dependency("acme.Net", "intern", in_quotes(type_name(0))) + "," +
                                  joined(n,
                                      [n](std::size_t i) {
                                          return dependency(type_name(i),
                                              i + 1 < n ? "intern" : "extern",
                                              i + 1 < n ? in_quotes(type_name(i + 1)) : "");
                                      }),
                net_of(""), empty_tensors(0, number));
        },
        "f: needs what this program does not provide"},
    {"package", "parameters of a module", 5'000,
        [](std::size_t n) {
            return package_of(dependency("acme.Net"), net_of(""), empty_tensors(n, number),
                joined(n, [](std::size_t i) { return in_quotes(number(i)); }));
        }},
    {"package", "modules in a module", 5'000,
        [](std::size_t n) {
            return package_of(dependency("acme.Net"),
                net_of(joined(n, [](std::size_t i) { return member(i, net_of("")); })),
                empty_tensors(n, [](std::size_t i) { return number(i) + ".p"; }));
        }},
    {"package", "modules that are left out", 5'000,
        [](std::size_t n) {
            return package_of(dependency("acme.Net") + "," + dependency("acme.Mock", "mock"),
                net_of(
                    joined(n, [](std::size_t i) { return member(i, R"({"type":"acme.Mock"})"); }) +
                    R"(,"zero":)" + net_of("")),
                empty_tensors(n, [](std::size_t i) { return "zero." + number(i); }));
        }},
    {"package", "bytes of the name of a module around many, and these", 2'000,
        [](std::size_t n) {
            return package_of(dependency("acme.Net"),
                net_of("\"" + std::string(2000 + 20 * n, 'x') + "\":" +
                       net_of(joined(n, [](std::size_t i) { return member(i, net_of("")); }))),
                empty_tensors(0, number));
        },
        "f: a/m.json: the path of a module has"},
    {"inflate", "stored blocks", 10'000,
        [](std::size_t n) {
            return joined(
                n, [](std::size_t) { return std::string("\0\1\0\xfe\xff x", 6); }, "");
        }},
    {"inflate", "copies of 258 bytes", 10'000, // symbol 285, distance 1: 8 + 5 bits
        [](std::size_t n) {
            std::string s;
            std::uint64_t bits = 0;
            unsigned count = 0;
            auto const put = [&](std::uint64_t v, unsigned width) {
                for (bits |= v << count, count += width; count >= 8; count -= 8, bits >>= 8)
                    s += static_cast<char>(bits);
            };
            put(0b011, 3);      // the last block, fixed codes
            put(0b00001100, 8); // the literal 0
            for (std::size_t i = 0; i < n; ++i) put(0b10100011, 8), put(0, 5);
            put(0, 7);
            put(0, 7);
            return s;
        }},
};

/// The processor time of a reader: the shortest of a few runs, or of those up to one that is short
/// enough.
inline double seconds_of(Reader read, std::string const& bytes, double enough = 0) {
    double shortest = 1e9;
    for (int i = 0; i < 3 && shortest >= enough; ++i) {
        auto const begin = std::clock();
        static_cast<void>(complaint(read, bytes));
        shortest = std::min(shortest, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return shortest;
}

inline constexpr double max_growth = 8;
/// How many times as long a reader takes for a file that is doubled twice; less than a millisecond
/// counts as one. It is 4 where the time is linear and 16 where it is quadratic.
inline double growth_of(GrowingFile const& file) {
    auto const read = find(file.reader);
    auto const before = std::max(1e-3, seconds_of(read, file.bytes(file.n)));
    return seconds_of(read, file.bytes(4 * file.n), max_growth * before) / before;
}

} // namespace readers

// Files: what NumPy wrote, round trips, exact bytes, and what is said of malformed ones.
#include <filesystem>
#include <fstream>
#include <thread>

#include <xgrad/data.hpp>

#include "numpy_files.hpp"
#include "tensor/compare.hpp"

namespace data = xg::data;
using namespace std::string_literals;
using I = xg::Tensor<std::int64_t>;

namespace {

/// A directory that ends with the test.
class Directory {
public:
    Directory()
        : path_(std::filesystem::temp_directory_path() /
                ("xgrad_" + std::to_string(std::random_device()()))) {
        std::filesystem::create_directory(path_);
    }
    Directory(Directory const&) = delete;
    Directory& operator=(Directory const&) = delete;
    ~Directory() { std::filesystem::remove_all(path_); }
    std::filesystem::path operator/(std::string const& name) const { return path_ / name; }
    auto files() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

private:
    std::filesystem::path path_;
};

data::Input input(std::string const& bytes) {
    return data::Input(std::as_bytes(std::span(bytes)), "f");
}
std::string content(std::filesystem::path const& path) {
    data::Input const in(path);
    return in.text(0, in.size(), "");
}

/// What a reader says of these bytes.
template <class F> std::string complaint(F read, std::string const& bytes) {
    try {
        read(input(bytes));
        return "nothing";
    } catch (data::FormatError const& e) { return e.what(); }
}
auto const npy = [](data::Input const& in) { return data::load_npy(in); };
auto const npz = [](data::Input const& in) { return data::load_npz(in); };
auto const safetensors = [](data::Input const& in) { return data::load_safetensors(in); };

/// An npy file of version 1 with this header.
std::string npy_with(std::string header, std::string const& elements) {
    header += '\n';
    return "\x93NUMPY\1\0"s + static_cast<char>(header.size()) + '\0' + header + elements;
}
std::string safetensors_with(std::string const& header, std::size_t elements) {
    std::string bytes;
    data::detail::put_little_endian(bytes, std::uint64_t{header.size()});
    return bytes + header + std::string(elements, '\1');
}

xg::StateDict one_of_each() {
    xg::manual_seed(1);
    return {{"double", xg::randn({2, 3, 2}).permute({2, 0, 1})}, {"scalar", D(0.1)},
        {"float", xg::randn<float>({3})}, {"empty", xg::zeros({0, 2})},
        {"integers", I({{-1, 1LL << 62}})},
        {"b\"\\\n\u00e9", xg::Tensor<bool>({true, false, true})},
        {"complex64", xg::randn<complex<float>>({2, 2})},
        {"complex128", xg::randn<complex<double>>({3})}};
}
/// Nothing where both have the same names, types and values.
std::string difference_of_states(xg::StateDict const& got, xg::StateDict const& wanted) {
    if (got.size() != wanted.size()) return "different sizes";
    for (auto const& [name, tensor] : wanted) {
        auto const& other = got.at(name);
        auto const text = xg::detail::with_type(tensor,
            [&]<class T>(xg::Tensor<T> const& t) { return difference(other.as<T>(), t, 0.); });
        if (!text.empty()) return name + ": " + text;
    }
    return "";
}

} // namespace

TEST_CASE("arrays that NumPy wrote") {
    CHECK(difference(data::load_npy<double>(input(bytes_of(fortran_npy))),
              {{1., 2., 3.}, {4., 5., 6.}}) == "");
    CHECK(difference(data::load_npy<float>(input(bytes_of(half_npy))),
              {1.5f, -2.f, 65504.f, HUGE_VALF, 0x1p-24f}) == "");
    auto const state = data::load_npz(input(bytes_of(deflated_npz)));
    auto const a = state.at("a").as<std::int64_t>();
    CHECK(a.numel() == 400);
    for (std::int64_t i = 0; i < 400; ++i) CHECK(a[i].item() == i % 7);
    CHECK(state.at("z").as<complex<double>>().item() == complex<double>(1, -2));
    CHECK(data::load_npy<complex<double>>(input(bytes_of(half_npy)))[0].item() == 1.5);
    CHECK(difference(data::load_npy<std::int64_t>(input(npy_with(
                         "{\"shape\": (2L,), 'fortran_order': False, 'descr': '|i1'}", "\xff\1"))),
              {-1, 1}) == "");
}

TEST_CASE("what is written is read back, to the last bit") {
    Directory const d;
    auto const state = one_of_each();
    for (auto const& [name, tensor] : state) {
        data::save_npy(d / "a.npy", tensor);
        CHECK(difference_of_states({{name, data::load_npy(d / "a.npy")}}, {{name, tensor}}) == "");
    }
    data::save_npz(d / "a.npz", state);
    CHECK(difference_of_states(data::load_npz(d / "a.npz"), state) == "");
    data::Metadata metadata;
    data::save_safetensors(d / "a.safetensors", state, {{"format", "pt"}});
    CHECK(
        difference_of_states(data::load_safetensors(d / "a.safetensors", &metadata), state) == "");
    CHECK(metadata == data::Metadata{{"format", "pt"}});
    {
        data::AtomicFile file(d / "large.npz");
        data::detail::ZipWriter zip(file, 100); // as if 100 bytes were more than 4 GB
        auto const t = D({1., 2.});
        for (char const* const name : {"a.npy", "b.npy"})
            zip.add(name, data::detail::npy_header(t), std::as_bytes(std::span(t.data(), 2)));
        zip.finish();
        file.commit();
    }
    CHECK(difference_of_states(
              data::load_npz(d / "large.npz"), {{"a", D({1., 2.})}, {"b", D({1., 2.})}}) == "");
    CHECK(d.files() == 4);
}

TEST_CASE("the bytes that are written") {
    Directory const d;
    data::save_npy(d / "a.npy", xg::Tensor<float>({{1.f, 2.f}}));
    std::string const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
    CHECK(content(d / "a.npy") == "\x93NUMPY\1\0\x76\0"s + header +
                                      std::string(117 - header.size(), ' ') +
                                      "\n\0\0\x80\x3f\0\0\0\x40"s);
    data::save_safetensors(d / "a", {{"b", xg::Tensor<bool>({true})},
                                        {"z", xg::Tensor<complex<float>>({complex<float>(1, 2)})}});
    CHECK(
        content(d / "a") ==
        "\xa0\0\0\0\0\0\0\0"s +
            R"({"__metadata__":{"xgrad.complex.z":"complex64"},"b":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]},"z":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})" +
            "   \0\0\x80\x3f\0\0\0\x40\1"s);
}

TEST_CASE("safetensors of others") {
    auto const one = [](std::string const& type, std::string const& shape, std::size_t n) {
        return data::load_safetensors(
            input(safetensors_with(R"({"t" : {"shape":[)" + shape + R"(], "data_offsets":[0,)" +
                                       std::to_string(n) + R"(],"dtype":")" + type + "\"}}  \n",
                n)))
            .at("t");
    };
    CHECK(difference(one("BF16", "2,1", 4).as<float>(),
              {{std::bit_cast<float>(0x01010000)}, {std::bit_cast<float>(0x01010000)}}) == "");
    CHECK(one("F16", "", 2).as<float>().item() == 257 * 0x1p-24f);
    CHECK(one("U8", "1", 1).as<std::int64_t>().item() == 1);
    CHECK(one("I32", "", 4).as<std::int64_t>().item() == 0x01010101);
    CHECK(one("C64", "", 8).as<complex<float>>().item().imag() == std::bit_cast<float>(0x01010101));
    CHECK(data::load_safetensors(
        input(safetensors_with(
            R"({"\u00e9\ud83d\ude00":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}})", 1)))
              .contains("\u00e9\U0001f600"));
}

TEST_CASE("no beginning of a file is taken for the whole, and no changed byte is trusted") {
    Directory const d;
    data::save_safetensors(d / "s", one_of_each());
    auto const check = [](auto read, std::string const& whole) {
        CHECK(complaint(read, whole) == "nothing");
        for (std::size_t n = 0; n < whole.size(); ++n)
            CHECK(complaint(read, whole.substr(0, n)) != "nothing");
        CHECK(complaint(read, whole + '\0') != "nothing");
        for (std::size_t i = 0; i < whole.size(); ++i) {
            auto changed = whole;
            changed[i] = static_cast<char>(changed[i] ^ 1);
            complaint(read, changed); // throws FormatError or nothing, and nothing else
        }
    };
    check(npy, bytes_of(fortran_npy));
    check(npy, bytes_of(half_npy));
    check(npz, bytes_of(deflated_npz));
    check(safetensors, content(d / "s"));
    auto changed = bytes_of(deflated_npz);
    changed[80] = static_cast<char>(changed[80] ^ 1);
    CHECK(complaint(npz, changed).starts_with("f, at byte 55: the entry 'a.npy' "));
}

TEST_CASE("what is said of malformed npy files") {
    CHECK(complaint(npy, "PK\3\4 and so on") == "f, at byte 0: this is no npy file");
    CHECK(complaint(npy, "\x93NUMPY\4\0\0\0"s) ==
          "f, at byte 6: version 4.0 of the format is not known");
    CHECK(complaint(npy,
              npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "12345678")) ==
          "f, at byte 68: an array of shape [2] has 16 bytes, and the file has 8 for it");
    CHECK(complaint(npy,
              npy_with(
                  "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
                  "")) == "f, at byte 88: an array of shape [4611686018427387904, 4] is too large");
    CHECK(complaint(npy, npy_with("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
                             "")) == "f, at byte 20: elements of type '|O' cannot be read");
    CHECK(complaint(npy,
              npy_with("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", "")) ==
          "f, at byte 21: a structured type; load its fields one by one");
    CHECK(complaint(npy, npy_with("{'descr': '<f8', 'shape': (2,), 'shape': (2,)}", "")) ==
          "f, at byte 42: the key 'shape' stands twice");
    CHECK(complaint(npy, npy_with("{'descr': '<f8', 'shape': (2,)}", "")) ==
          "f, at byte 41: the header has no 'fortran_order'");
    CHECK(complaint(npy, npy_with("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }",
                             "\1\2")) == "f, at byte 69: a truth value that is neither 0 nor 1");
    CHECK(complaint(npy, npy_with("{'descr': '<u8', 'fortran_order': False, 'shape': (), }",
                             std::string(8, '\xff'))) ==
          "f, at byte 66: an integer that is too large for int64");
    CHECK_THROWS_WITH_AS(data::load_npy<float>(input(npy_with(
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "1"))),
        "f: has elements of type int64, which do not become float32 by themselves; load them as "
        "they are and cast",
        xg::TypeError);
    CHECK_THROWS_WITH_AS(data::load_npy("none/such.npy"),
        "none/such.npy: cannot be read: No such file or directory", xg::Error);
}

TEST_CASE("what is said of malformed safetensors files") {
    auto const said = [](std::string const& header, std::size_t elements = 4) {
        return complaint(safetensors, safetensors_with(header, elements));
    };
    std::string const t = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
    CHECK(said("{\"t\":" + t + "}") == "nothing");
    CHECK(complaint(safetensors, std::string(8, '\xff')) ==
          "f, at byte 0: a header of 18446744073709551615 bytes; this is no safetensors file");
    CHECK(complaint(safetensors, "\x64\0\0\0\0\0\0\0{}"s) ==
          "f, at byte 8: the file ends within the header");
    CHECK(said("{\"t\":" + t + ",\"t\":" + t + "}") == "f, at byte 62: the name 't' stands twice");
    CHECK(said("{\"t\":" + t + ",\"u\":" + t + "}") ==
          "f, at byte 119: the elements of two tensors overlap, the second is 'u'");
    CHECK(said("{\"t\":" + t + "}", 5) ==
          "f, at byte 62: the tensors have 4 bytes, and the file has 5 for them");
    CHECK(said(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})", 5) ==
          "f, at byte 62: nobody's bytes stand before the tensor 't'");
    CHECK(said(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})") ==
          "f, at byte 13: the tensor 't' of shape [2] has 8 bytes, and its offsets leave 4");
    CHECK(said(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})") ==
          "f, at byte 13: the tensor 't' of shape [4294967296, 4294967296] is too large");
    CHECK(said(R"({"t":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,4]}})") ==
          "f, at byte 22: elements of type 'F8_E5M2' cannot be read");
    CHECK(said(R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})") ==
          "f, at byte 37: here should be a number that is not negative");
    CHECK(said(R"({"t":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}})") ==
          "f, at byte 39: a number begins with 0");
    CHECK(said(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})") ==
          "f, at byte 13: the tensor 't' has no 'shape'");
    CHECK(said("{\"\xff\":" + t + "}") == "f, at byte 10: the header is not UTF-8");
    CHECK(said("{\"\\ud800\":" + t + "}") == "f, at byte 16: half of a surrogate pair");
    CHECK(said("{\"t\":" + t + ",}") == "f, at byte 62: here should be '\"'");
    CHECK(said(R"({"__metadata__":{"xgrad.complex.t":"complex64"},"t":)" + t + "}") ==
          "f, at byte 8: the tensor 't' is noted as complex64, and is no pairs of its parts");
}

TEST_CASE("a file is there whole, or as it was") {
    Directory const d;
    data::save_npy(d / "a.npy", D({1., 2.}));
    {
        data::AtomicFile unfinished(d / "a.npy");
        unfinished.write("half of");
        CHECK(d.files() == 2);
    }
    CHECK(d.files() == 1);
    CHECK(difference(data::load_npy<double>(d / "a.npy"), {1., 2.}) == "");
    CHECK_THROWS_WITH_AS(data::save_npz(d / "a.npy", {{"ok", D({1.})}, {"x", xg::AnyTensor()}}),
        "save_npz: the tensor 'x' is undefined", xg::Error);
    CHECK(d.files() == 1);
    auto const nowhere = (d / "none").string() + "/a";
    CHECK_THROWS_WITH_AS(data::save_npy(nowhere, D({1.})),
        (nowhere + ": cannot be written: No such file or directory").c_str(), xg::Error);
}

#if __has_include(<sys/file.h>) && !defined(_WIN32)
TEST_CASE("a temporary file that a killed writer left goes away, that of one at work does not") {
    Directory const d;
    auto const a = d / "a.npy";
    std::ofstream(d / "a.npy.tmp") << "left";
    std::ofstream(d / "a.npy.1.tmp") << "left";
    {
        data::AtomicFile first(a);
        first.write("first");
        CHECK(content(d / "a.npy.tmp").size() <= 5);
        data::AtomicFile second(a);
        second.write("second");
        CHECK(d.files() == 2);
        second.commit();
        CHECK(content(a) == "second");
        first.commit();
    }
    CHECK(content(a) == "first");
    CHECK(d.files() == 1);
    for (auto const* name : {"a.npy.tmp", "a.npy.1.tmp", "a.npy.2.tmp"})
        std::ofstream(d / name) << "left";
    data::save_npy(a, D({1.}));
    CHECK(d.files() == 1);
}

TEST_CASE("writers in several threads take turns, and each file is whole") {
    Directory const d;
    std::vector<std::thread> writers;
    for (char const symbol : {'a', 'b', 'c', 'd'})
        writers.emplace_back([&d, symbol] {
            for (int i = 0; i < 50; ++i) {
                data::AtomicFile file(d / "x");
                for (int k = 0; k < 100; ++k) file.write(std::string(100, symbol));
                file.commit();
                auto const now = content(d / "x");
                if (now != std::string(10000, now.at(0))) throw std::runtime_error("mixed");
            }
        });
    for (auto& writer : writers) writer.join();
    CHECK(d.files() == 1);
}

#    ifndef _WIN32 // owners, modes and links of POSIX
TEST_CASE("a file that is written anew keeps its mode, and a link leads where it did") {
    namespace fs = std::filesystem;
    Directory const d;
    auto const mode = [](fs::path const& path) {
        return fs::status(path).permissions() & fs::perms::mask;
    };
    fs::path const file = d / "a.npy", link = d / "link", dangling = d / "dangling",
                   sub = d / "sub";
    data::save_npy(file, D({1.}));
    auto const by_umask = mode(file);
    std::ofstream(d / "made.by.hand") << "";
    CHECK(by_umask == mode(d / "made.by.hand"));
    for (unsigned const bits : {0600u, 0640u, 0444u}) {
        fs::permissions(file, fs::perms(bits));
        data::save_npy(file, D({2.}));
        CHECK(mode(file) == fs::perms(bits));
    }
    if (::geteuid() == 0) { // nobody else may give files away
        REQUIRE(::chown(file.c_str(), 12345, 54321) == 0);
        data::save_npy(file, D({2.}));
        struct ::stat now;
        REQUIRE(::stat(file.c_str(), &now) == 0);
        CHECK(now.st_uid == 12345);
        CHECK(now.st_gid == 54321);
        CHECK(mode(file) == fs::perms(0444));
    }
    fs::create_directory(sub);
    fs::create_symlink("../a.npy", sub / "inner");
    fs::create_symlink("sub/inner", link);
    data::save_npy(link, D({3.}));
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_symlink(sub / "inner"));
    CHECK(difference(data::load_npy<double>(file), {3.}) == "");
    fs::create_symlink("new", dangling);
    data::save_npy(dangling, D({4.}));
    CHECK(fs::is_symlink(dangling));
    CHECK(difference(data::load_npy<double>(d / "new"), {4.}) == "");
    fs::create_symlink("round", d / "round");
    CHECK_THROWS_AS(data::save_npy(d / "round", D({5.})), xg::Error);
    CHECK_THROWS_WITH_AS(data::save_npy(sub, D({5.})),
        (sub.string() + ": cannot be written: it is no regular file").c_str(), xg::Error);
}
#    endif
#endif

TEST_CASE("a limit on what an npz file becomes") {
    Directory const d;
    data::save_npz(d / "a.npz", {{"x", D({1., 2.})}, {"y", D({3.})}});
    constexpr std::uint64_t header = 128;
    constexpr std::uint64_t bytes = 2 * header + 24;
    CHECK(data::load_npz(d / "a.npz", {.max_bytes = bytes}).size() == 2);
    auto const text = "with the entry 'y.npy' of 136 bytes the file is larger than the 279 bytes "
                      "that are allowed";
    CHECK_THROWS_WITH_AS(data::load_npz(d / "a.npz", {.max_bytes = bytes - 1}),
        doctest::Contains(text), data::FormatError);
    CHECK_THROWS_WITH_AS(data::load_npz(d / "a.npz", {.max_bytes = 0}), doctest::Contains("x.npy"),
        data::FormatError);
}

TEST_CASE("tables") {
    auto const read = [](std::string const& text, data::CsvOptions const& options = {}) {
        return data::read_csv(input(text), options);
    };
    auto const table = read("\xef\xbb\xbfx, \"a \"\"b\"\"\"\r\n1,+2.5\r\n\r\n-3e2,\"inf\"\n");
    CHECK(
        table.columns == std::vector<std::string>{"x",
                             "\"a \"\"b\"\"\""}); // a quote after a blank is a character as others
    CHECK(difference(table.values, {{1., 2.5}, {-300., HUGE_VAL}}) == "");
    CHECK(difference(table.column("x"), {1., -300.}) == "");
    CHECK(
        difference(
            data::read_csv<std::int64_t>(input("1;2"), {.delimiter = ';', .header = false}).values,
            {{1, 2}}) == "");
    CHECK(difference(read("a,b\n,NA", {.missing = data::Missing::nan}).values, {{NAN, NAN}}) == "");
    CHECK(read("a,b\n").values.shape() == xg::Shape{0, 2});

    auto const said = [&](std::string const& text) {
        return complaint([](data::Input const& in) { return data::read_csv(in); }, text);
    };
    CHECK(said("a,b\n1,2\n3,x\n") == "f, line 3, column 2: 'x' is no number of type float64");
    CHECK(said("a,b\n1,\n") == "f, line 2, column 2: the value is missing");
    CHECK(said("a,b\n\n1\n") ==
          "f, line 3, column 2: the line has 1 fields, and those before have 2");
    CHECK(said("a,b\n\"1\n\",\"2") == "f, line 2, column 2: a quoted field does not end");
    CHECK(said("a,a\n") == "f, line 1, column 2: the name 'a' stands twice");
    CHECK(said("a\n1e999\n") == "f, line 2, column 1: '1e999' is out of the range of float64");

    Directory const d;
    D const values({{0.1, -1e300}, {NAN, 3.}});
    data::write_csv(d / "t.csv", values, {"a,b", "c"});
    CHECK(content(d / "t.csv") == "\"a,b\",c\n0.1,-1e+300\nnan,3\n");
    CHECK(difference(data::read_csv(d / "t.csv").values, values, 0.) == "");

    std::vector<std::string> const names{
        "", " a", "b\t", "a"}; // as they are, not as their blanks suggest
    data::write_csv(d / "names.csv", D({{1., 2., 3., 4.}}), names);
    CHECK(data::read_csv(d / "names.csv").columns == names);
    data::write_csv(d / "one.csv", D({1., 2.}), {""});
    CHECK(difference(data::read_csv(d / "one.csv").values, {{1.}, {2.}}) == "");
    CHECK_THROWS_WITH_AS(data::write_csv(d / "two.csv", D({{1., 2.}}), {"x", "x"}),
        "write_csv: the name 'x' stands twice", xg::Error);
}

TEST_CASE("numbers too near to 0 are 0, and those too large are refused") {
    auto const read = [](std::string const& text) {
        return data::read_csv(input("a\n" + text + "\n")).values.item();
    };
    for (auto const* tiny : {"1e-400", "+12.5e-9999", "0.0001e-330", "12345678901e-500",
             "1e-9223372036854775808", "1e-99999999999999999999"}) {
        CHECK_MESSAGE(read(tiny) == 0, tiny);
        CHECK(!std::signbit(read(tiny)));
        CHECK(std::signbit(read("-" + std::string(tiny + (*tiny == '+')))));
    }
    CHECK(read("0." + std::string(400, '0') + "1") == 0);
    CHECK(read("5e-324") == 5e-324);
    CHECK(data::read_csv<float>(input("a\n1e-60\n")).values.item() == 0);
    for (auto const* huge :
        {"1e400", "-0.001e+330", "10.5e9223372036854775807", "1e99999999999999999999"})
        CHECK_THROWS_WITH_AS(
            read(huge), doctest::Contains("is out of the range of float64"), data::FormatError);
    CHECK_THROWS_WITH_AS(read("1e-400x"), doctest::Contains("is no number"), data::FormatError);
}

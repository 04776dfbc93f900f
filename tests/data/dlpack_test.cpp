// DLPack: memory is shared in both directions, and what no tensor can be is refused with the
// structure left to its owner. dlpack_layout_test.cpp compares the structures with dlpack.h.
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/data.hpp>

namespace xg = xgrad;
namespace raw = xg::data::detail::dlpack;
using D = xg::Tensor<double>;
using xg::data::from_dlpack;
using xg::data::to_dlpack;
using xg::data::to_dlpack_versioned;

namespace {

raw::Managed& of(::DLManagedTensor* m) { return *reinterpret_cast<raw::Managed*>(m); }

/// What another library would hand over: a 2 x 3 matrix of doubles, which counts calls of its
/// deleter.
struct Foreign {
    std::vector<double> elements{0, 1, 2, 3, 4, 5};
    std::vector<std::int64_t> shape{2, 3}, strides{3, 1};
    int deleted = 0;
    raw::Managed old{};
    raw::ManagedVersioned versioned{};

    Foreign() {
        old.array = {elements.data(), {1, 0}, 2, {2, 64, 1}, shape.data(), strides.data(), 0};
        old.context = this;
        old.deleter = [](raw::Managed* m) { ++static_cast<Foreign*>(m->context)->deleted; };
        versioned.major = 1;
        versioned.array = old.array;
        versioned.context = this;
        versioned.deleter = [](raw::ManagedVersioned* m) {
            ++static_cast<Foreign*>(m->context)->deleted;
        };
    }
    ::DLManagedTensor* get() { return reinterpret_cast<::DLManagedTensor*>(&old); }
    ::DLManagedTensorVersioned* get_versioned() {
        return reinterpret_cast<::DLManagedTensorVersioned*>(&versioned);
    }
};

template <class F> std::string message_of(F f) {
    try {
        f();
    } catch (xg::Error const& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace

// Debian's dlpack.h is older than the versioned structure: these are the offsets of version 1.0.
static_assert(sizeof(void*) != 8 || (offsetof(raw::ManagedVersioned, major) == 0 &&
                                        offsetof(raw::ManagedVersioned, minor) == 4 &&
                                        offsetof(raw::ManagedVersioned, context) == 8 &&
                                        offsetof(raw::ManagedVersioned, deleter) == 16 &&
                                        offsetof(raw::ManagedVersioned, flags) == 24 &&
                                        offsetof(raw::ManagedVersioned, array) == 32));

TEST_CASE("a tensor goes out and comes back with the same memory") {
    auto const round = []<class T>(xg::Tensor<T> const& x) {
        xg::Tensor<T> const old = from_dlpack<T>(to_dlpack(x));
        xg::Tensor<T> const versioned = from_dlpack(to_dlpack_versioned(x)).template as<T>();
        for (auto const& y : {old, versioned}) {
            CHECK(y.shape() == x.shape());
            CHECK(y.strides() == x.strides());
            CHECK(y.strided_data() == x.strided_data());
        }
    };
    round(xg::Tensor<double>({{1., 2., 3.}, {4., 5., 6.}}));
    round(xg::Tensor<float>({1.f, 2.f}));
    round(xg::Tensor<std::int64_t>({1, 2, 3}));
    round(xg::Tensor<std::complex<float>>({{1.f, 2.f}}));
    round(xg::Tensor<std::complex<double>>({{1., 2.}, {3., -1.}}));
    round(xg::Tensor<bool>({true, false}));
    round(xg::Tensor<double>({{1., 2., 3.}, {4., 5., 6.}}).t());
    round(xg::Tensor<double>(2.));
}

TEST_CASE("what is exported lives as long as it is used") {
    ::DLManagedTensor* m = nullptr;
    {
        D const x({1., 2., 3.});
        m = to_dlpack(x);
    }
    CHECK(static_cast<double*>(of(m).array.data)[2] == 3);
    of(m).deleter(&of(m));
    CHECK(message_of([] {
        (void)to_dlpack(D({1.}, xg::requires_grad));
    }).starts_with("to_dlpack: the tensor requires a gradient"));
    CHECK(message_of([] { (void)to_dlpack(D()); }).starts_with("to_dlpack"));
}

TEST_CASE("memory of another library is differentiated, changed, and given back") {
    Foreign theirs;
    {
        D x = from_dlpack<double>(theirs.get());
        x.requires_grad_();
        D const y = sum(x * x);
        {
            D const row = x.detach()[1];
            x = D();
            CHECK(theirs.deleted == 0);
            row.detach().add_(10.);
        }
        CHECK(theirs.elements[3] == 13);
    }
    CHECK(theirs.deleted == 1);

    Foreign versioned;
    {
        D const x = from_dlpack<double>(versioned.get_versioned());
        CHECK(x.data() == versioned.elements.data());
    }
    CHECK(versioned.deleted == 1);
}

TEST_CASE("elements that must not be written to are copied") {
    Foreign theirs;
    theirs.versioned.flags = 1;
    D x = from_dlpack<double>(theirs.get_versioned());
    CHECK(theirs.deleted == 1);
    x.add_(1.);
    CHECK(theirs.elements[0] == 0);
    CHECK(x(1, 2).item() == 6);
}

TEST_CASE("offsets, missing strides and transposed strides are read") {
    Foreign theirs;
    theirs.old.array.byte_offset = 2 * sizeof(double);
    theirs.shape = {2, 2};
    theirs.old.array.strides = nullptr;
    CHECK(from_dlpack<double>(theirs.get())(1, 0).item() == 4);
    Foreign transposed;
    transposed.shape = {3, 2};
    transposed.strides = {1, 3};
    CHECK(from_dlpack<double>(transposed.get())(2, 1).item() == 5);
    Foreign empty;
    empty.shape = {0, 3};
    empty.old.array.data = nullptr;
    CHECK(from_dlpack<double>(empty.get()).shape() == xg::Shape{0, 3});
    CHECK(empty.deleted == 1);
}

TEST_CASE("what no tensor can be is refused, and stays with its owner") {
    auto const refused = [](auto change, std::string_view sentence) {
        Foreign theirs;
        change(theirs);
        CHECK(message_of([&] { from_dlpack<double>(theirs.get()); }).find(sentence) !=
              std::string::npos);
        CHECK(theirs.deleted == 0);
    };
    refused([](Foreign& f) { f.old.array.device.type = 2; }, "device 2");
    refused([](Foreign& f) { f.old.array.type = {2, 16, 1}; }, "type code 2 with 16 bits");
    refused([](Foreign& f) { f.old.array.type = {0, 32, 1}; }, "type code 0 with 32 bits");
    refused([](Foreign& f) { f.old.array.type = {2, 64, 2}; }, "in 2 lanes");
    refused([](Foreign& f) { f.old.array.type = {2, 32, 1}; }, "float32, and float64 was asked");
    refused([](Foreign& f) { f.old.array.data = nullptr; }, "null");
    refused([](Foreign& f) { f.old.array.byte_offset = 1; }, "aligned");
    refused([](Foreign& f) { f.strides = {-3, 1}; }, "stride");
    refused([](Foreign& f) { f.shape = {-1, 3}; }, "negative");
    refused([](Foreign& f) { f.old.array.axes = -1; }, "no shape");
    refused([](Foreign& f) { f.old.array.shape = nullptr; }, "no shape");
    auto const refused_versioned = [](auto change, std::string_view sentence) {
        Foreign theirs;
        change(theirs.versioned);
        CHECK(message_of([&] { from_dlpack<double>(theirs.get_versioned()); }).find(sentence) !=
              std::string::npos);
        CHECK(theirs.deleted == 0);
    };
    refused_versioned([](raw::ManagedVersioned& m) { m.major = 2; }, "of version 2.0");
    refused_versioned([](raw::ManagedVersioned& m) { m.major = 0; }, "of version 0.0");
    refused_versioned([](raw::ManagedVersioned& m) { m.array.device.type = 2; }, "device 2");
    refused_versioned([](raw::ManagedVersioned& m) { m.array.data = nullptr; }, "null");
    CHECK(message_of([] {
        from_dlpack(static_cast<::DLManagedTensorVersioned*>(nullptr));
    }).find("null") != std::string::npos);
    CHECK(message_of([] { from_dlpack(static_cast<::DLManagedTensor*>(nullptr)); }).find("null") !=
          std::string::npos);
}

// XGRAD_WARN_ON_SHARED_WRITES, with which this folder is compiled: what is a copy in xtensor and a
// handle here is a warning where it is changed, and nothing else is.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xtensor_functions.hpp>

namespace xg = xgrad;
using Field = xg::Tensor<double>;

Field solve(Field u) {
    u += 1.;
    return u;
}

namespace {

/// The warnings of a function.
std::vector<std::string> warnings_of(std::function<void()> const& f) {
    std::vector<std::string> all;
    auto const before = xg::set_warning_handler([&all](std::string const& s) { all.push_back(s); });
    f();
    xg::set_warning_handler(before);
    return all;
}
bool is_said_once(std::vector<std::string> const& all, std::string const& operation) {
    return all.size() == 1 &&
           all[0].starts_with(operation + ": the change in place of [float64 [3]] "
                                          "is seen through another Tensor");
}

Field scaled(Field const& u) {
    Field result = u.clone();
    result *= 2.;
    return result;
}
struct State {
    Field u, v;
};

} // namespace

TEST_CASE("a change that another Tensor of the program sees is a warning") {
    Field const start({1., 2., 3.});
    SUBCASE("by a by-value parameter, once for each place") {
        auto const said = warnings_of([&] {
            Field u = start.clone();
            for (int i = 0; i < 3; ++i) solve(u);
        });
        CHECK(is_said_once(said, "+="));
        CHECK(said[0].find("x.clone()") != std::string::npos);
        // Without debug information, or without addr2line, the place is not known.
        if (said[0].find("an unknown place") == std::string::npos)
            CHECK(said[0].find("in solve(") != std::string::npos);
    }
    SUBCASE("by a named copy") {
        CHECK(is_said_once(warnings_of([&] {
            Field u = start.clone();
            Field old = u;
            u -= 1.;
            CHECK(sum(abs(u - old)).item() == 0.);
        }),
            "-="));
    }
    SUBCASE("by an assignment") {
        CHECK(is_said_once(warnings_of([&] {
            Field u = start.clone(), old;
            old = u;
            u *= 2.;
        }),
            "*="));
    }
    SUBCASE("by a struct, a list, a capture and the variable of a loop") {
        CHECK(is_said_once(warnings_of([&] {
            State s{start.clone(), start.clone()};
            State next = s;
            next.u.exp_();
        }),
            "exp_"));
        CHECK(is_said_once(warnings_of([&] {
            Field u = start.clone();
            std::vector<Field> history;
            history.push_back(u);
            u.fill_(0.);
        }),
            "fill_"));
        CHECK(is_said_once(warnings_of([&] {
            Field u = start.clone();
            auto const f = [u] { return sum(u); };
            u.copy_(start);
            CHECK(f().item() == 6.);
        }),
            "copy_"));
        CHECK(is_said_once(warnings_of([&] {
            std::vector<Field> fields{start.clone()};
            for (auto f : fields) f /= 2.;
        }),
            "/="));
    }
    SUBCASE("by indices and masks") {
        CHECK(is_said_once(warnings_of([&] {
            Field u = start.clone(), old = u;
            u(u > 1.) = 0.;
        }),
            "masked_fill_"));
    }
    SUBCASE("also of what has a history") {
        CHECK(is_said_once(warnings_of([&] {
            Field const w({1., 2., 3.}, xg::requires_grad);
            Field y = w * 2., old = y;
            y += 1.;
        }),
            "+="));
    }
}

TEST_CASE("what the library holds is no warning") {
    CHECK(warnings_of([] {
        Field const start({1., 2., 3.}), w({1., 1., 1.}, xg::requires_grad);
        Field u = start.clone();
        // expressions, named and not, of the tensor that changes
        u += u * u - 0.5 * u;
        auto const a = u * 2.;
        auto const rate = exp(-u) * a + u;
        u += 0.1 * rate;
        u = u + rate;
        u += 1.;
        CHECK(rate.numel() == 3);
        // saved tensors and Nodes
        Field const y = u * w, z = sin(y) * u;
        u += 1.;
        // views, and a change through them
        Field part = u(xg::slice(0, 2));
        auto named = xt::view(u, xt::range(1, 3));
        part += 1.;
        named = 2. * part;
        u *= 2.;
        for (auto element : u.unbind()) element += 1.;
        u(0) = 3.;
        u(xg::Tensor<std::int64_t>({0, 2})) = 0.;
        u(u > 1.) += 1.;
        // other memory
        Field old = u.clone(), moved = std::move(u);
        moved += old;
        Field other = scaled(moved);
        other += 1.;
        Field& reference = other;
        reference += 1.;
        Field detached = other.detach();
        other += 1.;
        std::vector<Field> list;
        for (int i = 0; i < 8; ++i) list.push_back(start.clone());
        for (auto& f : list) f += 1.;
        uniform_(other);
        xg::nn::init::ones_(other);
        other.normal_();
        // gradients, which their tensors hold
        sum(w * w).backward();
        w.grad() *= 0.5;
    }).empty());
}

TEST_CASE("modules, buffers and optimisers are no warning") {
    CHECK(warnings_of([] {
        xg::nn::Linear<double> layer(3, 3);
        xg::nn::BatchNorm1d<double> norm(3);
        xg::nn::init::xavier_uniform_(layer.weight.handle_of());
        auto parameters = layer.parameters();
        xg::optim::Adam optimizer(layer.parameters(), {.lr = 0.1});
        Field const x({{1., 2., 3.}, {4., 5., 7.}});
        Field const weight = layer.weight.handle_of();
        for (int i = 0; i < 3; ++i) {
            optimizer.zero_grad();
            sum(square(norm(layer(x)))).backward();
            optimizer.step();
        }
        xg::NoGradGuard const off;
        Field(layer.weight.handle_of()) -= 0.1;
    }).empty());
}

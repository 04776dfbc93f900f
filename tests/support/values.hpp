// The numbers of any tensor, whatever its type and layout, and how they compare. Everything is
// complex<double> here, so that a test costs the compiler no templates but those of the operation
// under test. One file of each program that uses this also includes support/implementation.hpp.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace support {

namespace xg = xgrad;
using cf = std::complex<float>;
using cd = std::complex<double>;
inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

/// Right, or a sentence about what is wrong: `CHECK(holds(y, {1, 2}))` prints it.
struct CheckResult {
    std::string wrong;
    explicit operator bool() const { return wrong.empty(); }
};
std::ostream& operator<<(std::ostream& out, CheckResult const& v);

/// The elements of a tensor in row-major order.
struct Values {
    xg::DType dtype = xg::DType::float64;
    xg::Shape shape;
    std::vector<cd> numbers;
};

Values values(xg::AnyTensor const& t);

/// A leaf with these elements; it asks for a gradient where its type can have one.
xg::AnyTensor leaf(Values const& v);
template <class T> xg::Tensor<T> leaf_of(Values v) {
    v.dtype = xg::dtype_of<T>;
    return leaf(v).as<T>();
}
/// The same elements as a window on larger memory: every second one, with the axes in reverse
/// order.
xg::AnyTensor strided_leaf(Values const& v);

/// Reproducible numbers with few digits, which float holds exactly.
class Random {
public:
    explicit Random(unsigned seed) : generator_(seed) {}
    double real(double from, double to) {
        return std::round(std::uniform_real_distribution<double>(from, to)(generator_) * 4096) /
               4096;
    }
    /// In all four quadrants, away from the axes.
    cd complex() { return {sign() * real(0.25, 1.75), sign() * real(0.25, 1.5)}; }
    double sign() { return real(-1, 1) < 0 ? -1 : 1; }

private:
    std::mt19937 generator_;
};

/// Elements in [from, to]; complex ones anywhere off the axes, whatever the bounds.
Values sample(xg::DType dtype, xg::Shape shape, unsigned seed = 1, double from = -2, double to = 2);

/// How far apart two numbers are: 0 for NaN beside NaN and for equal infinities, infinite for what
/// cannot be compared, otherwise relative to `want` where that is large.
double distance(cd got, cd want);

std::string text(cd z);
std::string text(xg::Shape const& shape);

/// What a tensor should hold: numbers, or another tensor's.
struct Wanted {
    std::vector<cd> numbers;
    Wanted(std::initializer_list<cd> list) : numbers(list) {}
    Wanted(std::vector<cd> v) : numbers(std::move(v)) {}
    Wanted(std::vector<double> const& v) : numbers(v.begin(), v.end()) {}
    Wanted(xg::AnyTensor const& t);
};

CheckResult holds(std::vector<cd> const& got, Wanted const& wanted, double tolerance = 1e-12);
CheckResult holds(xg::AnyTensor const& got, Wanted const& want, double tolerance = 1e-12);
template <class Op, class... X>
CheckResult holds(
    xg::Expression<Op, X...> const& got, Wanted const& want, double tolerance = 1e-12) {
    return holds(xg::AnyTensor(xg::materialize_expression(got)), want, tolerance);
}
/// Equal to the last bit.
inline CheckResult holds_exactly(xg::AnyTensor const& got, Wanted const& want) {
    return holds(got, want, 0);
}
template <class Op, class... X>
CheckResult holds_exactly(xg::Expression<Op, X...> const& got, Wanted const& want) {
    return holds(got, want, 0);
}

/// The message of an exception that a call throws, or "nothing was thrown".
template <class E = xg::Error, class F> std::string message_of(F f) {
    try {
        f();
    } catch (E const& e) { return e.what(); }
    return "nothing was thrown";
}
/// True where a text has all of some parts; otherwise it says the text.
CheckResult has(std::string const& text, std::initializer_list<std::string_view> parts);

} // namespace support

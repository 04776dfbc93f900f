// RobustLoss: what least_squares() adds up in the place of squared moduli, so that outliers count
// less.
//
// Shapes: a loss is a function of one number, s = |r|^2 / f_scale^2 of a residual r.
// Gradients: the derivative of a loss comes from dual numbers.
// Errors: a name that is no loss is an Error, which lists them. A function that does not take dual
// numbers does not compile.
#pragma once

#include <functional>
#include <utility>

#include <xgrad/core/choice.hpp>
#include <xgrad/dual.hpp>

namespace xgrad {

/// A loss rho(s), with rho(0) = 0 and rho'(0) = 1, concave: given by its name, "linear", "soft_l1",
/// "huber", "cauchy", "arctan" or "tukey", or a function of one number as a template: [](auto s) {
/// return log(1. + s); }, which is Cauchy's.
class RobustLoss {
public:
    /// The losses of SciPy, and Tukey's.
    enum class Name {
        linear,  // s
        soft_l1, // 2 (sqrt(1 + s) - 1)
        huber,   // s up to 1, then 2 sqrt(s) - 1
        cauchy,  // log(1 + s)
        arctan,  // atan(s)
        tukey    // (1 - (1 - s)^3) / 3 up to 1, then 1/3
    };

    RobustLoss() = default;
    RobustLoss(Name name);
    template <std::convertible_to<std::string_view> Text>
    RobustLoss(Text const& name) : RobustLoss(Choice<Name>(name)) {}
    template <std::invocable<Dual<double, 1>> F> RobustLoss(F f) {
        constexpr bool fits =
            std::convertible_to<std::invoke_result_t<F&, Dual<double, 1>>, Dual<double, 1>>;
        static_assert(fits, "loss: the function returns a number, as [](auto s) { return log(1. + "
                            "s); } does");
        if constexpr (fits)
            value_and_slope_ = [f = std::move(f)](double s) {
                Dual<double, 1> const y = f(Dual<double, 1>::variable(s, 0));
                return std::pair(y.value, y.tangent[0]);
            };
    }

    /// True for rho(s) = s.
    bool is_linear() const noexcept { return !value_and_slope_; }
    /// rho(s) and rho'(s).
    std::pair<double, double> operator()(double s) const {
        return is_linear() ? std::pair(s, 1.) : value_and_slope_(s);
    }

private:
    std::function<std::pair<double, double>(double)> value_and_slope_;
};
constexpr std::string_view choice_names(RobustLoss::Name) {
    return "loss: linear soft_l1 huber cauchy arctan tukey";
}

} // namespace xgrad

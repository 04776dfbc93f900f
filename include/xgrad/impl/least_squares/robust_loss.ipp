// Bodies of robust_loss.hpp.
#pragma once

#include <xgrad/least_squares/robust_loss.hpp>

namespace xgrad {

XGRAD_FUNCTION RobustLoss::RobustLoss(Name name) {
    switch (name) {
    case Name::linear:
        break;
    case Name::soft_l1:
        *this = RobustLoss([](auto s) { return 2. * (sqrt(1. + s) - 1.); });
        break;
    case Name::huber:
        *this = RobustLoss([](auto s) { return s <= 1. ? s : decltype(s)(2. * sqrt(s) - 1.); });
        break;
    case Name::cauchy:
        *this = RobustLoss([](auto s) { return log1p(s); });
        break;
    case Name::arctan:
        *this = RobustLoss([](auto s) { return atan(s); });
        break;
    case Name::tukey:
        *this = RobustLoss([](auto s) {
            auto const rest = s < 1. ? 1. - s : decltype(s)(0.);
            return (1. - rest * rest * rest) / 3.;
        });
    }
}

} // namespace xgrad

// A residual with its parameters and options, checked: what the methods of least_squares() share.
#pragma once

#include <xgrad/impl/least_squares/linearization.ipp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::detail {

class SquaresProblem {
public:
    SquaresProblem(std::function<ResidualCall(TensorSpan)> const& residual, TensorSpan x0,
        LeastSquaresOptions const& options, std::shared_ptr<RowSolver> rows)
        : residual_(residual), options_(options), x0_(x0), rows_(std::move(rows)) {}

protected:
    using Reals = std::vector<double>;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    /// Reads the parameters and their options, and evaluates the residual.
    void begin() {
        now_.x.resize(count_directions(x0_, true));
        double* end = now_.x.data();
        for (auto const& t : x0_) end = read_reals(t, end);
        lower_ = expanded("lower", options_.lower, -infinity);
        upper_ = expanded("upper", options_.upper, infinity);
        scale_ = expanded("x_scale", options_.x_scale, 1);
        if (now_.x.empty()) fail("least_squares: there are no parameters");
        for (std::size_t i = 0; i < now_.x.size(); ++i) {
            if (!std::isfinite(now_.x[i])) fail("least_squares: a parameter starts at ", now_.x[i]);
            if (!(lower_[i] <= upper_[i]))
                fail("least_squares: a lower bound, ", lower_[i], ", is above its upper bound, ",
                    upper_[i]);
            if (!(lower_[i] <= now_.x[i] && now_.x[i] <= upper_[i]))
                fail("least_squares: a parameter starts at ", now_.x[i], ", outside of its bounds ",
                    lower_[i], " and ", upper_[i]);
            if (!(scale_[i] > 0))
                fail("least_squares: x_scale must be positive, and has ", scale_[i]);
        }
        for (double const number :
            {options_.ftol, options_.xtol, options_.gtol, options_.gtol_absolute})
            if (!(number >= 0))
                fail(
                    "least_squares: ftol, xtol and gtol must not be negative, and one is ", number);
        if (!(options_.f_scale > 0))
            fail("least_squares: f_scale must be positive, and is ", options_.f_scale);
        if (double const slope = options_.loss(0).second; slope <= 0)
            fail("least_squares: a loss increases from 0 on, with the derivative 1, and this one "
                 "has ",
                slope);
        max_nfev_ = options_.max_nfev ? options_.max_nfev : 200 * now_.x.size();
        if (std::ranges::any_of(x0_, [](auto const& t) { return is_single(t.dtype()); }))
            rounding_ = std::numeric_limits<float>::epsilon();
        if (rows_) now_.rows = rows_->rows();
        evaluate(now_);
        if (now_.values.empty()) fail("least_squares: there are no residuals");
        if (!std::ranges::all_of(now_.values, [](double r) { return std::isfinite(r); }))
            fail("least_squares: the residual is not finite at the start");
        if (!std::isfinite(now_.cost))
            fail("least_squares: the cost at the start is ", now_.cost,
                ", and the residuals are finite: their squares are too large, or the loss is not "
                "finite");
        Evaluation{
            "least_squares", false, false, now_.call.inputs, now_.call.outputs, now_.call.before}
            .check_depends();
        next_ = now_;
        decide_holomorphic();
    }
    void decide_holomorphic() {
        if (rows_) return; // solved in real numbers
        auto const are_complex = [](Tensors const& all) {
            return std::ranges::all_of(
                all, [](auto const& t) { return xgrad::is_complex(t.dtype()); });
        };
        bool const possible = are_complex(now_.call.inputs) && are_complex(now_.call.outputs);
        if (options_.holomorphic.value_or(false) && !possible)
            fail<TypeError>("least_squares: holomorphic = true is for complex parameters and "
                            "complex residuals, and some are real");
        if (options_.holomorphic.value_or(false) && !Linearization(now_).is_holomorphic())
            fail("least_squares: holomorphic = true, and the derivative at the start is not: "
                 "the residual takes conj, abs or a part of a parameter");
        if (!possible || !options_.lower.tensors().empty() || !options_.upper.tensors().empty() ||
            options_.linear_solver == NormalSolver::cg)
            return;
        if (options_.holomorphic) {
            holomorphic_ = *options_.holomorphic;
            return;
        }
        if (result_.nfev >= max_nfev_) return;
        // At the start itself z conj(z) may look holomorphic.
        for (std::size_t i = 0; i < next_.x.size(); ++i)
            next_.x[i] +=
                1e-3 * (1 + std::abs(now_.x[i])) * std::cos(78.233 * static_cast<double>(i));
        evaluate(next_);
        holomorphic_ = Linearization(next_).is_holomorphic();
    }

    void evaluate(Residuals& at) {
        at.call = residual_(written_reals(x0_, at.x.data()));
        ++result_.nfev;
        if (now_.values.empty())
            for (auto* r : {&now_, &next_}) {
                r->values.resize(count_directions(now_.call.outputs, true));
                r->weighted = r->values;
            }
        auto const &first = now_.call.outputs, &here = at.call.outputs;
        if (here.size() != first.size())
            fail<ShapeError>("least_squares: the residual returned ", first.size(),
                " tensors at first and now ", here.size());
        for (std::size_t k = 0; k < here.size(); ++k)
            if (here[k].shape() != first[k].shape())
                fail<ShapeError>("least_squares: the residual had shape ", first[k].shape(),
                    " at first and now ", here[k].shape(), ": it must not change");
        at.evaluate(options_.loss, options_.f_scale);
    }

    /// The result is not recorded: its derivatives for what it depends on are an error.
    void forbid_differentiation() {
        auto const& call = now_.call;
        Evaluation const e{"least_squares", false, false, call.inputs, call.outputs, call.before};
        auto const captured = e.captured();
        Tensors given = options_.lower.tensors();
        for (auto const& t : options_.upper.tensors()) given.push_back(t);
        if (!options_.fixed.tensors().empty()) given.insert(given.end(), x0_.begin(), x0_.end());
        for (auto* all : {&result_.x, &result_.fun, &result_.grad})
            forbid_derivatives("least_squares", captured, given, *all);
        result_.covariance = [=, of = std::move(result_.covariance)](auto const& variance) {
            Tensors all{of(variance)};
            forbid_derivatives("covariance", captured, given, all);
            return all[0].as<double>();
        };
    }

    /// The numbers of an option, one for each real number of the parameters.
    Reals expanded(std::string_view option, ForParameters const& given, double otherwise) const {
        Reals all(now_.x.size(), otherwise);
        auto const& tensors = given.tensors();
        if (tensors.empty()) return all;
        check_defined("least_squares", option, tensors);
        if (!given.is_number() && tensors.size() != x0_.size())
            fail<ShapeError>("least_squares: ", option, " has ", tensors.size(),
                " tensors, and the parameters have ", x0_.size());
        std::size_t i = 0;
        for (std::size_t k = 0; k < x0_.size(); ++k) {
            auto const& t = tensors[given.is_number() ? 0 : k];
            if (t.numel() != 1 && t.shape() != x0_[k].shape())
                fail<ShapeError>("least_squares: ", option, " has shape ", t.shape(),
                    " for a parameter of shape ", x0_[k].shape());
            std::size_t const w = xgrad::is_complex(x0_[k].dtype()) ? 2 : 1,
                              parts = xgrad::is_complex(t.dtype()) ? 2 : 1;
            if (parts > w)
                fail<TypeError>("least_squares: ", option, " is complex for a real parameter");
            Reals values(t.numel() * parts);
            if (t.dtype() == DType::boolean)
                std::copy_n(reinterpret_cast<bool const*>(
                                t.is_contiguous() ? t.impl().array.data
                                                  : t.impl().type->copy(t).impl().array.data),
                    values.size(), values.begin());
            else read_reals(t, values.data());
            for (std::size_t e = 0; e < x0_[k].numel(); ++e)
                for (std::size_t part = 0; part < w; ++part)
                    all[i++] = values[(t.numel() == 1 ? 0 : e) * parts + (parts == 2 ? part : 0)];
        }
        return all;
    }

    std::function<ResidualCall(TensorSpan)> const& residual_;
    LeastSquaresOptions const& options_;
    TensorSpan x0_;
    std::shared_ptr<RowSolver> rows_; // of residuals by rows
    bool holomorphic_ = false;
    std::size_t max_nfev_ = 0;
    double rounding_ = std::numeric_limits<double>::epsilon(); // of the parameters
    Reals lower_, upper_, scale_;                              // of all real numbers
    Residuals now_, next_; // of the last step that was accepted, and of the one on trial
    LeastSquaresSolution result_;
};

} // namespace xgrad::detail

// Programs run by xgrad.
#include <xgrad/xgrad.hpp>

#include "program.hpp"

namespace oracle {

namespace {

namespace xg = xgrad;
using D = xg::Tensor<double>;
using Z = xg::Tensor<Number>;
using xg::AnyTensor;

class Interpreter {
public:
    explicit Interpreter(Program const& p) : p_(p) {}

    Outcome run() {
        Outcome result;
        try {
            for (std::size_t r = 0; r < p_.leaves.size(); ++r) {
                registers_.push_back(
                    filled(shape_of(p_.leaves[r].shape), p_.leaves[r].is_complex, r, 0));
                registers_.back().impl().requires_grad = true;
            }
            std::vector<AnyTensor> const leaves = registers_;
            for (auto const& i : p_.code) registers_.push_back(apply(i));
            std::vector<AnyTensor> outputs;
            for (auto const r : p_.outputs) outputs.push_back(registers_[r]);
            for (auto const& y : outputs) result.values.push_back(numbers_of(y));
            auto const first = gradients(weighted(outputs, 1), leaves, true);
            for (auto const& g : first) result.first.push_back(numbers_of(g));
            for (auto const& g : gradients(weighted(first, 2), leaves, false))
                result.second.push_back(numbers_of(g));
        } catch (xg::Error const& e) { result.error = e.what(); }
        return result;
    }

private:
    static xg::Shape shape_of(Extents const& extents) {
        xg::Shape shape;
        for (auto const n : extents) shape.push_back(static_cast<std::size_t>(n));
        return shape;
    }
    AnyTensor filled(
        xg::Shape const& shape, bool is_complex, std::size_t index, int purpose) const {
        Z const all = Z::empty(shape);
        auto const numbers = numbers_for(p_, index, all.numel(), purpose);
        std::ranges::copy(numbers, const_cast<Number*>(all.data()));
        if (is_complex) return all;
        return D(real(all)).clone();
    }
    D weighted(std::vector<AnyTensor> const& all, int purpose) const {
        D total(0.);
        for (std::size_t i = 0; i < all.size(); ++i) {
            bool const is_complex = xg::is_complex(all[i].dtype());
            auto const weights = filled(all[i].shape(), is_complex, i, purpose);
            if (is_complex) total = total + real(sum(weights.as<Number>() * all[i].as<Number>()));
            else total = total + sum(weights.as<double>() * all[i].as<double>());
        }
        return total;
    }
    static std::vector<AnyTensor> gradients(
        D const& loss, std::vector<AnyTensor> const& leaves, bool create_graph) {
        std::vector<AnyTensor> all(leaves.size());
        if (loss.requires_grad())
            all = xg::grad(loss, leaves, {.create_graph = create_graph, .allow_unused = true});
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            if (all[i].defined()) continue;
            if (xg::is_complex(leaves[i].dtype())) all[i] = zeros_like(leaves[i].as<Number>());
            else all[i] = zeros_like(leaves[i].as<double>());
        }
        return all;
    }
    static std::vector<Number> numbers_of(AnyTensor const& t) {
        std::vector<Number> all;
        auto const append = [&](auto const& row_major) {
            for (std::size_t k = 0; k < row_major.numel(); ++k)
                all.emplace_back(row_major.data()[k]);
        };
        if (xg::is_complex(t.dtype())) append(t.as<Number>().detach().clone());
        else append(t.as<double>().detach().clone());
        return all;
    }

    AnyTensor apply(Instruction const& i) {
        return xg::is_complex(registers_[i.of[0]].dtype())
                   ? apply_to(i, registers_[i.of[0]].as<Number>())
                   : apply_to(i, registers_[i.of[0]].as<double>());
    }

    /// The tensor of an expression, or that tensor.
    template <class E> static AnyTensor evaluated(E const& e) { return xg::Tensor(e); }
    static AnyTensor evaluated(D const& t) { return t; }
    static AnyTensor evaluated(Z const& t) { return t; }

    /// f(a, b), where b may have either type.
    template <class T, class F> AnyTensor with_other(Instruction const& i, T const& a, F f) {
        auto const& b = registers_[i.of.back()];
        return xg::is_complex(b.dtype()) ? evaluated(f(a, b.as<Number>()))
                                         : evaluated(f(a, b.as<double>()));
    }

    template <class T> AnyTensor apply_to(Instruction const& i, T a) {
        constexpr bool is_real = std::is_same_v<T, D>;
        auto const& n = i.numbers;
        auto const axis = n.empty() ? 0 : static_cast<std::ptrdiff_t>(n[0]);
        bool const keep = n.size() > 1 && n[1];
        auto const b = [&] { return registers_[i.of.back()].template as<typename T::scalar>(); };
        switch (i.op) {
        case Op::sine:
            return evaluated(sin(a));
        case Op::tangent_h:
            return evaluated(tanh(a));
        case Op::exponential:
            return evaluated(exp(a));
        case Op::square:
            return evaluated(square(a));
        case Op::negative:
            return evaluated(-a);
        case Op::absolute:
            return evaluated(abs(a));
        case Op::conjugate:
            return T(conj(a)).clone();
        case Op::squared_modulus:
            return evaluated(abs2(a));
        case Op::scaled:
            return evaluated(i.factor * a);
        case Op::add:
            return with_other(i, a, [](auto const& x, auto const& y) { return x + y; });
        case Op::subtract:
            return with_other(i, a, [](auto const& x, auto const& y) { return x - y; });
        case Op::multiply:
            return with_other(i, a, [](auto const& x, auto const& y) { return x * y; });
        case Op::divide:
            return with_other(i, a, [](auto const& x, auto const& y) { return x / (2. + y * y); });
        case Op::sum:
            return sum(a, {axis}, keep);
        case Op::mean:
            return mean(a, {axis}, keep);
        case Op::product:
            return prod(a, {axis}, keep);
        case Op::cumulative_sum:
            return cumsum(a, axis);
        case Op::cumulative_product:
            return cumprod(a, axis);
        case Op::transposed:
            return a.transpose(axis, n[1]);
        case Op::slice:
            return sliced(a, axis, n[1], n[2], n[3]);
        case Op::element:
            return element_of(a, axis, n[1]);
        case Op::row_added:
            return unsqueeze(a, axis);
        case Op::row_removed:
            return squeeze(a, axis);
        case Op::diagonal:
            return a.diagonal();
        case Op::reshaped:
            return a.reshape(xg::Axes(i.type.shape.begin(), i.type.shape.end()));
        case Op::expanded:
            return a.expand(shape_of(i.type.shape));
        case Op::flipped:
            return flip(a, {axis});
        case Op::rolled:
            return roll(a, axis, n[1]);
        case Op::lower_triangle:
            return tril(a, axis);
        case Op::joined:
            return xg::cat(std::vector<T>{a, b()}, axis);
        case Op::stacked:
            return xg::stack(std::vector<T>{a, b()}, axis);
        case Op::picked:
            return index_select(a, axis, xg::Tensor<std::int64_t>({n[1], n[2], n[3]}));
        case Op::padded:
            return pad(a, {1, 2});
        case Op::matrix_product:
            return matmul(a, b());
        case Op::dot:
            return dot(a, b());
        case Op::cloned:
            return a.clone();
        case Op::add_in_place:
            return with_other_in_place(i, a, [](auto& x, auto const& y) { x.add_(y); });
        case Op::multiply_in_place:
            return with_other_in_place(i, a, [](auto& x, auto const& y) { x.mul_(y); });
        case Op::sine_in_place:
            return a.sin_();
        case Op::copy_in_place:
            return with_other_in_place(i, a, [](auto& x, auto const& y) { x.copy_(y); });
        case Op::fill_in_place:
            return a.fill_(i.factor);
        default:
            break;
        }
        if constexpr (is_real) {
            switch (i.op) {
            case Op::logistic:
                return evaluated(sigmoid(a));
            case Op::relu:
                return evaluated(relu(a));
            case Op::softplus:
                return evaluated(softplus(a));
            case Op::from_real:
                return evaluated(xg::cast<Number>(a));
            case Op::maximum:
                return evaluated(maximum(a, b()));
            case Op::select_larger:
                return evaluated(where(a > b(), a, b() * 0.5));
            case Op::make_complex:
                return evaluated(complex(a, b()));
            case Op::largest:
                return amax(a, {axis}, keep);
            case Op::log_sum_exp:
                return logsumexp(a, {axis}, keep);
            case Op::variance:
                return var(a, {axis}, keep);
            case Op::sorted:
                return sort(a, axis).values;
            default:
                break;
            }
        } else {
            switch (i.op) {
            case Op::real_part:
                return D(real(a)).clone();
            case Op::imaginary_part:
                return D(imag(a)).clone();
            case Op::parts_of_complex:
                return view_as_real(a);
            default:
                break;
            }
        }
        return {};
    }
    template <class T, class F> AnyTensor with_other_in_place(Instruction const& i, T& a, F f) {
        auto const& b = registers_[i.of.back()];
        if (!xg::is_complex(b.dtype())) f(a, b.as<double>());
        else if constexpr (std::is_same_v<T, Z>) f(a, b.as<Number>());
        return a;
    }
    template <class T>
    static T sliced(T const& a, std::ptrdiff_t axis, std::ptrdiff_t from, std::ptrdiff_t to,
        std::ptrdiff_t step) {
        auto const range = xt::range(from, to, step);
        if (axis == 0) return a(range, xt::ellipsis());
        if (axis == 1) return a(xt::all(), range, xt::ellipsis());
        if (axis == 2) return a(xt::all(), xt::all(), range, xt::ellipsis());
        return a(xt::all(), xt::all(), xt::all(), range, xt::ellipsis());
    }
    template <class T> static T element_of(T const& a, std::ptrdiff_t axis, std::ptrdiff_t at) {
        if (axis == 0) return a(at, xt::ellipsis());
        if (axis == 1) return a(xt::all(), at, xt::ellipsis());
        if (axis == 2) return a(xt::all(), xt::all(), at, xt::ellipsis());
        return a(xt::all(), xt::all(), xt::all(), at, xt::ellipsis());
    }

    Program const& p_;
    std::vector<AnyTensor> registers_;
};

} // namespace

Outcome run_by_xgrad(Program const& p) { return Interpreter(p).run(); }

} // namespace oracle

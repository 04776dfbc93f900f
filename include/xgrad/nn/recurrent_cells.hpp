// One step of a recurrent network: the three kinds of cells, and the modules RNNCell, LSTMCell and
// GRUCell.
//
// Shapes: x: [N, in] or [in]; states: [N, H] or [H], zeros where they are not given.
// Gradients: of input, states and parameters, of any order, in backward and forward mode.
// Errors: an input or state that does not fit is a ShapeError; an undefined input and an unknown
// name of a nonlinearity are an Error. Complex tensors do not compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/nn/linear.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::nn {

/// The activation of RNN and RNNCell: tanh or relu.
enum class Nonlinearity : unsigned char { tanh, relu };
constexpr std::string_view choice_names(Nonlinearity) { return "nonlinearity: tanh relu"; }

namespace detail {

/// The state of a recurrent network, [N, H]; only an LSTM has c.
template <RealScalar T> struct RecurrentState {
    Tensor<T> h, c;
};

/// The weights of one layer in one direction. Biases and projection may be undefined.
template <RealScalar T> struct RecurrentWeights {
    Tensor<T> ih, hh_t, bias_ih, bias_hh,
        hr; // hh_t is transposed once for all steps, so that their gradients accumulate
            // contiguously
};

/// A position in arrays [N, gates H]: up to a batch of neighbouring units of one sequence.
template <RealScalar T> struct UnitsAt {
    using Batch = simd::Batch<T>;
    std::size_t row, unit, count, hidden;

    Batch load(T const* p, std::size_t gate = 0, std::size_t gates = 1) const {
        T const* const from = p + (row * gates + gate) * hidden + unit;
        if (count == Batch::width) return Batch::load(from);
        T some[Batch::width] = {};
        std::copy_n(from, count, some);
        return Batch::load(some);
    }
    void store(Batch v, T* p, std::size_t gate = 0, std::size_t gates = 1) const {
        T* const to = p + (row * gates + gate) * hidden + unit;
        if (count == Batch::width) return v.store(to);
        T some[Batch::width];
        v.store(some);
        std::copy_n(some, count, to);
    }
};

// A cell computes the next state from `in`, the input's contribution to the gates, and `rec`, that
// of the previous state; both are [N, gates H] in PyTorch's order of gates.
//   step() computes it on tensors, with recording.
//   forward() computes it for some units in plain memory and saves `kept` numbers a unit.
//   backward() computes the gradients of in and rec from dh and dc, and replaces dh and dc by those
//   parts of the previous state's gradients that do not come through rec.

/// h' = tanh(in + rec) or relu(in + rec) (Elman, 1990).
struct ElmanCell {
    static constexpr std::size_t gates = 1, kept = 0;
    static constexpr bool has_c = false, adds_biases = true;
    Nonlinearity nonlinearity = Nonlinearity::tanh;

    template <RealScalar T>
    void step(Tensor<T> const& in, Tensor<T> const& rec, RecurrentState<T>& s) const {
        s.h = nonlinearity == Nonlinearity::tanh ? Tensor<T>(tanh(in + rec))
                                                 : Tensor<T>(relu(in + rec));
    }
    template <RealScalar T>
    void forward(UnitsAt<T> at, T const* in, T const* rec, T const*, T const*, T*, T* h, T*) const {
        auto const x = at.load(in) + at.load(rec);
        at.store(nonlinearity == Nonlinearity::tanh ? tanh(x) : xgrad::Relu{}.value(x), h);
    }
    template <RealScalar T>
    void backward(UnitsAt<T> at, T const*, T const*, T const*, T const* h, T const*, T* dh, T*,
        T* d_in, T*) const {
        auto const y = at.load(h), g = at.load(dh);
        at.store(nonlinearity == Nonlinearity::tanh ? g * (1 - y * y) : where(y <= 0, 0, g), d_in);
        at.store(0, dh);
    }
};

/// c' = f c + i g and h' = o tanh(c') with the gates i, f, g, o (Hochreiter and Schmidhuber, 1997;
/// Gers, Schmidhuber and Cummins, 2000).
struct LstmCell {
    static constexpr std::size_t gates = 4, kept = 4;
    static constexpr bool has_c = true, adds_biases = true;

    template <RealScalar T>
    void step(Tensor<T> const& in, Tensor<T> const& rec, RecurrentState<T>& s) const {
        Tensor<T> const sum = in + rec;
        auto const g = chunk(sum, gates, -1);
        s.c = sigmoid(g[1]) * s.c + sigmoid(g[0]) * tanh(g[2]);
        s.h = sigmoid(g[3]) * tanh(s.c);
    }
    template <RealScalar T>
    void forward(UnitsAt<T> at, T const* in, T const* rec, T const*, T const* c_before, T* keep,
        T* h, T* c) const {
        auto const sum = [&](std::size_t gate) {
            return at.load(in, gate, 4) + at.load(rec, gate, 4);
        };
        auto const i = xgrad::Sigmoid{}.value(sum(0)), f = xgrad::Sigmoid{}.value(sum(1)),
                   g = tanh(sum(2)), o = xgrad::Sigmoid{}.value(sum(3));
        auto const next = f * at.load(c_before) + i * g;
        at.store(i, keep, 0, 4), at.store(f, keep, 1, 4), at.store(g, keep, 2, 4),
            at.store(o, keep, 3, 4);
        at.store(next, c);
        at.store(o * tanh(next), h);
    }
    template <RealScalar T>
    void backward(UnitsAt<T> at, T const* keep, T const*, T const* c_before, T const*, T const* c,
        T* dh, T* dc, T* d_in, T*) const {
        auto const i = at.load(keep, 0, 4), f = at.load(keep, 1, 4), g = at.load(keep, 2, 4),
                   o = at.load(keep, 3, 4), t = tanh(at.load(c));
        auto const to_h = at.load(dh), to_c = at.load(dc) + to_h * o * (1 - t * t);
        at.store(to_c * g * i * (1 - i), d_in, 0, 4),
            at.store(to_c * at.load(c_before) * f * (1 - f), d_in, 1, 4);
        at.store(to_c * i * (1 - g * g), d_in, 2, 4), at.store(to_h * t * o * (1 - o), d_in, 3, 4);
        at.store(0, dh);
        at.store(to_c * f, dc);
    }
};

/// h' = (1 - z) n + z h with r = sigmoid(in_r + rec_r), z = sigmoid(in_z + rec_z), n = tanh(in_n +
/// r rec_n) (Cho et al., 2014, with the reset behind the product, as in PyTorch and cuDNN).
struct GruCell {
    static constexpr std::size_t gates = 3, kept = 4;
    static constexpr bool has_c = false, adds_biases = false;

    template <RealScalar T>
    void step(Tensor<T> const& in, Tensor<T> const& rec, RecurrentState<T>& s) const {
        auto const i = chunk(in, gates, -1), r = chunk(rec, gates, -1);
        Tensor<T> const n = tanh(i[2] + sigmoid(i[0] + r[0]) * r[2]);
        s.h = n + sigmoid(i[1] + r[1]) * (s.h - n);
    }
    template <RealScalar T>
    void forward(UnitsAt<T> at, T const* in, T const* rec, T const* h_before, T const*, T* keep,
        T* h, T*) const {
        auto const sum = [&](std::size_t gate) {
            return at.load(in, gate, 3) + at.load(rec, gate, 3);
        };
        auto const r = xgrad::Sigmoid{}.value(sum(0)), z = xgrad::Sigmoid{}.value(sum(1)),
                   rec_n = at.load(rec, 2, 3), n = tanh(at.load(in, 2, 3) + r * rec_n);
        at.store(r, keep, 0, 4), at.store(z, keep, 1, 4), at.store(n, keep, 2, 4),
            at.store(rec_n, keep, 3, 4);
        at.store(n + z * (at.load(h_before) - n), h);
    }
    template <RealScalar T>
    void backward(UnitsAt<T> at, T const* keep, T const* h_before, T const*, T const*, T const*,
        T* dh, T*, T* d_in, T* d_rec) const {
        auto const r = at.load(keep, 0, 4), z = at.load(keep, 1, 4), n = at.load(keep, 2, 4),
                   rec_n = at.load(keep, 3, 4), g = at.load(dh);
        auto const dz = g * (at.load(h_before) - n) * z * (1 - z), dn = g * (1 - z) * (1 - n * n),
                   dr = dn * rec_n * r * (1 - r);
        at.store(dr, d_in, 0, 3), at.store(dz, d_in, 1, 3), at.store(dn, d_in, 2, 3);
        at.store(dr, d_rec, 0, 3), at.store(dz, d_rec, 1, 3), at.store(dn * r, d_rec, 2, 3);
        at.store(g * z, dh);
    }
};

/// The contribution of inputs [..., in] to the gates, with both biases if the cell adds them.
template <class Cell, RealScalar T>
Tensor<T> gates_of_input(Tensor<T> const& x, RecurrentWeights<T> const& w) {
    return functional::linear(x, w.ih,
        Cell::adds_biases && w.bias_ih.defined() ? Tensor<T>(w.bias_ih + w.bias_hh) : w.bias_ih);
}
/// The contribution of a state to the gates.
template <class Cell, RealScalar T>
Tensor<T> gates_of_state(Tensor<T> const& h, RecurrentWeights<T> const& w) {
    Tensor<T> const r = matmul(h, w.hh_t);
    return Cell::adds_biases || !w.bias_hh.defined() ? r : Tensor<T>(r + w.bias_hh);
}

/// A cell as a module: weight_ih [gates H, in], weight_hh [gates H, H], bias_ih and bias_hh, all
/// initialised uniformly on +-1/sqrt(H).
template <class Self, class Cell, RealScalar T> class CellModule : public Module<Self> {
public:
    using Options = LinearOptions;
    Parameter<T> weight_ih, weight_hh, bias_ih, bias_hh;

    CellModule(std::size_t input_size, std::size_t hidden_size, Options const& o = {})
        : CellModule(input_size, hidden_size, o.bias) {}
    template <std::same_as<bool> Bool>
    CellModule(std::size_t input_size, std::size_t hidden_size, Bool bias)
        : weight_ih(*this, "weight_ih",
              uniform_for<T>(hidden_size, {Cell::gates * hidden_size, input_size})),
          weight_hh(*this, "weight_hh",
              uniform_for<T>(hidden_size, {Cell::gates * hidden_size, hidden_size})),
          bias_ih(*this, "bias_ih",
              bias ? uniform_for<T>(hidden_size, {Cell::gates * hidden_size}) : Tensor<T>()),
          bias_hh(*this, "bias_hh",
              bias ? uniform_for<T>(hidden_size, {Cell::gates * hidden_size}) : Tensor<T>()) {}
    std::string extra_repr() const override {
        return std::to_string(weight_ih.shape()[1]) + ", " + std::to_string(weight_hh.shape()[1]) +
               (bias_ih.defined() ? "" : ", bias=false");
    }

protected:
    /// The next state; an undefined state means zeros. Input and state both have a batch axis [N,
    /// ...], or neither has.
    RecurrentState<T> next(Cell const& cell, Tensor<T> const& x, RecurrentState<T> s) const {
        auto const input_size = weight_ih.shape()[1], hidden_size = weight_hh.shape()[1];
        if ((x.dim() != 1 && x.dim() != 2) || x.shape().back() != input_size)
            xgrad::detail::fail<ShapeError>(this->kind(), ": an input of shape ", x.shape(),
                " is none of shape [", input_size, "] or [batch, ", input_size, "]");
        Shape shape = x.shape();
        shape.back() = hidden_size;
        for (auto* const part : {&s.h, &s.c}) {
            if (!part->defined() && (part == &s.h || Cell::has_c)) *part = zeros<T>(shape);
            if (part->defined() && !(part->shape() == shape))
                xgrad::detail::fail<ShapeError>(this->kind(), ": an input of shape ", x.shape(),
                    " needs a state of shape ", shape, ", not ", part->shape());
        }
        RecurrentWeights<T> const w{weight_ih.handle_of(), mT(weight_hh.handle_of()),
            bias_ih.handle_of(), bias_hh.handle_of(), {}};
        auto const row = [](Tensor<T> const& t) {
            return t.defined() && t.dim() == 1 ? Tensor<T>(unsqueeze(t, 0)) : t;
        };
        RecurrentState<T> r{row(s.h), row(s.c)};
        cell.step(gates_of_input<Cell>(row(x), w), gates_of_state<Cell>(r.h, w), r);
        if (x.dim() == 2) return r;
        return {Tensor<T>(squeeze(r.h, 0)), Cell::has_c ? Tensor<T>(squeeze(r.c, 0)) : Tensor<T>()};
    }
};

} // namespace detail

/// Options of RNNCell.
struct RNNCellOptions {
    bool bias = true;                                       // false for no bias_ih and no bias_hh
    Choice<Nonlinearity> nonlinearity = Nonlinearity::tanh; // the activation: "tanh" or "relu"
};

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of the same. x is [N, in] and h [N, H], or
/// both have no batch axis; without h it is zeros. Returns h'.
template <RealScalar T = double>
struct RNNCell : detail::CellModule<RNNCell<T>, detail::ElmanCell, T> {
    using Options = RNNCellOptions;
    Nonlinearity nonlinearity; // the activation

    RNNCell(std::size_t input_size, std::size_t hidden_size, Options const& o = {})
        : detail::CellModule<RNNCell<T>, detail::ElmanCell, T>(input_size, hidden_size, o.bias),
          nonlinearity(o.nonlinearity) {}
    template <std::same_as<bool> Bool>
    RNNCell(std::size_t input_size, std::size_t hidden_size, Bool bias,
        Choice<Nonlinearity> f = Nonlinearity::tanh)
        : RNNCell(input_size, hidden_size, Options{bias, f}) {}
    Tensor<T> forward(Tensor<T> const& x) const { return forward(x, {}); }
    Tensor<T> forward(Tensor<T> const& x, Tensor<T> const& h) const {
        return this->next({nonlinearity}, x, {h, {}}).h;
    }
};

/// One step of an LSTM, with the gates i, f, g, o in this order in its weights. Returns h' and c';
/// a state that is not given is zeros.
template <RealScalar T = double>
struct LSTMCell : detail::CellModule<LSTMCell<T>, detail::LstmCell, T> {
    using detail::CellModule<LSTMCell<T>, detail::LstmCell, T>::CellModule;
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& x) const {
        return forward(x, {}, {});
    }
    std::tuple<Tensor<T>, Tensor<T>> forward(
        Tensor<T> const& x, Tensor<T> const& h, Tensor<T> const& c) const {
        auto const s = this->next({}, x, {h, c});
        return {s.h, s.c};
    }
};

/// One step of a GRU, with the gates r, z, n in this order in its weights. Returns h'; without h it
/// is zeros.
template <RealScalar T = double>
struct GRUCell : detail::CellModule<GRUCell<T>, detail::GruCell, T> {
    using detail::CellModule<GRUCell<T>, detail::GruCell, T>::CellModule;
    Tensor<T> forward(Tensor<T> const& x) const { return forward(x, {}); }
    Tensor<T> forward(Tensor<T> const& x, Tensor<T> const& h) const {
        return this->next({}, x, {h, {}}).h;
    }
};
LSTMCell(std::size_t, std::size_t, LinearOptions const& = {}) -> LSTMCell<double>;
LSTMCell(std::size_t, std::size_t, bool) -> LSTMCell<double>;
GRUCell(std::size_t, std::size_t, LinearOptions const& = {}) -> GRUCell<double>;
GRUCell(std::size_t, std::size_t, bool) -> GRUCell<double>;

} // namespace xgrad::nn

// Recurrent networks over whole sequences: RNN, LSTM and GRU, with layers, directions, and
// PyTorch's names of parameters.
//
// Shapes: x: [L, N, in], [N, L, in] if batch_first, or [L, in]; states: [layers directions, N, H],
// or without N. The output is [L, N, directions H].
// Gradients: of input, first states and parameters, of any order, in backward and forward mode.
// Without a projection one Node has all steps; a backward pass that is recorded unrolls them.
// Errors: an input or state that does not fit, and a sequence without steps, are a ShapeError;
// options out of range, or of another kind of network, are an Error of the constructor; an
// undefined input is an Error. Complex tensors do not compile.
#pragma once

#include <xgrad/core/warning.hpp>
#include <xgrad/nn/functional.hpp>
#include <xgrad/nn/recurrence.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad::nn {

/// Options of RNN, LSTM and GRU.
struct RecurrentOptions {
    /// The input of a layer is the output of the layer before. 0 is an Error.
    std::size_t num_layers = 1;
    bool bias = true; // false for no bias_ih and no bias_hh
    /// Sequences are [N, L, ...], not [L, N, ...].
    bool batch_first = false;
    /// In training mode, the dropout probability between layers.
    double dropout = 0;
    /// True for a second direction in each layer, from the end of a sequence to its start. The
    /// outputs of both are concatenated.
    bool bidirectional = false;
    /// The extent of an LSTM's projected h; 0 means no projection.
    std::size_t proj_size = 0;
    /// For RNN only.
    Choice<Nonlinearity> nonlinearity = Nonlinearity::tanh;
};

namespace detail {

/// What RNN, LSTM and GRU share: the parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_hr_l0, then those of the other direction (..._reverse), then the other layers. All are
/// initialised uniformly on +-1/sqrt(hidden_size).
template <class Self, class Cell, RealScalar T> class RecurrentModule : public Module<Self> {
public:
    using Options = RecurrentOptions;

    std::size_t input_size() const noexcept { return input_size_; }
    std::size_t hidden_size() const noexcept { return hidden_size_; }
    RecurrentOptions const& options() const noexcept { return options_; }

    std::string extra_repr() const override {
        auto const& o = options_;
        std::string s = std::to_string(input_size_) + ", " + std::to_string(hidden_size_);
        if (o.proj_size != 0) s += ", proj_size=" + std::to_string(o.proj_size);
        if (o.num_layers != 1) s += ", num_layers=" + std::to_string(o.num_layers);
        if (!o.bias) s += ", bias=false";
        if (o.batch_first) s += ", batch_first=true";
        if (o.dropout != 0) s += ", dropout=" + xgrad::detail::number_text(o.dropout);
        if (o.bidirectional) s += ", bidirectional=true";
        return s;
    }

protected:
    RecurrentModule(
        std::size_t input_size, std::size_t hidden_size, RecurrentOptions const& options)
        : input_size_(input_size), hidden_size_(hidden_size), options_(options) {
        check_options();
        for (std::size_t layer = 0; layer < options_.num_layers; ++layer)
            for (std::size_t direction = 0; direction < directions(); ++direction) {
                auto const end = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
                auto const add = [&](std::string const& name, Shape const& shape) {
                    this->own(name + end, uniform_for<T>(hidden_size_, shape));
                };
                auto const rows = Cell::gates * hidden_size_;
                add("weight_ih", {rows, layer ? directions() * output_size() : input_size_});
                add("weight_hh", {rows, output_size()});
                if (options_.bias) add("bias_ih", {rows});
                if (options_.bias) add("bias_hh", {rows});
                if (options_.proj_size) add("weight_hr", {options_.proj_size, hidden_size_});
            }
    }

    /// The output of the last layer, and the last states [layers directions, N, H]. First states
    /// are given like that, or undefined for zeros. Without a batch axis there is none in the
    /// states either.
    std::pair<Tensor<T>, RecurrentState<T>> run(
        Cell const& cell, Tensor<T> x, RecurrentState<T> first) const {
        check_input(x);
        bool const batched = x.dim() == 3, batch_first = batched && options_.batch_first;
        if (!batched) x = unsqueeze(x, 1);
        if (batch_first) x = transpose(x, 0, 1);
        std::size_t const count = options_.num_layers * directions();
        auto const h = first_states("h", first.h, x.shape()[1], output_size(), batched),
                   c = Cell::has_c ? first_states("c", first.c, x.shape()[1], hidden_size_, batched)
                                   : h;
        std::vector<Tensor<T>> last_h(count), last_c(count);
        for (std::size_t layer = 0, i = 0; layer < options_.num_layers; ++layer) {
            std::vector<Tensor<T>> outputs;
            for (std::size_t direction = 0; direction < directions(); ++direction, ++i) {
                RecurrentState<T> s{h[i], c[i]};
                outputs.push_back(run_layer(cell, x, weights(i), s, direction == 1));
                last_h[i] = s.h;
                last_c[i] = s.c;
            }
            x = outputs.size() == 1 ? outputs[0] : cat(outputs, 2);
            if (layer + 1 < options_.num_layers)
                x = functional::dropout(x, options_.dropout, this->is_training());
        }
        auto const states = [&](std::vector<Tensor<T>> const& last) {
            return batched ? stack(last) : cat(last, 0);
        };
        if (batch_first) x = transpose(x, 0, 1);
        if (!batched) x = squeeze(x, 1);
        return {x, {states(last_h), Cell::has_c ? states(last_c) : Tensor<T>()}};
    }

private:
    std::size_t directions() const noexcept { return options_.bidirectional ? 2 : 1; }
    std::size_t output_size() const noexcept {
        return options_.proj_size ? options_.proj_size : hidden_size_;
    }

    void check_options() const {
        auto const& o = options_;
        auto const name = this->kind();
        using xgrad::detail::fail;
        if (hidden_size_ == 0) fail(name, ": hidden_size must be greater than zero");
        if (o.num_layers == 0) fail(name, ": num_layers must be greater than zero");
        if (!(o.dropout >= 0 && o.dropout <= 1))
            fail(name, ": dropout should be a number in range [0, 1] representing the probability "
                       "of an element being zeroed");
        if (o.proj_size && !Cell::has_c)
            fail(name, ": proj_size argument is only supported for LSTM, not RNN or GRU");
        if (o.proj_size >= hidden_size_)
            fail(name, ": proj_size has to be smaller than hidden_size");
        if (o.nonlinearity != Nonlinearity::tanh && !std::same_as<Cell, ElmanCell>)
            fail(name, ": nonlinearity is an option of RNN, not of LSTM or GRU");
        if (o.dropout > 0 && o.num_layers == 1)
            xgrad::detail::warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                "dropout expects num_layers greater than 1, but got dropout=",
                o.dropout, " and num_layers=1");
    }
    void check_input(Tensor<T> const& x) const {
        if (!x.defined()) xgrad::detail::fail_undefined(this->kind(), "argument", 0);
        if ((x.dim() != 2 && x.dim() != 3) || x.shape().back() != input_size_)
            xgrad::detail::fail<ShapeError>(this->kind(), ": an input of shape ", x.shape(),
                " is none of shape [length, ", input_size_,
                options_.batch_first ? "] or [batch, length, " : "] or [length, batch, ",
                input_size_, "]");
        if (x.shape()[x.dim() == 3 && options_.batch_first ? 1 : 0] == 0)
            xgrad::detail::fail<ShapeError>(this->kind(),
                ": Expected sequence length to be larger than 0, the input has shape ", x.shape());
    }
    /// Splits an initial state: one for each layer and direction.
    std::vector<Tensor<T>> first_states(std::string_view name, Tensor<T> const& given,
        std::size_t batch, std::size_t size, bool batched) const {
        std::size_t const count = options_.num_layers * directions();
        if (!given.defined()) return std::vector<Tensor<T>>(count, zeros<T>({batch, size}));
        Shape const wanted = batched ? Shape{count, batch, size} : Shape{count, size};
        if (!(given.shape() == wanted))
            xgrad::detail::fail<ShapeError>(this->kind(), ": the first ", name, " has shape ",
                given.shape(), ", it should have ", wanted);
        return unbind(batched ? given : Tensor<T>(unsqueeze(given, 1)), 0);
    }
    RecurrentWeights<T> weights(std::size_t i) const {
        std::size_t const each = 2 + (options_.bias ? 2 : 0) + (options_.proj_size ? 1 : 0);
        auto const at = [&](std::size_t k) {
            return Tensor<T>(this->owned_tensor(i * each + k).handle());
        };
        return {at(0), mT(at(1)), options_.bias ? at(2) : Tensor<T>(),
            options_.bias ? at(3) : Tensor<T>(), options_.proj_size ? at(each - 1) : Tensor<T>()};
    }

    std::size_t input_size_, hidden_size_;
    RecurrentOptions options_;
};

} // namespace detail

/// Elman's network h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or with relu. Called with x
/// [L, N, in] ([N, L, in] where batch_first, [L, in] without a batch) and, if you like, a first
/// state [layers directions, N, H], it returns the h of the last layer, directions side by side,
/// and the last state of each layer and direction.
template <RealScalar T = double>
struct RNN : detail::RecurrentModule<RNN<T>, detail::ElmanCell, T> {
    RNN(std::size_t input_size, std::size_t hidden_size, RecurrentOptions const& options = {})
        : detail::RecurrentModule<RNN<T>, detail::ElmanCell, T>(input_size, hidden_size, options) {}
    template <std::integral Integer> // not {}
    RNN(std::size_t input_size, std::size_t hidden_size, Integer num_layers)
        : RNN(input_size, hidden_size,
              RecurrentOptions{.num_layers = static_cast<std::size_t>(num_layers)}) {}
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& x) const { return forward(x, {}); }
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& x, Tensor<T> const& h_0) const {
        auto const [y, last] = this->run({this->options().nonlinearity}, x, {h_0, {}});
        return {y, last.h};
    }
};

/// Long short-term memory; see LSTMCell. As RNN, with two states: returns output, h_n and c_n. With
/// proj_size, h is W_hr times it.
template <RealScalar T = double>
struct LSTM : detail::RecurrentModule<LSTM<T>, detail::LstmCell, T> {
    LSTM(std::size_t input_size, std::size_t hidden_size, RecurrentOptions const& options = {})
        : detail::RecurrentModule<LSTM<T>, detail::LstmCell, T>(input_size, hidden_size, options) {}
    template <std::integral Integer> // not {}
    LSTM(std::size_t input_size, std::size_t hidden_size, Integer num_layers)
        : LSTM(input_size, hidden_size,
              RecurrentOptions{.num_layers = static_cast<std::size_t>(num_layers)}) {}
    std::tuple<Tensor<T>, Tensor<T>, Tensor<T>> forward(Tensor<T> const& x) const {
        return forward(x, {}, {});
    }
    std::tuple<Tensor<T>, Tensor<T>, Tensor<T>> forward(
        Tensor<T> const& x, Tensor<T> const& h_0, Tensor<T> const& c_0) const {
        auto const [y, last] = this->run({}, x, {h_0, c_0});
        return {y, last.h, last.c};
    }
};

/// Gated recurrent units; see GRUCell. As RNN.
template <RealScalar T = double> struct GRU : detail::RecurrentModule<GRU<T>, detail::GruCell, T> {
    GRU(std::size_t input_size, std::size_t hidden_size, RecurrentOptions const& options = {})
        : detail::RecurrentModule<GRU<T>, detail::GruCell, T>(input_size, hidden_size, options) {}
    template <std::integral Integer> // not {}
    GRU(std::size_t input_size, std::size_t hidden_size, Integer num_layers)
        : GRU(input_size, hidden_size,
              RecurrentOptions{.num_layers = static_cast<std::size_t>(num_layers)}) {}
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& x) const { return forward(x, {}); }
    std::tuple<Tensor<T>, Tensor<T>> forward(Tensor<T> const& x, Tensor<T> const& h_0) const {
        auto const [y, last] = this->run({}, x, {h_0, {}});
        return {y, last.h};
    }
};

} // namespace xgrad::nn

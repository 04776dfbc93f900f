// index_select, gather and their transposes index_add and scatter_add: elements and slices selected
// by indices along an axis. An index may occur several times: gradients and added values are
// accumulated.
//
// Shapes: in IndexSelect the axes of the index replace the axis; the result of Gather has the shape
// of the index. The result of IndexAdd and ScatterAdd has the shape that is given.
// Gradients: each is the adjoint of another one, so of any order, in backward and forward mode. The
// index has none.
// Errors: nothing is checked here: tensor/index_select.hpp, which has the functions, checks axes,
// shapes and indices.
#pragma once

#include <functional>
#include <numeric>

#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// Selects slices along an axis. The axes of the index replace that axis.
struct IndexSelect : Arraywise {
    detail::Array<std::int64_t> index; // row-major; each element is the index of a slice
    std::size_t axis = 0;              // normalised
    std::int64_t frozen = -1;          // index of a slice that gets no gradient
    bool zeroes_frozen = false;        // as the gradient of IndexAdd does
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const from = detail::contiguous(x);
        Shape shape;
        for (std::size_t d = 0; d < x.shape.size(); ++d) {
            if (d != axis) shape.push_back(x.shape[d]);
            else
                for (auto const n : index.shape) shape.push_back(n);
        }
        detail::Array<T> out(shape);
        T* to = out.begin();
        each_slice(x.shape, [&](std::size_t offset, std::size_t n, bool moves) {
            to = zeroes_frozen && !moves ? std::fill_n(to, n, T(0))
                                         : std::copy_n(from.begin() + offset, n, to);
        });
        return out;
    }
    /// Adds the gradients of the selected slices to the slices that they came from.
    template <Scalar T>
    void add_onto(detail::Array<T> const& sum, detail::Array<T> const& gradient) const {
        auto const from = detail::contiguous(gradient);
        T const* next = from.begin();
        each_slice(sum.shape, [&](std::size_t offset, std::size_t n, bool moves) {
            T* const to = sum.begin() + offset;
            if (moves) std::transform(to, to + n, next, to, std::plus());
            next += n;
        });
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;

private:
    /// Calls f(offset, number of elements, true if it gets a gradient) for each slice of an array
    /// in row-major order.
    template <class F> void each_slice(Shape const& of, F f) const {
        auto const count = [](auto first, auto last) {
            return std::accumulate(first, last, std::size_t{1}, std::multiplies());
        };
        std::size_t const before = count(of.begin(), of.begin() + axis),
                          n = count(of.begin() + axis + 1, of.end());
        for (std::size_t b = 0; b < before; ++b)
            for (std::size_t i = 0; i < index.numel; ++i)
                f((b * of[axis] + static_cast<std::size_t>(index.begin()[i])) * n, n,
                    index.begin()[i] != frozen);
    }
};

/// Zeros of a shape to which slices, or elements, are added: the transpose of a selection.
template <class Selection> struct TransposeOf : Arraywise {
    Selection picked; // the selection whose transpose this is
    Shape shape;      // of the result
    static constexpr auto dependence = Dependence::transposed;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(shape, T(0));
        picked.add_onto(out, x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        Selection back = picked;
        if constexpr (requires { back.zeroes_frozen; }) back.zeroes_frozen = true;
        return express(std::move(back), g);
    }
};
struct IndexAdd : TransposeOf<IndexSelect> {}; // slices

auto IndexSelect::pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
    return express(IndexAdd{{{}, *this, x.shape()}}, g);
}

/// Selects one element for each index: the result at position p is the element with index[p] along
/// the axis and with p along the others.
struct Gather : Arraywise {
    detail::Array<std::int64_t> index; // row-major
    std::size_t axis = 0;              // normalised
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(index.shape);
        T* to = out.begin();
        each_element(x, [&](T const& from) { *to++ = from; });
        return out;
    }
    /// Adds the gradients of the selected elements to the elements that they came from.
    template <Scalar T>
    void add_onto(detail::Array<T> const& sum, detail::Array<T> const& gradient) const {
        auto const from = detail::contiguous(gradient);
        T const* next = from.begin();
        each_element(sum, [&](T& to) { to += *next++; });
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;

private:
    template <Scalar T, class F> void each_element(detail::Array<T> const& x, F f) const {
        Strides others = x.strides;
        auto const stride = std::exchange(others[axis], 0), step = others.back();
        Strides const* const strides[] = {&index.strides, &others};
        detail::for_each_run(index.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
            std::int64_t const* number = index.begin() + at[0];
            T* place = x.begin() + at[1];
            for (std::size_t i = 0; i < n; ++i, place += step) f(place[*number++ * stride]);
        });
    }
};

struct ScatterAdd : TransposeOf<Gather> {}; // elements

auto Gather::pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
    return express(ScatterAdd{{{}, *this, x.shape()}}, g);
}

} // namespace xgrad

// In-place operations. Each increments the version of the memory, so that a backward pass that
// needs the old values throws. Where a gradient is required, the change is recorded: the tensor, or
// the base of a view, gets a new grad_fn.
// Invariant: everything that can throw is done before the first element is written.
//
// Shapes: the tensor keeps its shape, to which the other operands broadcast.
// Gradients: recorded where gradients are on: the tensor's grad_fn is then that of the new values,
// of any order. The old values of copy_() and fill_() get gradient 0. uniform_() and normal_() are
// never recorded.
// Errors: a broadcast shape that is larger than the tensor, and a tensor of which several elements
// are one memory location, are a ShapeError; a recorded change of a leaf that requires a gradient,
// of a view of one, of one of several views, or of a view made in no-grad mode is a GraphError. A
// backward pass that needs the old values throws VersionError. A result of a higher kind than the
// tensor (complex into real) does not compile.
#pragma once

#include <xgrad/ops/rounding.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad {

/// x, broadcast to the shape of the first operand, whose old values have no gradient.
struct Copy : Elementwise<B(B, B), Z(Z, Z), R(R, R), C(C, C)> {
    static constexpr std::string_view written = "copy_";
    auto value(auto, auto x) const { return x; }
    auto partial(wrt<0>, auto, auto, auto) const { return nothing; }
    auto partial(wrt<1>, auto, auto, auto) const { return one; }
};

namespace detail {

XGRAD_LAZY [[gnu::cold]] void check_view_may_change(AnyTensor const& t, std::string_view operation);

/// Throws where a tensor must not be changed in place; `recorded` where the change will be
/// recorded.
XGRAD_LAZY void check_in_place(AnyTensor const& t, std::string_view operation, bool recorded);

/// The new grad_fn of a tensor that is changed in place. Everything is allocated before an element
/// is written.
class NewGradFn {
public:
    /// `written` leads to the grad_fn of the new values.
    XGRAD_LAZY NewGradFn(AnyTensor const& t, Edge written);
    XGRAD_LAZY void begin() noexcept {
        changed_->array.storage->bump();
        take();
    }
    /// begin() without a new version.
    XGRAD_LAZY void take() noexcept;

private:
    Ref<TensorImpl> changed_;
    Edge edge_;
    Ref<TensorImpl> view_; // of which retain_grad() asks for the gradient of the new values
    Ref<Node> of_view_;
};

/// Operands of an in-place change of t that share its memory, with their old state; with copies of
/// the values that the Node saves.
class OldOperands {
public:
    XGRAD_LAZY void take(
        AnyTensor const& t, OperandMask read, std::span<AnyTensor const*> operands);
    /// The values of t without grad_fn.
    AnyTensor const& overwritten(AnyTensor const& t) { return before_.emplace_back(alias(t)); }

private:
    XGRAD_LAZY bool is_taken(AnyTensor const& x) const;

    std::vector<AnyTensor> before_;
};

/// True for two arrays that share bytes of memory of the program, for which each has a storage.
XGRAD_LAZY bool shares_external(
    AnyArray const& a, std::size_t element_a, AnyArray const& b, std::size_t element_b);
/// True where writing an element of t might overwrite an element that a later element of the result
/// reads.
XGRAD_LAZY bool needs_temporary(
    AnyArray const& out, RecordTable const& table, AnyArray const* const* operands);

/// Overwrites t with the values of e, whose operands include t.
template <Scalar T, class E>
void assign(Tensor<T> const& t, E const& e, std::string_view operation) {
    using S = typename E::scalar;
    static_assert(kind_rank<kind_of<S>> <= kind_rank<kind_of<T>>,
        "in-place: the result type can't be cast to the type of the tensor that is changed; "
        "a new tensor can have it: y = x + z");
    if constexpr (kind_rank<kind_of<S>> <= kind_rank<kind_of<T>>) {
        FlattenedExpression<E> flat(e);
        auto const& table = flat.table;
        BoundOperands in(table, flat.object, flat.operands, true, operation);
        bool const recorded = in.plan && Differentiable<T>;
        check_in_place(t, operation, recorded);
        if constexpr (watches_handles) check_shared_write(t, operation);
        OldOperands old;
        if (recorded) {
            old.take(t, in.plan->read, flat.operands);
            if (std::same_as<typename decltype(flat)::F::operation, Copy> && t.is_view())
                flat.operands[0] =
                    &old.overwritten(t); // CopySlices erases the gradient of the old values
            in = BoundOperands(table, flat.object, flat.operands, true);
        }
        Array<T> const& out = t.array_of();
        if (!(in.space() == out.shape))
            fail<ShapeError>(operation, ": output with shape ", out.shape,
                " doesn't match the broadcast shape ", in.space());

        bool const use_temporary = !std::same_as<S, T> || needs_temporary(out, table, in.arrays) ||
                                   (recorded && in.plan && in.plan->reads.result);
        if (use_temporary) {
            Tensor<S> const values(record_flat(table, flat.object, flat.operands).handle());
            Tensor<T> const converted = cast<T>(values);
            std::optional<NewGradFn> new_grad_fn;
            if (recorded) new_grad_fn.emplace(t, gradient_edge(converted));
            copy_elements(out, converted.array_of());
            if (new_grad_fn) return new_grad_fn->begin();
        } else {
            std::optional<NewGradFn> new_grad_fn;
            if constexpr (Differentiable<T>)
                if (recorded) {
                    Edge written; // to nothing, where a part of t is overwritten with numbers
                    if (in.plan)
                        written = {FusedNode::make(flat.object, flat.operands, in, nullptr, t), 0};
                    new_grad_fn.emplace(t, std::move(written));
                }
            KernelCall call(table.kernels, flat.object, Pass::value, out.shape, out.numel);
            call.bind_operands(in.arrays, in.are_plain);
            call.bind(call.layout.result(), out);
            call.run();
            if (new_grad_fn) return new_grad_fn->begin();
        }
        out.storage->bump();
    }
}

template <class Self, class F, class... X>
Self& change_in_place(Self& self, std::string_view operation, F f, X const&... x) {
    auto const e = f(self, x...);
    if constexpr (is_expression<std::remove_const_t<decltype(e)>>) assign(self, e, operation);
    else
        check_in_place(
            self, operation, recording() && self.requires_grad()); // conj_() of real numbers
    return self;
}

} // namespace detail

/// Copies values, broadcast to this tensor's shape.
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::copy_(X const& x) {
    detail::assign(*this, express(Copy{}, *this, x), "copy_");
    return *this;
}
template <Scalar T> Tensor<T>& Tensor<T>::fill_(T value) {
    detail::assign(*this, express(Copy{}, *this, value), "fill_");
    return *this;
}
template <Scalar T> Tensor<T>& Tensor<T>::zero_() {
    detail::assign(*this, express(Copy{}, *this, T(0)), "zero_");
    return *this;
}
template <Scalar T>
template <detail::OperandLike X>
Tensor<T>& Tensor<T>::masked_fill_(Tensor<bool> const& mask, X const& value) {
    detail::assign(*this, where(mask, value, *this), "masked_fill_");
    return *this;
}
#define XGRAD_COMPOUND(op)                                                                         \
    template <Scalar T>                                                                            \
    template <detail::OperandLike X>                                                               \
    Tensor<T>& Tensor<T>::operator op##=(X const& x) {                                             \
        detail::assign(*this, *this op x, #op "=");                                                \
        return *this;                                                                              \
    }
XGRAD_COMPOUND(+)
XGRAD_COMPOUND(-)
XGRAD_COMPOUND(*)
XGRAD_COMPOUND(/)
XGRAD_COMPOUND(%)
#undef XGRAD_COMPOUND

template <Scalar T> Tensor<T>& Tensor<T>::detach_() {
    if (is_view()) detail::fail<GraphError>("Can't detach views in-place. Use detach() instead.");
    impl().grad_fn = nullptr;
    impl().output_nr = 0;
    impl().requires_grad = false;
    impl().retains_grad = false;
    return *this;
}

/// See inplace_forms.hpp.
template <Differentiable T> void uniform_(Tensor<T> t, double low, double high) {
    using P = precision_of<T>;
    detail::check_range("uniform_: high", high, low);
    NoGradGuard const off;
    if constexpr (detail::watches_handles) t.belongs_to_library();
    Tensor<T> values = rand<T>(t.shape());
    if constexpr (detail::is_complex<T>)
        t.copy_(values * static_cast<P>(high - low) + T(P(low), P(low)));
    else t.copy_(values * static_cast<P>(high - low) + static_cast<P>(low));
}
/// See inplace_forms.hpp.
template <Differentiable T> void normal_(Tensor<T> t, double mean, double deviation) {
    using P = precision_of<T>;
    detail::check_range("normal_: deviation", deviation, 0);
    NoGradGuard const off;
    if constexpr (detail::watches_handles) t.belongs_to_library();
    t.copy_(randn<T>(t.shape()) * static_cast<P>(deviation) + static_cast<P>(mean));
}

} // namespace xgrad

// Bodies of saved_tensor_hooks.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/saved_tensor_hooks.hpp>

namespace xgrad::detail {

/// What a Packing makes: the packed object, and what its tensor was.
template <class = void> class PackedByHooks final : public PackedTensor {
public:
    PackedByHooks(std::shared_ptr<Packing const> packing, AnyTensor const& value)
        : packing_(std::move(packing)), data_(packing_->pack(value)), dtype_(value.dtype()),
          shape_(value.shape()) {}

    AnyTensor unpacked() const override {
        NoGradGuard const off;
        auto const t = packing_->unpack(data_.get());
        if (!t.defined() || t.dtype() != dtype_ || t.shape() != shape_)
            fail<TypeError>("Output of saved tensor unpack_hook expected to be a tensor of type ",
                name(dtype_), " and shape ", shape_, " but got ", describe(t));
        return t;
    }

private:
    std::shared_ptr<Packing const> packing_;
    std::shared_ptr<void const> data_;
    DType dtype_;
    Shape shape_;
};

XGRAD_LAZY_BODY Owner<PackedTensor> Packing::call_pack(
    std::shared_ptr<Packing const> self, AnyTensor const& value) {
    NoGradGuard const off;
    auto const argument = alias(value);
    auto const version = argument.impl().array.storage->version();
    Owner<PackedTensor> packed(new PackedByHooks<>(std::move(self), argument));
    if (argument.impl().array.storage->version() != version)
        fail<GraphError>(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as "
            "input to pack hook can not be modified by in-place "
            "operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input "
            "to a pack hook.");
    packed->edge = gradient_edge(value);
    return packed;
}

} // namespace xgrad::detail

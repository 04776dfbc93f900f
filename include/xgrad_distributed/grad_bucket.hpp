// GradBucket: gradients of several parameters in one piece of memory, so that they travel as one
// message.
//
// Shapes: the buffer is a vector; gradients() has the shapes of the parameters.
// Gradients: those of one bucket, complete on this rank; unrecorded.
// Errors: set_buffer() throws ShapeError for another shape or a tensor that is not contiguous;
// allreduce_hook() throws DistributedError where the ranks differ, stop or do not answer.
#pragma once

#include <xgrad_distributed/process_group.hpp>

namespace xgrad::distributed {

namespace detail {
class Reducer;
}

/// What a communication hook gets. Its parameters have one scalar type. It lives until the hook's
/// future is ready.
class GradBucket {
public:
    /// Its position in the present order. The order changes once, after the first backward pass.
    std::size_t index() const noexcept { return index_; }
    /// True for the last bucket of a backward pass.
    bool is_last() const noexcept { return is_last_; }
    /// The gradients one after the other, in one dimension.
    AnyTensor const& buffer() const noexcept { return buffer_; }
    /// Replaces the buffer until the end of the pass, by a tensor of as many elements in one
    /// dimension, which may have another type: for a hook that hands the bucket to another one.
    void set_buffer(AnyTensor const& buffer) {
        if (!(buffer.shape() == buffer_.shape()) || !buffer.is_contiguous())
            detail::fail<ShapeError>("set_buffer: the buffer of a bucket has shape ",
                buffer_.shape(), " and no gaps, not shape ", buffer.shape());
        buffer_ = buffer;
    }
    /// Views of the buffer with the shapes of the parameters.
    std::vector<AnyTensor> gradients() const {
        std::vector<AnyTensor> all;
        for (std::size_t k = 0; k < parameters_.size(); ++k)
            all.push_back(detail::view_of_elements(buffer_, offsets_[k], parameters_[k].shape()));
        return all;
    }
    std::vector<AnyTensor> const& parameters() const noexcept { return parameters_; }

private:
    friend class detail::Reducer;

    std::size_t index_ = 0;
    bool is_last_ = false;
    AnyTensor buffer_;
    std::vector<AnyTensor> parameters_;
    std::vector<std::size_t> offsets_; // in elements
};

namespace detail {

/// Divides the elements and begins to add them up over the ranks: what happens to a bucket without
/// a hook.
inline Future<AnyTensor> divide_and_sum(
    ProcessGroup const& group, AnyTensor const& t, int by, std::string name) {
    if (by != 1) t.impl().type->multiply_in_place(t, 1. / by);
    return group.allreduce_async(t, Reduction::sum, std::move(name));
}

} // namespace detail

/// The mean over the ranks: does what is done without a hook, bit for bit.
inline Future<AnyTensor> allreduce_hook(ProcessGroup& group, GradBucket& bucket) {
    return detail::divide_and_sum(
        group, bucket.buffer(), group.size(), "bucket " + std::to_string(bucket.index()));
}

} // namespace xgrad::distributed

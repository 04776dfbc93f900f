// Operation: what a group of ranks has begun (group_state.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <xgrad/core/shape.hpp>
#include <xgrad_distributed/mpi.hpp>

namespace xgrad::distributed::detail {

/// What all ranks must agree on.
struct Signature {
    std::string_view operation;
    std::string name;   // of the tensor, for messages
    std::string type{}; // of the elements; empty for an operation without any
    Shape shape{};
    std::optional<int> root{};
    Reduction reduction = Reduction::sum;

    /// "broadcast of parameter 'weight' (float64 [2, 3], from rank 0)"
    std::string text() const {
        constexpr std::string_view reductions[] = {"", ", product", ", min", ", max"};
        std::string out(operation);
        if (!name.empty()) out += xgrad::detail::message_of({" of ", name});
        if (type.empty()) return out;
        out += xgrad::detail::message_of(
            {" (", type, " ", shape, reductions[static_cast<int>(reduction)]});
        if (root) out += ", from rank " + std::to_string(*root);
        return out + ")";
    }
    /// FNV-1a.
    std::uint64_t hash() const {
        std::uint64_t h = 0xcbf29ce484222325u;
        for (char const c : text()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        return h;
    }
};

struct Operation {
    Signature signature;
    std::uint64_t position;
    std::uint64_t agreed[2]; // the least hash, and the complement of the greatest
    MPI_Request check = MPI_REQUEST_NULL, data = MPI_REQUEST_NULL;
    enum class Step : std::uint8_t { check, waits, data, done } step = Step::check;
    int code = MPI_SUCCESS; // of the call of MPI that failed
    std::function<int(MPI_Comm, MPI_Request*)> begin_data;
    std::function<void(std::exception_ptr)> finish;

    bool ranks_agree() const noexcept { return agreed[0] == ~agreed[1]; }
};

} // namespace xgrad::distributed::detail

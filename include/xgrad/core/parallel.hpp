// A thread pool for large kernels, off until set_num_threads() starts it. Work is always cut into
// the same parts, so that results do not depend on the number of threads.
//
// Gradients: those of one thread, bit by bit.
// Errors: set_num_threads() throws an Error for more than 65536 threads, and for more than the
// system gives.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>

#include <xgrad/core/config.hpp>

namespace xgrad {

namespace detail {

/// A function that the pool calls once for each index below `count`; it must not throw.
struct IndexedJob {
    void (*call)(void* context, std::size_t index);
    void* context;
    std::size_t count;
};

/// How many threads jobs run on, this one included.
inline constinit std::atomic<std::size_t> pool_size{1};

/// When sleeping threads are woken: for any job, or if that takes less time than the job.
enum class Wake : bool { always, for_long_work };

/// Runs a job on the threads of the pool. While another job runs, a nested call or a call of
/// another thread runs its job alone, on the calling thread. So does Wake::for_long_work, if the
/// first index takes so little time that the others are done before sleeping threads wake.
XGRAD_LAZY void run_on_pool(IndexedJob const& job, Wake wake);

/// Calls f(0), ..., f(count - 1) once each, on all threads of the pool. If calls throw, it rethrows
/// one of the exceptions at the end.
template <class F> void for_each_index(std::size_t count, F f, Wake wake = Wake::always) {
    if (count <= 1 || pool_size.load(std::memory_order_relaxed) <= 1) {
        for (std::size_t i = 0; i < count; ++i) f(i);
        return;
    }
    struct Context {
        F& f;
        std::exception_ptr thrown;
        std::mutex mutex;
    } context{f, {}, {}};
    auto const call = [](void* to, std::size_t i) {
        auto& c = *static_cast<Context*>(to);
        try {
            c.f(i);
        } catch (...) {
            std::lock_guard const lock(c.mutex);
            c.thrown = std::current_exception();
        }
    };
    run_on_pool({call, &context, count}, wake);
    if (context.thrown) std::rethrow_exception(context.thrown);
}

/// About how many elements a part of a loop has. It is a multiple of every batch width.
inline constexpr std::size_t part_size = std::size_t{1} << 15;

} // namespace detail

/// Lets elementwise expressions over many elements, and convolutions, run on n threads. 0 means one
/// thread a core; 1, the initial value, means only the calling thread. Results are bit-identical
/// for every n. Matrix products follow the settings of the BLAS. A child of fork() computes on one
/// thread, until it says otherwise. Throws an Error, and keeps the number that was set, if there
/// are too many. (Its body is that of the loop driver: impl/fuse/nd_loop.ipp.)
XGRAD_LAZY void set_num_threads(std::size_t n);
/// The number of threads that run elementwise expressions over many elements.
inline std::size_t get_num_threads() noexcept {
    return detail::pool_size.load(std::memory_order_relaxed);
}

} // namespace xgrad

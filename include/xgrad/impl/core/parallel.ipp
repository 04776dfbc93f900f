// Bodies of parallel.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32) && __has_include(<unistd.h>) && __has_include(<pthread.h>)
#    include <pthread.h>
#    define XGRAD_FORKS 1
#else
#    define XGRAD_FORKS 0
#endif

#include <xgrad/core/error.hpp>
#include <xgrad/core/parallel.hpp>

namespace xgrad::detail {

class WorkerPool {
public:
    XGRAD_LAZY static WorkerPool& instance();
    XGRAD_LAZY void set_size(std::size_t threads);
    XGRAD_LAZY void run(IndexedJob const& job, std::size_t first);

private:
    XGRAD_LAZY void start(std::size_t threads);
    XGRAD_LAZY void take_part(IndexedJob const& job);
    XGRAD_LAZY void work(std::size_t seen);
    XGRAD_LAZY void stop() noexcept;

    std::mutex running_, mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    std::atomic<std::size_t> next_{0};
    IndexedJob const* job_ = nullptr;
    std::size_t generation_ = 0, busy_ = 0; // busy_: workers inside of the job
    bool ending_ = false;
};

XGRAD_LAZY_BODY WorkerPool& WorkerPool::instance() {
    /// A child of fork() has none of the threads of a pool, and its mutexes may be locked for ever:
    /// the child leaves that pool alone, and begins with one of no threads.
    static struct Owner {
        WorkerPool* pool = new WorkerPool;

        ~Owner() {
            pool->stop();
            delete pool;
        }
    } owner;
#if XGRAD_FORKS
    [[maybe_unused]] static int const registered = pthread_atfork(nullptr, nullptr, [] {
        pool_size = 1;
        owner.pool = new WorkerPool;
    });
#endif
    return *owner.pool;
}

XGRAD_LAZY_BODY void WorkerPool::set_size(std::size_t threads) {
    constexpr std::size_t max_threads = 1 << 16;
    if (threads > max_threads) fail("set_num_threads: ", threads, " threads are too many");
    std::lock_guard const only(running_);
    std::size_t const before = workers_.size() + 1;
    stop();
    try {
        start(threads);
    } catch (std::system_error const& e) {
        stop();
        start(before);
        fail("set_num_threads: the system does not give ", threads, " threads: ", e.what());
    }
}

XGRAD_LAZY_BODY void WorkerPool::start(std::size_t threads) {
    workers_.reserve(threads - 1);
    for (std::size_t i = 1; i < threads; ++i)
        workers_.emplace_back([this, seen = generation_] { work(seen); });
    pool_size = threads;
}

XGRAD_LAZY_BODY void WorkerPool::run(IndexedJob const& job, std::size_t first) {
    std::unique_lock const only(running_, std::try_to_lock);
    if (!only) {
        for (std::size_t i = first; i < job.count; ++i) job.call(job.context, i);
        return;
    }
    {
        std::lock_guard const lock(mutex_);
        job_ = &job;
        next_.store(first, std::memory_order_relaxed);
        ++generation_;
    }
    wake_.notify_all();
    take_part(job);
    std::unique_lock lock(mutex_);
    job_ = nullptr; // a worker that wakes only now has nothing left to do, and is not waited for
    done_.wait(lock, [this] { return busy_ == 0; });
}

XGRAD_LAZY_BODY void WorkerPool::take_part(IndexedJob const& job) {
    for (std::size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < job.count;)
        job.call(job.context, i);
}

XGRAD_LAZY_BODY void WorkerPool::work(std::size_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return ending_ || (job_ && generation_ != seen); });
        if (ending_) return;
        seen = generation_;
        IndexedJob const& job = *job_;
        ++busy_;
        lock.unlock();
        take_part(job);
        lock.lock();
        if (--busy_ == 0) done_.notify_one();
    }
}

XGRAD_LAZY_BODY void WorkerPool::stop() noexcept {
    pool_size = 1;
    {
        std::lock_guard const lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
    workers_.clear();
    ending_ = false;
}

XGRAD_LAZY_BODY void run_on_pool(IndexedJob const& job, Wake wake) {
    // What it takes to wake a sleeping thread, at most: 50 us on virtual machines. Without it two
    // threads take 1.8 times as long as one for 65,536 elements of a * b + 1.
    constexpr auto wake_time = std::chrono::microseconds(100);
    std::size_t done = 0;
    if (wake == Wake::for_long_work) {
        auto const start = std::chrono::steady_clock::now();
        job.call(job.context, done++);
        auto const rest = (std::chrono::steady_clock::now() - start) * (job.count - 1);
        if (rest < wake_time) {
            while (done < job.count) job.call(job.context, done++);
            return;
        }
    }
    WorkerPool::instance().run(job, done);
}

} // namespace xgrad::detail

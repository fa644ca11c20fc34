// Executors that belong together: while one of them waits, the calls in flight of all others of the same thread move on too. Without it two
// communicators deadlock as soon as ranks wait for their calls in different orders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace attune::collectives {

class Executor;

// The executors of a family that one thread uses. Only that thread moves them on; another one may take its own out at any time.
class ProgressCircle {
public:
    explicit ProgressCircle(pthread_t thread) : thread_(thread) {}

    bool is_of_calling_thread() const noexcept { return pthread_equal(thread_, pthread_self()) != 0; }
    // A member that is alone needs no pass over others.
    bool has_others() const noexcept { return size_.load(std::memory_order_relaxed) > 1; }
    // One pass over the calls in flight of all members but `self`. True when anything moved.
    bool progress_others(const Executor& self) noexcept;

private:
    friend class ProgressFamily;
    void lock() noexcept;
    void unlock() noexcept { busy_.clear(std::memory_order_release); }  // pairs with lock()
    void add(Executor& executor);
    void remove(Executor& executor) noexcept;

    pthread_t thread_;
    std::atomic<std::size_t> size_{0};
    std::atomic_flag busy_;  // held for one pass or one change of `members_`
    std::vector<Executor*> members_;
};

// Thread-safe. A communicator and all made from it share one; the public library has one for the whole process.
class ProgressFamily {
public:
    // Into the circle of the calling thread.
    std::shared_ptr<ProgressCircle> join(Executor& executor);
    void leave(Executor& executor, const std::shared_ptr<ProgressCircle>& circle) noexcept;

    // Numbers of communicators that members agree on: the next one that is free here, and that all below `next` are taken.
    std::uint64_t next_number() const noexcept { return next_number_.load(std::memory_order_relaxed); }
    void reserve_numbers_below(std::uint64_t next) noexcept;

private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<ProgressCircle>> circles_;
    std::atomic<std::uint64_t> next_number_{1};
};

}  // namespace attune::collectives

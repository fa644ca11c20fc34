#include "collectives/execution/progress_family.hpp"

#include "collectives/executor.hpp"

#include <algorithm>

#include <sched.h>

namespace attune::collectives {

void ProgressCircle::lock() noexcept {
    while (busy_.test_and_set(std::memory_order_acquire))  // pairs with unlock()
        sched_yield();
}

bool ProgressCircle::progress_others(const Executor& self) noexcept {
    bool moved = false;
    lock();
    for (Executor* const member : members_) {
        if (member != &self) moved |= member->progress();
    }
    unlock();
    return moved;
}

void ProgressCircle::add(Executor& executor) {
    lock();
    members_.push_back(&executor);
    size_.store(members_.size(), std::memory_order_relaxed);
    unlock();
}

void ProgressCircle::remove(Executor& executor) noexcept {
    lock();
    std::erase(members_, &executor);
    size_.store(members_.size(), std::memory_order_relaxed);
    unlock();
}

std::shared_ptr<ProgressCircle> ProgressFamily::join(Executor& executor) {
    const std::scoped_lock lock(mutex_);
    auto found = std::ranges::find_if(circles_, [](const auto& circle) { return circle->is_of_calling_thread(); });
    if (found == circles_.end()) found = circles_.insert(circles_.end(), std::make_shared<ProgressCircle>(pthread_self()));
    (*found)->add(executor);
    return *found;
}

void ProgressFamily::leave(Executor& executor, const std::shared_ptr<ProgressCircle>& circle) noexcept {
    const std::scoped_lock lock(mutex_);
    circle->remove(executor);
    if (circle->members_.empty()) std::erase(circles_, circle);
}

void ProgressFamily::reserve_numbers_below(std::uint64_t next) noexcept {
    std::uint64_t known = next_number();
    while (known < next && !next_number_.compare_exchange_weak(known, next, std::memory_order_relaxed)) {
    }
}

}  // namespace attune::collectives

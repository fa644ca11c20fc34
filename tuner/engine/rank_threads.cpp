#include "tuner/engine/rank_threads.hpp"

#include "libcore/topology.hpp"

namespace attune::tuner::engine {

collectives::CommunicatorOptions communicator_options(const Setup& setup) {
    collectives::CommunicatorOptions options;
    options.transport = setup.transport;
    options.node_map = setup.node_map;
    options.lanes.oversubscribed = setup.oversubscribed != 0;
    options.execution.timeout_ns = setup.timeout_ns;
    return options;
}

RankThreads::RankThreads(const Setup& setup, SharedArea& area) : setup_(setup), area_(area), replies_(static_cast<std::size_t>(setup.ranks)) {
    if (setup.bind != 0) cpus_ = core::allowed_cpus().cpus;
    communicators_ = collectives::Communicator::make_local(setup.ranks, communicator_options(setup));
    for (int rank = 0; rank < setup.ranks; ++rank)
        threads_.emplace_back([this, rank] { serve(rank); });
}

RankThreads::~RankThreads() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
}

std::vector<Reply> RankThreads::execute(const Command& command) {
    std::unique_lock lock(mutex_);
    command_ = command;
    unfinished_ = setup_.ranks;
    ++turn_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return unfinished_ == 0; });
    return replies_;
}

void RankThreads::serve(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!cpus_.empty()) core::bind_this_thread(cpus_[at]);
    Meeting meeting(area_, rank, setup_.oversubscribed != 0, setup_.timeout_ns);
    RankEngine engine(*communicators_[at], meeting, setup_.cache_bytes);
    std::uint64_t done = 0;
    while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || turn_ > done; });
        if (stop_) return;
        done = turn_;
        const Command command = command_;
        lock.unlock();
        const Reply reply = engine.execute(command);
        lock.lock();
        replies_[at] = reply;
        if (--unfinished_ == 0) changed_.notify_all();
    }
}

}  // namespace attune::tuner::engine

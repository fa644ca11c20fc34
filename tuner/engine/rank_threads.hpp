// All ranks of a `local` arena as threads of one process; they sleep between commands.
#pragma once

#include "tuner/engine/command.hpp"
#include "tuner/engine/rank_engine.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace attune::tuner::engine {

collectives::CommunicatorOptions communicator_options(const Setup& setup);

class RankThreads {
public:
    RankThreads(const Setup& setup, SharedArea& area);  // throws Error(failure)
    ~RankThreads();
    RankThreads(const RankThreads&) = delete;
    RankThreads& operator=(const RankThreads&) = delete;

    std::vector<Reply> execute(const Command& command);  // one reply per rank, in order

private:
    void serve(int rank);

    Setup setup_;
    SharedArea& area_;
    std::vector<int> cpus_;  // empty when unbound
    std::vector<std::unique_ptr<collectives::Communicator>> communicators_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t turn_ = 0;  // number of the current command
    int unfinished_ = 0;
    bool stop_ = false;
    Command command_;
    std::vector<Reply> replies_;
    std::vector<std::jthread> threads_;
};

}  // namespace attune::tuner::engine

// Waiting without progress: spin, pause, yield, sleep; and find out why nothing comes.
#pragma once

#include "collectives/execution/call.hpp"
#include "collectives/executor.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

// Dead is not late: a rank whose process is gone is an error within 1 s, a living one is reported once and is an error only after a set timeout.
class Watch {
public:
    Watch(Transport& transport, const ExecutorOptions& options) : transport_(transport), options_(options) {}

    void moved() noexcept { passes_ = 0, waiting_since_ = 0; }
    // After a pass that moved nothing. Gives the CPU away when `may_rest`. Throws Error(failure) as Executor::start. `calls` are all slots.
    void idle(std::span<const Call> calls, bool may_rest);
    // A message or the record of `peer` for `call` has this other digest.
    [[noreturn]] void report_mismatch(const Call& call, Rank peer, std::uint64_t digest);
    // The line about a message of `peer` that is unread at the end.
    std::string left_over(Rank peer) const;

private:
    void inspect(std::span<const Call> calls, std::int64_t now);
    void check_abort() const;
    void check_records(std::span<const Call> calls);
    void check_dead(std::span<const Call> calls);
    void check_reachable(std::span<const Call> calls);
    void report_late(std::span<const Call> calls, std::int64_t waited_ns);
    std::string labelled(const std::string& text) const;  // with the communicator's name
    [[noreturn]] void fail(const std::string& reason);

    Transport& transport_;
    const ExecutorOptions& options_;
    std::uint64_t passes_ = 0;        // in a row that moved nothing
    std::int64_t waiting_since_ = 0;  // 0 until the clock was read
    std::int64_t next_inspection_ = 0;
    std::uint64_t late_reported_ = 0;  // call whose late ranks were named
    std::vector<Rank> suspects_;       // dead at the last inspection
};

}  // namespace attune::collectives

// The form for threads of one process: rounds behind one mutex.
#include "collectives/bootstrap.hpp"

#include "collectives/bootstrap_wire.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

// One all_gather. Lives until the slowest rank has copied it, so faster ranks may be in the next one.
struct Round {
    std::vector<Contribution> contributions;
    std::size_t arrived = 0;
    std::string abandoned;  // why a rank gave up waiting: then nobody completes it any more

    explicit Round(std::size_t size) : contributions(size) {}
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;
    ~Round() {
        for (Contribution& contribution : contributions)
            close_all(contribution.descriptors);
    }
    bool complete() const noexcept { return arrived == contributions.size(); }
};

struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t size = 0;
    std::shared_ptr<Round> round;
    std::optional<Rank> left;  // a rank whose bootstrap is gone cannot contribute any more
};

class LocalBootstrap final : public Bootstrap {
public:
    LocalBootstrap(Rank rank, std::shared_ptr<Meeting> meeting, std::chrono::milliseconds patience)
        : rank_(rank), meeting_(std::move(meeting)), patience_(patience) {}

    ~LocalBootstrap() override {
        const std::lock_guard lock(meeting_->mutex);
        if (!meeting_->left) meeting_->left = rank_;
        meeting_->changed.notify_all();
    }

    Rank rank() const noexcept override { return rank_; }
    int size() const noexcept override { return static_cast<int>(meeting_->size); }

    bool fails_everywhere() const noexcept override { return true; }

    std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
        check_limits(bytes, descriptors);
        std::vector<int> copies = duplicate_all(descriptors);
        const std::shared_ptr<Round> round = complete_round({{bytes.begin(), bytes.end()}, std::move(copies)});
        std::vector<Contribution> all;
        for (const Contribution& contribution : round->contributions)
            all.push_back({contribution.bytes, duplicate_all(contribution.descriptors)});
        return all;
    }

private:
    std::shared_ptr<Round> complete_round(Contribution own) {
        std::unique_lock lock(meeting_->mutex);
        const std::shared_ptr<Round> round = meeting_->round;
        if (!round->abandoned.empty()) throw failure(round->abandoned);
        round->contributions[static_cast<std::size_t>(rank_)] = std::move(own);
        ++round->arrived;
        if (round->complete()) {
            meeting_->round = std::make_shared<Round>(meeting_->size);
            meeting_->changed.notify_all();
            return round;
        }
        const auto decided = [&] { return round->complete() || !round->abandoned.empty() || meeting_->left; };
        const bool woken = meeting_->changed.wait_for(lock, patience_, decided);
        if (round->complete()) return round;
        if (round->abandoned.empty()) {
            const double seconds = std::chrono::duration<double>(patience_).count();
            round->abandoned = woken ? fmt::format("rank {} has ended", *meeting_->left) : fmt::format("not all ranks arrived within {} s", seconds);
            meeting_->changed.notify_all();
        }
        throw failure(round->abandoned);
    }

    Error failure(std::string_view what) const {
        return Error(ErrorCode::failure, fmt::format("rank {} of {} cannot meet the others: {}", rank_, size(), what));
    }

    Rank rank_;
    std::shared_ptr<Meeting> meeting_;
    std::chrono::milliseconds patience_;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int size, std::chrono::milliseconds patience) {
    if (size < 1) throw Error(ErrorCode::usage, fmt::format("{} ranks make no team; at least 1 is needed", size));
    const auto meeting = std::make_shared<Meeting>();
    meeting->size = static_cast<std::size_t>(size);
    meeting->round = std::make_shared<Round>(meeting->size);
    std::vector<std::unique_ptr<Bootstrap>> bootstraps;
    for (Rank rank = 0; rank < size; ++rank)
        bootstraps.push_back(std::make_unique<LocalBootstrap>(rank, meeting, patience));
    return bootstraps;
}

}  // namespace attune::collectives

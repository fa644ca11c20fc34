#include "tuner/arena_driver.hpp"

#include "libcore/crypto.hpp"
#include "libcore/error.hpp"
#include "libcore/samples.hpp"
#include "tuner/engine/work_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attune::tuner {

namespace {

using engine::Command;
using engine::CommandKind;
using engine::Reply;

std::string random_id() {
    std::array<std::byte, 8> bytes;
    core::random_bytes(bytes);
    return core::hex(bytes);
}

// Per iteration: the last end minus the last start, over ranks; per call.
std::vector<double> call_times(engine::SharedArea& area, const std::vector<Reply>& replies) {
    const Reply& first = replies.front();
    double overhead = 0;
    for (const Reply& reply : replies)
        overhead = std::max(overhead, reply.overhead_ns);
    std::vector<double> times;
    for (std::uint64_t row = 0; row < first.rows; ++row) {
        std::int64_t start = area.starts(0)[row];
        std::int64_t end = area.ends(0)[row];
        for (int rank = 1; rank < area.ranks(); ++rank) {
            start = std::max(start, area.starts(rank)[row]);
            end = std::max(end, area.ends(rank)[row]);
        }
        const double per_call = static_cast<double>(end - start) / static_cast<double>(first.calls);
        times.push_back(std::max(per_call - overhead, 1.0));  // a clock tick at least: ratios need a positive time
    }
    return times;
}

// By rank: how long each was inside the call.
std::vector<std::vector<double>> rank_times(engine::SharedArea& area, const Reply& first) {
    std::vector<std::vector<double>> times(static_cast<std::size_t>(area.ranks()));
    for (int rank = 0; rank < area.ranks(); ++rank) {
        for (std::uint64_t row = 0; row < first.rows; ++row) {
            const auto spent = static_cast<double>(area.ends(rank)[row] - area.starts(rank)[row]);
            times[static_cast<std::size_t>(rank)].push_back(spent / static_cast<double>(first.calls));
        }
    }
    return times;
}

}  // namespace

void append(SampleResult& result, const SampleResult& more) {
    result.outcome = more.outcome;
    result.message = more.message;
    result.ns.insert(result.ns.end(), more.ns.begin(), more.ns.end());
    result.rank_ns.resize(std::max(result.rank_ns.size(), more.rank_ns.size()));
    for (std::size_t rank = 0; rank < more.rank_ns.size(); ++rank)
        result.rank_ns[rank].insert(result.rank_ns[rank].end(), more.rank_ns[rank].begin(), more.rank_ns[rank].end());
}

ArenaDriver::ArenaDriver(engine::SharedArea area, std::int64_t timeout_ns)
    : area_(std::move(area)), launch_(random_id()), timeout_ns_(timeout_ns), cap_ns_(timeout_ns) {}

ArenaDriver::Answers ArenaDriver::ask(const Command& command, std::int64_t cap_ns) {
    if (!alive_) return {CheckOutcome::failed, "the team of this arena has ended; launch a new one", {}};
    Answers answers = exchange(command, cap_ns);
    for (const Reply& reply : answers.replies) {
        if (answers.outcome != CheckOutcome::ok || reply.outcome != CheckOutcome::failed) continue;
        answers.outcome = CheckOutcome::failed;
        answers.message = reply.text;
    }
    if (answers.outcome != CheckOutcome::ok) alive_ = false;
    return answers;
}

void ArenaDriver::load(const Work& work) {
    const std::string text = engine::print_work(work);
    area_.write_text(text);
    Command command{.kind = CommandKind::load};
    command.text_bytes = text.size();
    const Answers answers = ask(command, timeout_ns_);
    if (answers.outcome != CheckOutcome::ok) throw core::Error(core::ErrorCode::failure, "cannot load the work into the arena: " + answers.message);
}

CheckResult ArenaDriver::check(std::size_t index) {
    Command command{.kind = CommandKind::check};
    command.index = index;
    const Answers answers = ask(command, cap_ns_);
    CheckResult result{answers.outcome, 0, answers.message};
    for (const Reply& reply : answers.replies) {
        if (answers.outcome != CheckOutcome::ok || reply.wrong == 0) continue;
        if (result.wrong == 0) result.message = reply.text;
        result.wrong += reply.wrong;
        result.outcome = CheckOutcome::wrong;
    }
    return result;
}

SampleResult ArenaDriver::sample_piece(std::size_t index, const SampleOptions& options) {
    Command command{.kind = CommandKind::sample};
    command.index = index;
    command.iterations = options.iterations;
    command.warm_up = options.warm_up;
    command.batch = options.batch;
    command.cache = options.cache;
    command.start = options.start;
    command.skew = options.skew;
    command.skew_ns = options.skew_ns;
    command.seed = options.seed;
    const Answers answers = ask(command, cap_ns_);
    SampleResult result;
    result.outcome = answers.outcome;
    result.message = answers.message;
    if (answers.outcome != CheckOutcome::ok) return result;
    result.batch = answers.replies.front().batch;
    result.ns = call_times(area_, answers.replies);
    if (options.per_rank) result.rank_ns = rank_times(area_, answers.replies.front());
    return result;
}

SampleResult ArenaDriver::sample(std::size_t index, const SampleOptions& options) {
    SampleOptions piece = options;
    piece.iterations = std::min<std::uint64_t>(options.iterations, engine::SharedArea::row_capacity);
    if (options.start == StartMode::streaming) piece.iterations = options.iterations;
    SampleResult result = sample_piece(index, piece);
    std::uint64_t done = piece.iterations;
    while (result.outcome == CheckOutcome::ok && done < options.iterations && !interrupted()) {
        piece.iterations = std::min<std::uint64_t>(options.iterations - done, engine::SharedArea::row_capacity);
        piece.batch = result.batch;
        append(result, sample_piece(index, piece));
        done += piece.iterations;
    }
    return result;
}

double ArenaDriver::copy_ns(std::uint64_t bytes) {
    Command command{.kind = CommandKind::copy};
    command.bytes = bytes;
    const Answers answers = ask(command, timeout_ns_);
    if (answers.outcome != CheckOutcome::ok) throw core::Error(core::ErrorCode::failure, "cannot copy memory in the arena: " + answers.message);
    const std::vector<double> times = call_times(area_, answers.replies);
    return times.empty() ? 0 : core::median(times);
}

double ArenaDriver::ping() {
    const Answers answers = ask(Command{.kind = CommandKind::ping}, timeout_ns_);
    double largest = 0;
    for (const Reply& reply : answers.replies)
        largest = std::max(largest, reply.round_trip_ns);
    return largest;
}

}  // namespace attune::tuner

// Batches of messages in any program order that non-blocking sends and receives with one wait at the end would complete: all are proved, under every
// model of sending.
#include "collectives/amounts.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace attune::collectives {
namespace {

// Every rank's sends and receives in an order of its own; the k-th send of a to b and the k-th receive at b of a are the same message. With one length for all,
// every send reads the same slice, so that the plan makes multicasts of them.
Problem random_batch(int ranks, std::uint32_t seed, bool one_length) {
    std::mt19937 random(seed);
    std::map<std::pair<Rank, Rank>, std::vector<std::uint64_t>> messages;
    std::vector<std::vector<Transfer>> programs(static_cast<std::size_t>(ranks));
    for (Rank from = 0; from < ranks; ++from) {
        for (Rank to = 0; to < ranks; ++to) {
            for (std::uint32_t i = random() % 4; i-- > 0;) {
                messages[{from, to}].push_back(one_length ? 5 : random() % 7);
                programs[static_cast<std::size_t>(from)].push_back({true, to, 0, 0, from});
                programs[static_cast<std::size_t>(to)].push_back({false, from, 0, 0, to});
            }
        }
    }
    Amounts amounts;
    for (std::vector<Transfer>& program : programs) {
        std::ranges::shuffle(program, random);
        std::map<std::pair<Rank, bool>, std::size_t> taken;
        std::uint64_t received = 0;
        for (Transfer& transfer : program) {
            const auto pair = transfer.is_send ? std::pair(transfer.rank, transfer.peer) : std::pair(transfer.peer, transfer.rank);
            transfer.count = messages[pair][taken[{transfer.peer, transfer.is_send}]++];
            transfer.offset = transfer.is_send ? 0 : received;
            if (!transfer.is_send) received += transfer.count;
            amounts.transfers.push_back(transfer);
        }
    }
    Problem problem;
    problem.collective = Collective::batch_send_recv;
    problem.ranks = ranks;
    problem.amounts = std::make_shared<const Amounts>(std::move(amounts));
    return problem;
}

std::string why(const Problem& batch, int channels) {
    std::vector<Schedule> schedules;
    std::vector<Plan> plans;
    for (Rank rank = 0; rank < batch.ranks; ++rank) {
        const Problem view = view_of(batch, rank);
        if (const auto reason = wrong_amounts(view, rank)) return *reason;
        schedules.push_back(generate(view, *find_algorithm(Collective::batch_send_recv, "linear"), {0, channels}, rank));
        plans.push_back(compile(view, schedules.back(), {}));
    }
    if (const auto reason = refute(batch, schedules)) return *reason;
    return refute(batch, plans).value_or("proved");
}

TEST(Batch, OfMessagesInAnyOrderIsProved) {
    for (int ranks = 1; ranks <= 7; ++ranks) {
        for (std::uint32_t seed = 0; seed < 30; ++seed) {
            for (const bool one_length : {false, true}) {
                const Problem batch = random_batch(ranks, seed, one_length);
                EXPECT_EQ(why(batch, 1), "proved") << ranks << " ranks, seed " << seed;
                EXPECT_EQ(why(batch, 2), "proved") << ranks << " ranks, seed " << seed;
            }
        }
    }
}

}  // namespace
}  // namespace attune::collectives

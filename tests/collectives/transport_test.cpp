// The ring protocol over threads: order, windows, multicasts, and the records ranks publish.
#include "collectives/transport/transport.hpp"

#include "collectives/bootstrap.hpp"
#include "collectives/transport/ring_layout.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace attune::collectives {
namespace {

TransportOptions tiny() {
    TransportOptions options;
    options.staging_bytes = 1;
    return options;
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> result(bytes);
    for (std::size_t index = 0; index < bytes; ++index)
        result[index] = static_cast<std::byte>(index * 31 + seed * 7 + index / 256);
    return result;
}

Message message_of(const std::vector<std::byte>& payload, bool inline_message) {
    return {.payload = payload, .digest = 42, .inline_message = inline_message};
}

// Takes the front message of a lane and compares it.
bool receive(Transport& transport, const Lane& lane, const std::vector<std::byte>& expected, bool inline_message) {
    Incoming incoming;
    if (!transport.peek(lane, expected.size(), inline_message, incoming)) return false;
    const bool equal = incoming.digest == 42 && (expected.empty() || std::memcmp(incoming.payload, expected.data(), expected.size()) == 0);
    transport.release(lane);
    return equal;
}

TEST(RingLayout, GivesEveryLaneAFragmentAndHalvesTheShare) {
    for (const int ranks : {1, 2, 9, 64, 500}) {
        for (const std::uint64_t staging : {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{64} << 20, std::uint64_t{4} << 30}) {
            TransportOptions options;
            options.staging_bytes = staging;
            const RingLayout layout = RingLayout::make(ranks, options);
            EXPECT_GE(layout.lane_fragments, 1U);
            EXPECT_GE(layout.fragment_bytes, 4096U);
            EXPECT_LE(layout.fragment_bytes, 256U << 10);
            EXPECT_EQ(layout.fragment_bytes & (layout.fragment_bytes - 1), 0U);
            const std::uint64_t staged = layout.lanes() * layout.lane_fragments * layout.fragment_bytes;
            EXPECT_TRUE(staged <= staging || layout.lane_fragments * layout.fragment_bytes == 4096) << ranks << " " << staging;
            EXPECT_TRUE(staging / layout.lanes() < 8192 || layout.lane_fragments >= 2);
        }
    }
}

TEST(RingLayout, RegionsDoNotOverlapAndAreAligned) {
    const RingLayout layout = RingLayout::make(3, {});
    for (std::uint64_t lane = 0; lane < layout.lanes(); ++lane) {
        EXPECT_EQ(layout.headers(lane) % cache_line, 0U);
        EXPECT_EQ(layout.inline_area(lane) % cache_line, 0U);
        EXPECT_EQ(layout.fragments(lane) % 4096, 0U);
    }
    EXPECT_GE(layout.headers(0), sizeof(Control));
    EXPECT_LE(layout.headers(layout.lanes() - 1) + ring_lines * sizeof(HeaderLine), layout.acknowledgement(0));
    EXPECT_LE(layout.acknowledgement(layout.lanes() - 1) + sizeof(CounterLine), layout.inline_area(0));
    EXPECT_LE(layout.inline_area(layout.lanes() - 1) + ring_lines * Transport::inline_limit, layout.fragments(0));
}

TEST(RingLayout, RefusesImpossibleOptions) {
    EXPECT_THROW(RingLayout::make(0, {}), core::Error);
    for (const int channels : {0, max_channels + 1}) {
        TransportOptions options;
        options.channels = channels;
        EXPECT_THROW(RingLayout::make(2, options), core::Error);
    }
}

TEST(Ring, MessagesOfEveryLengthArriveInOrder) {
    const auto team = make_local_transports(2, tiny());
    for (unsigned round = 0; round < 100; ++round) {
        const std::size_t length = (round * 131) % 4097;
        const bool inline_message = length <= Transport::inline_limit && round % 3 != 0;
        const auto payload = pattern(length, round);
        ASSERT_TRUE(team[0]->post_send({1, 2, 1}, message_of(payload, inline_message)));
        ASSERT_TRUE(receive(*team[1], {0, 2, 1}, payload, inline_message)) << length;
    }
}

TEST(Ring, AnEmptyLaneHasNoMessageAndLanesAreSeparate) {
    const auto team = make_local_transports(3, tiny());
    const auto payload = pattern(8, 1);
    ASSERT_TRUE(team[0]->post_send({1, 0, 0}, message_of(payload, true)));
    Incoming incoming;
    for (const Lane& other : {Lane{0, 1, 0}, Lane{0, 0, 1}, Lane{2, 0, 0}})
        EXPECT_FALSE(team[1]->peek(other, 8, true, incoming));
    EXPECT_FALSE(team[2]->peek({0, 0, 0}, 8, true, incoming));
    EXPECT_TRUE(receive(*team[1], {0, 0, 0}, payload, true));
    EXPECT_FALSE(team[1]->peek({0, 0, 0}, 8, true, incoming));
}

TEST(Ring, AFullWindowRefusesUntilTheReceiverReleases) {
    const auto team = make_local_transports(2, tiny());
    const auto small = pattern(8, 1);
    for (std::uint64_t line = 0; line < ring_lines; ++line)
        ASSERT_TRUE(team[0]->post_send({1, 0, 0}, message_of(small, true)));
    EXPECT_FALSE(team[0]->post_send({1, 0, 0}, message_of(small, true)));
    ASSERT_TRUE(receive(*team[1], {0, 0, 0}, small, true));
    EXPECT_TRUE(team[0]->post_send({1, 0, 0}, message_of(small, true)));

    const auto large = pattern(4096, 2);
    ASSERT_TRUE(team[0]->post_send({1, 0, 1}, message_of(large, false)));
    EXPECT_FALSE(team[0]->post_send({1, 0, 1}, message_of(large, false))) << "the only fragment is unread";
    ASSERT_TRUE(receive(*team[1], {0, 0, 1}, large, false));
    EXPECT_TRUE(team[0]->post_send({1, 0, 1}, message_of(large, false)));
}

TEST(Ring, AMulticastFragmentIsFreeWhenAllItsPeersHaveReadIt) {
    const auto team = make_local_transports(4, tiny());
    const std::vector<Rank> peers = {1, 3};
    const auto first = pattern(4096, 1), second = pattern(4096, 2);
    ASSERT_TRUE(team[0]->post_send_many(peers, {0, 0, 0}, message_of(first, false)));
    ASSERT_TRUE(receive(*team[1], {0, 0, 0}, first, false));
    EXPECT_FALSE(team[0]->post_send_many(peers, {0, 0, 0}, message_of(second, false))) << "rank 3 has not read it";
    EXPECT_TRUE(team[0]->post_send({1, 0, 0}, message_of(second, false))) << "its own fragment is free";
    ASSERT_TRUE(receive(*team[3], {0, 0, 0}, first, false));
    ASSERT_TRUE(receive(*team[1], {0, 0, 0}, second, false));
    ASSERT_TRUE(team[0]->post_send_many(peers, {0, 0, 0}, message_of(second, false)));
    for (const std::size_t peer : {1U, 3U})
        EXPECT_TRUE(receive(*team[peer], {0, 0, 0}, second, false));
}

TEST(Ring, AnInlineMulticastReachesAllOrNobody) {
    const auto team = make_local_transports(3, tiny());
    const std::vector<Rank> peers = {1, 2};
    const auto payload = pattern(100, 1);
    for (std::uint64_t line = 0; line < ring_lines; ++line)
        ASSERT_TRUE(team[0]->post_send({2, 0, 0}, message_of(payload, true)));
    EXPECT_FALSE(team[0]->post_send_many(peers, {0, 0, 0}, message_of(payload, true)));
    Incoming incoming;
    EXPECT_FALSE(team[1]->peek({0, 0, 0}, 100, true, incoming));
    ASSERT_TRUE(receive(*team[2], {0, 0, 0}, payload, true));
    EXPECT_TRUE(team[0]->post_send_many(peers, {0, 0, 0}, message_of(payload, true)));
    EXPECT_TRUE(receive(*team[1], {0, 0, 0}, payload, true));
}

TEST(Ring, StreamsManyMessagesBetweenThreads) {
    const auto team = make_local_transports(2, tiny());
    constexpr unsigned messages = 20'000;
    const auto length_of = [](unsigned index) { return std::size_t{index * 37 % 300 + (index % 50 == 0 ? 3000 : 0)}; };
    std::thread sender([&] {
        for (unsigned index = 0; index < messages; ++index) {
            const auto payload = pattern(length_of(index), index);
            Message message = message_of(payload, payload.size() <= Transport::inline_limit);
            message.streaming = index % 100 == 0;
            while (!team[0]->post_send({1, 3, 0}, message))
                std::this_thread::yield();
        }
    });
    unsigned wrong = 0;
    for (unsigned index = 0; index < messages; ++index) {
        const auto expected = pattern(length_of(index), index);
        const bool inline_message = expected.size() <= Transport::inline_limit;
        Incoming incoming;
        while (!team[1]->peek({0, 3, 0}, expected.size(), inline_message, incoming))
            std::this_thread::yield();
        wrong += receive(*team[1], {0, 3, 0}, expected, inline_message) ? 0U : 1U;
    }
    sender.join();
    EXPECT_EQ(wrong, 0U);
}

CallRecord record_of(std::uint64_t call) {
    CallRecord record;
    record.call = call;
    record.digest = call * 1000;
    std::strcpy(record.text, ("call " + std::to_string(call)).c_str());
    return record;
}

TEST(Ring, PublishedRecordsKeepTheLastCallOfEachSlot) {
    const auto team = make_local_transports(2, tiny());
    EXPECT_EQ(team[1]->published(0).call, 0U);
    for (std::uint64_t call = 1; call <= 6; ++call)
        team[0]->publish(record_of(call));
    EXPECT_EQ(team[1]->published(0).call, 6U);
    EXPECT_STREQ(team[1]->published_in(0, 3).text, "call 3");
    EXPECT_EQ(team[1]->published_in(0, 1).digest, 5000U);
    team[0]->publish_completed(4);
    EXPECT_EQ(team[1]->completed(0), 4U);
    EXPECT_EQ(team[0]->completed(1), 0U);
}

TEST(Ring, RecordsReadWhileTheyAreWrittenAreNeverTorn) {
    const auto team = make_local_transports(2, tiny());
    std::thread writer([&] {
        for (std::uint64_t call = 4; call <= 40'000; call += 4)
            team[0]->publish(record_of(call));
    });
    std::uint64_t torn = 0;
    for (std::uint64_t seen = 0; seen < 40'000;) {
        const CallRecord record = team[1]->published_in(0, 0);
        torn += record.digest != record.call * 1000 || (record.call != 0 && std::string(record.text) != record_of(record.call).text) ? 1 : 0;
        seen = record.call;
        std::this_thread::yield();
    }
    writer.join();
    EXPECT_EQ(torn, 0U);
}

TEST(Ring, TheFirstAbortWinsAndLongTextsAreCut) {
    const auto team = make_local_transports(2, tiny());
    EXPECT_EQ(team[0]->abort_reason(), "");
    team[1]->abort(std::string(5000, 'x'));
    team[0]->abort("late");
    EXPECT_EQ(team[0]->abort_reason(), std::string(abort_text_bytes - 1, 'x'));
    EXPECT_TRUE(team[0]->dead_ranks().empty());
}

// What the exchange of transport 'local' consists of is known here to make it fail half way; that nothing leaks is for the address sanitizer.
TEST(LocalTransport, IsFreedWhenARankEndsWhileItIsHandedOut) {
    for (const Rank stays : {0, 1}) {
        auto bootstraps = make_local_bootstraps(2);
        const std::uint64_t process = static_cast<std::uint64_t>(::getpid());
        std::thread leaver([&] {
            auto& bootstrap = bootstraps[static_cast<std::size_t>(1 - stays)];
            (void)bootstrap->all_gather(std::as_bytes(std::span(&process, 1)), {});
            bootstrap.reset();
        });
        EXPECT_THROW(make_local_transport(*bootstraps[static_cast<std::size_t>(stays)], tiny()), core::Error);
        leaver.join();
    }
}

TEST(LocalTransport, IsHandedToEachRankOnce) {
    auto bootstraps = make_local_bootstraps(3);
    std::vector<std::unique_ptr<Transport>> transports(3);
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < transports.size(); ++rank)
        ranks.emplace_back([&, rank] { transports[rank] = make_local_transport(*bootstraps[rank], tiny()); });
    for (std::thread& rank : ranks)
        rank.join();
    for (std::size_t rank = 0; rank < transports.size(); ++rank)
        EXPECT_EQ(transports[rank]->rank(), static_cast<Rank>(rank));
}

}  // namespace
}  // namespace attune::collectives

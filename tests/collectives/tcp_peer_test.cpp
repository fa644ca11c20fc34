// Two ranks and the streams between them: windows, frames cut anywhere, places for messages, and peers that break the rules. Pairs of local sockets stand
// for the network.
#include "collectives/transport/tcp_peer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

constexpr TcpLayout layout{.ranks = 2, .channels = 2, .fragment_bytes = 4096, .window = 4};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> result(bytes);
    for (std::size_t index = 0; index < bytes; ++index)
        result[index] = static_cast<std::byte>(index * 31 + seed * 7 + index / 256);
    return result;
}

class TcpPeerTest : public testing::Test {
protected:
    void SetUp() override {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        writing_ = ends[0];
        raw_ = ends[1];
        first_ = std::make_unique<TcpPeer>(context_, core::UniqueFd(ends[0]), layout, told_to_first_);
        second_ = std::make_unique<TcpPeer>(context_, core::UniqueFd(ends[1]), layout, told_to_second_);
    }
    // The smallest buffer that the system allows: frames are cut all the time.
    void narrow() const {
        const int small = 1;
        ::setsockopt(writing_, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    }
    static Lane lane(std::size_t number) {
        return {0, static_cast<std::uint8_t>(number % in_flight_slots), static_cast<std::uint8_t>(number / in_flight_slots)};
    }
    static bool send(TcpPeer& from, std::size_t number, const std::vector<std::byte>& payload, std::uint64_t digest) {
        if (!from.ready(lane(number))) return false;
        from.send(lane(number), {.payload = payload, .digest = digest});
        return true;
    }
    // Waits for the next message of the lane; false when it is not the expected one.
    static bool take(TcpPeer& to, TcpPeer& from, std::size_t number, const std::vector<std::byte>& payload, std::uint64_t digest) {
        Incoming incoming;
        while (!to.peek(lane(number), incoming))
            from.flush();
        const bool equal = incoming.digest == digest && (payload.empty() || std::memcmp(incoming.payload, payload.data(), payload.size()) == 0);
        to.release(lane(number));
        return equal;
    }
    static std::array<int, 2> second_pair() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        return ends;
    }
    void write_raw(const void* bytes, std::size_t size) { ASSERT_EQ(::write(raw_, bytes, size), static_cast<ssize_t>(size)); }

    boost::asio::io_context context_;
    PeerState told_to_first_, told_to_second_;
    int writing_ = -1;
    int raw_ = -1;  // the second end, for what no connection would say
    std::unique_ptr<TcpPeer> first_, second_;
};

TEST_F(TcpPeerTest, LanesHaveWindowsOfTheirOwn) {
    const auto payload = pattern(100, 1);
    for (std::uint64_t message = 0; message < layout.window; ++message)
        EXPECT_TRUE(send(*first_, 0, payload, message));
    EXPECT_FALSE(send(*first_, 0, payload, 99));
    EXPECT_TRUE(send(*first_, 1, payload, 7));
    EXPECT_TRUE(take(*second_, *first_, 1, payload, 7));  // overtakes the lane that nobody reads
    for (std::uint64_t message = 0; message < layout.window; ++message)
        EXPECT_TRUE(take(*second_, *first_, 0, payload, message));
    EXPECT_TRUE(send(*first_, 0, payload, 99));  // half a window was given back
}

TEST_F(TcpPeerTest, MessagesOfEveryLengthArriveWholeThoughTheStreamCutsThemAnywhere) {
    narrow();
    std::mt19937 random(3);
    for (unsigned turn = 0; turn < 500; ++turn) {
        const std::size_t slot = random() % in_flight_slots;
        const auto payload = pattern(turn % 5 == 0 ? layout.fragment_bytes : random() % layout.fragment_bytes, turn);
        while (!send(*first_, slot, payload, turn))
            second_->receive_all();
        ASSERT_TRUE(take(*second_, *first_, slot, payload, turn)) << turn;
    }
}

TEST_F(TcpPeerTest, NothingIsTakenWhileEarlierBytesWait) {
    narrow();
    const auto payload = pattern(layout.fragment_bytes, 1);
    std::uint64_t sent = 0;
    while (send(*first_, sent / layout.window, payload, sent))
        ++sent;
    EXPECT_TRUE(first_->waiting());
    EXPECT_FALSE(first_->ready(lane(3)));
    for (std::uint64_t message = 0; message < sent; ++message)
        EXPECT_TRUE(take(*second_, *first_, message / layout.window, payload, message));
    EXPECT_TRUE(first_->ready(lane(3)));
}

TEST_F(TcpPeerTest, WhatAPeerTellsAboutItselfIsKept) {
    CallRecord record{.call = 6, .number = 5, .digest = 4};
    std::strcpy(record.text, "all_reduce");
    FrameHeader header;
    header.kind = FrameKind::record;
    header.slot = 2;
    first_->send_control(header, std::as_bytes(std::span(&record, 1)));
    header.kind = FrameKind::completed;
    header.digest = 5;
    first_->send_control(header, {});
    header.kind = FrameKind::abort;
    first_->send_control(header, std::as_bytes(std::span(std::string_view("enough"))));
    second_->receive_all();
    EXPECT_EQ(told_to_second_.records[2].call, 6U);
    EXPECT_STREQ(told_to_second_.records[2].text, "all_reduce");
    EXPECT_EQ(told_to_second_.completed, 5U);
    EXPECT_EQ(told_to_second_.abort_reason, "enough");
    EXPECT_FALSE(second_->gone(0));
}

TEST_F(TcpPeerTest, WhatWasSentBeforeTheEndIsStillRead) {
    const auto payload = pattern(1000, 1);
    EXPECT_TRUE(send(*first_, 0, payload, 1));
    first_.reset();
    second_->receive_all();
    EXPECT_TRUE(second_->gone(0));
    EXPECT_FALSE(second_->left());
    Incoming incoming;
    ASSERT_TRUE(second_->peek(lane(0), incoming));
    EXPECT_EQ(std::memcmp(incoming.payload, payload.data(), payload.size()), 0);
    EXPECT_FALSE(second_->ready(lane(0)));
    EXPECT_TRUE(second_->flush());
}

// It ends with bytes unread, which resets the stream; what this end tells it afterwards is lost, what it sent is not.
TEST_F(TcpPeerTest, ARankThatEndsIsReadToItsEndThoughItTakesNothingAnyMore) {
    const auto payload = pattern(1000, 1);
    FrameHeader header;
    header.kind = FrameKind::completed;
    second_->send_control(header, {});
    EXPECT_TRUE(send(*first_, 0, payload, 1));
    first_->say_goodbye();
    first_.reset();
    second_->send_control(header, {});
    EXPECT_FALSE(second_->ready(lane(1)));
    EXPECT_FALSE(second_->unconfirmed());
    second_->receive_all();
    Incoming incoming;
    ASSERT_TRUE(second_->peek(lane(0), incoming));
    EXPECT_EQ(std::memcmp(incoming.payload, payload.data(), payload.size()), 0);
    EXPECT_TRUE(second_->left());
}

TEST_F(TcpPeerTest, ARankThatEndsInGoodOrderIsToldFromOneThatIsLost) {
    first_->say_goodbye();
    second_->receive_all();
    EXPECT_TRUE(second_->left());
    EXPECT_FALSE(second_->gone(0));
}

TEST_F(TcpPeerTest, PiecesLandInTheirPlacesOnceTheyAreKnown) {
    const auto whole = pattern(3 * layout.fragment_bytes + 1000, 5);
    std::vector<std::byte> place(whole.size());
    const auto piece = [&](std::size_t index) {
        const std::size_t begin = index * layout.fragment_bytes, end = std::min(begin + layout.fragment_bytes, whole.size());
        return std::vector<std::byte>(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.begin() + static_cast<std::ptrdiff_t>(end));
    };
    EXPECT_TRUE(send(*first_, 1, piece(0), 9));
    second_->receive_all();  // came before anybody knew where it goes
    second_->offer(lane(1), {place, layout.fragment_bytes, 9});
    for (std::size_t index = 1; index < 4; ++index)
        EXPECT_TRUE(send(*first_, 1, piece(index), 9));
    for (std::size_t index = 0; index < 5; ++index) {
        Incoming incoming;
        if (index == 3) {
            EXPECT_TRUE(send(*first_, 1, piece(0), 9));  // of the next message
        }
        while (!second_->peek(lane(1), incoming))
            first_->flush();
        const std::vector<std::byte> expected = piece(index % 4);
        EXPECT_EQ(std::memcmp(incoming.payload, expected.data(), expected.size()), 0) << index;
        const bool inside = incoming.payload >= place.data() && incoming.payload < place.data() + place.size();
        EXPECT_EQ(inside, index >= 1 && index < 4) << index;
        if (inside) {
            EXPECT_EQ(incoming.payload, place.data() + index * layout.fragment_bytes);
        }
        second_->release(lane(1));
    }
}

TEST_F(TcpPeerTest, MessagesOfAnotherCallOrLengthStayOutOfThePlace) {
    for (const bool other_call : {true, false}) {
        std::vector<std::byte> place(layout.fragment_bytes);
        second_->offer(lane(0), {place, layout.fragment_bytes, 9});
        const auto payload = pattern(other_call ? layout.fragment_bytes : 100, 1);
        EXPECT_TRUE(send(*first_, 0, payload, other_call ? 8 : 9));
        EXPECT_TRUE(take(*second_, *first_, 0, payload, other_call ? 8 : 9));
        EXPECT_EQ(place, std::vector<std::byte>(layout.fragment_bytes));
    }
}

// The owner of the place may free it then.
TEST_F(TcpPeerTest, NothingLandsInAPlaceThatWasWithdrawn) {
    auto place = std::make_unique<std::vector<std::byte>>(layout.fragment_bytes);
    second_->offer(lane(0), {*place, layout.fragment_bytes, 9});
    const auto payload = pattern(layout.fragment_bytes, 3);
    FrameHeader header;
    header.length = static_cast<std::uint32_t>(payload.size());
    header.digest = 9;
    ASSERT_EQ(::write(writing_, &header, sizeof header), static_cast<ssize_t>(sizeof header));
    ASSERT_EQ(::write(writing_, payload.data(), 1000), 1000);
    second_->receive_all();
    EXPECT_EQ(std::memcmp(place->data(), payload.data(), 1000), 0);
    second_->withdraw();
    place.reset();
    ASSERT_EQ(::write(writing_, payload.data() + 1000, payload.size() - 1000), static_cast<ssize_t>(payload.size() - 1000));
    second_->receive_all();
    EXPECT_FALSE(second_->gone(0));
}

TEST_F(TcpPeerTest, AChannelMovesToItsOwnStreamWithoutOvertakingItself) {
    const auto ends = second_pair();
    constexpr std::size_t number = in_flight_slots + 2;
    for (std::uint64_t message = 0; message < 100; ++message) {
        if (message == 10) first_->add(1, core::UniqueFd(ends[0]));
        if (message == 20) second_->add(1, core::UniqueFd(ends[1]));
        const auto payload = pattern(message * 11, static_cast<unsigned>(message));
        ASSERT_TRUE(send(*first_, number, payload, message));
        ASSERT_TRUE(send(*first_, 2, payload, message));  // the other channel stays
        ASSERT_TRUE(take(*second_, *first_, number, payload, message));
        ASSERT_TRUE(take(*second_, *first_, 2, payload, message));
        ASSERT_TRUE(send(*second_, number, payload, message));
        ASSERT_TRUE(take(*first_, *second_, number, payload, message));
    }
    const auto moved = [](const TcpPeer& peer) {
        std::size_t routes = 0;
        peer.for_each_connection([&](const TcpConnection& connection) { routes += connection.heard() ? 1 : 0; });
        return routes;
    };
    EXPECT_EQ(moved(*first_), 2U);
    EXPECT_EQ(moved(*second_), 2U);
    // Nothing of a rank that left is on its way on any of its streams.
    first_->say_goodbye();
    EXPECT_FALSE(second_->left());
    second_->receive_all();
    EXPECT_TRUE(second_->left());
}

// The other end never came to hold it: that is no loss.
TEST_F(TcpPeerTest, AFurtherStreamThatEndsUnheardIsNoLoss) {
    const auto ends = second_pair();
    first_->add(1, core::UniqueFd(ends[0]));
    ::close(ends[1]);
    const auto payload = pattern(100, 1);
    for (std::uint64_t message = 0; message < 5; ++message) {
        ASSERT_TRUE(send(*first_, in_flight_slots, payload, message));
        ASSERT_TRUE(take(*second_, *first_, in_flight_slots, payload, message));
    }
    first_->receive_all();
    EXPECT_FALSE(first_->gone(0));
}

// Each ends the connection instead of writing outside the window.
TEST_F(TcpPeerTest, FramesThatBreakTheRulesEndTheStream) {
    FrameHeader too_long, no_slot, no_channel, no_kind, given_too_much, long_control;
    too_long.length = layout.fragment_bytes + 1;
    no_slot.slot = in_flight_slots;
    no_channel.channel = layout.channels;
    no_kind.kind = static_cast<FrameKind>(200);
    given_too_much.consumed = 1;
    long_control.kind = FrameKind::abort;
    long_control.length = control_payload_limit + 1;
    for (const FrameHeader& header : {too_long, no_slot, no_channel, no_kind, given_too_much, long_control}) {
        SetUp();
        write_raw(&header, sizeof header);
        first_->receive_all();
        EXPECT_TRUE(first_->gone(0)) << header.length;
    }
    SetUp();
    const FrameHeader empty;
    for (std::uint64_t message = 0; message <= layout.window; ++message)
        write_raw(&empty, sizeof empty);
    first_->receive_all();
    EXPECT_TRUE(first_->gone(0));
}

}  // namespace
}  // namespace attune::collectives

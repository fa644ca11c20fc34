// One stream by itself: windows, frames cut anywhere, and peers that break the rules. A pair of local sockets stands for the network.
#include "collectives/transport/tcp_connection.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

constexpr TcpLayout layout{.ranks = 2, .channels = 1, .fragment_bytes = 4096, .window = 4};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> result(bytes);
    for (std::size_t index = 0; index < bytes; ++index)
        result[index] = static_cast<std::byte>(index * 31 + seed * 7 + index / 256);
    return result;
}

class TcpConnectionTest : public testing::Test {
protected:
    void SetUp() override {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        writing_ = ends[0];
        raw_ = ends[1];
        first_ = std::make_unique<TcpConnection>(context_, core::UniqueFd(ends[0]), layout, told_to_first_);
        second_ = std::make_unique<TcpConnection>(context_, core::UniqueFd(ends[1]), layout, told_to_second_);
    }
    // The smallest buffer that the system allows: frames are cut all the time.
    void narrow() const {
        const int small = 1;
        ::setsockopt(writing_, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    }
    bool send(TcpConnection& from, std::size_t slot, const std::vector<std::byte>& payload, std::uint64_t digest) {
        if (!from.ready(slot)) return false;
        from.send(slot, {.payload = payload, .digest = digest});
        return true;
    }
    // Waits for the next message of the slot; false when it is not the expected one.
    bool take(TcpConnection& to, TcpConnection& from, std::size_t slot, const std::vector<std::byte>& payload, std::uint64_t digest) {
        Incoming incoming;
        while (!to.peek(slot, incoming))
            from.flush();
        const bool equal = incoming.digest == digest && (payload.empty() || std::memcmp(incoming.payload, payload.data(), payload.size()) == 0);
        to.release(slot);
        return equal;
    }
    void write_raw(const void* bytes, std::size_t size) { ASSERT_EQ(::write(raw_, bytes, size), static_cast<ssize_t>(size)); }

    boost::asio::io_context context_;
    PeerState told_to_first_, told_to_second_;
    int writing_ = -1;
    int raw_ = -1;  // the second end, for what no connection would say
    std::unique_ptr<TcpConnection> first_, second_;
};

TEST_F(TcpConnectionTest, LanesHaveWindowsOfTheirOwn) {
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

TEST_F(TcpConnectionTest, MessagesOfEveryLengthArriveWholeThoughTheStreamCutsThemAnywhere) {
    narrow();
    std::mt19937 random(3);
    for (unsigned turn = 0; turn < 500; ++turn) {
        const std::size_t slot = random() % in_flight_slots;
        const auto payload = pattern(turn % 5 == 0 ? layout.fragment_bytes : random() % layout.fragment_bytes, turn);
        while (!send(*first_, slot, payload, turn))
            second_->receive();
        ASSERT_TRUE(take(*second_, *first_, slot, payload, turn)) << turn;
    }
}

TEST_F(TcpConnectionTest, NothingIsTakenWhileEarlierBytesWait) {
    narrow();
    const auto payload = pattern(layout.fragment_bytes, 1);
    std::uint64_t sent = 0;
    while (send(*first_, sent / layout.window, payload, sent))
        ++sent;
    EXPECT_TRUE(first_->waiting());
    EXPECT_FALSE(first_->ready(3));
    for (std::uint64_t message = 0; message < sent; ++message)
        EXPECT_TRUE(take(*second_, *first_, message / layout.window, payload, message));
    EXPECT_TRUE(first_->ready(3));
}

TEST_F(TcpConnectionTest, WhatAPeerTellsAboutItselfIsKept) {
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
    EXPECT_FALSE(second_->closed());
}

TEST_F(TcpConnectionTest, WhatWasSentBeforeTheEndIsStillRead) {
    const auto payload = pattern(1000, 1);
    EXPECT_TRUE(send(*first_, 0, payload, 1));
    first_.reset();
    second_->receive_all();
    EXPECT_TRUE(second_->closed());
    Incoming incoming;
    ASSERT_TRUE(second_->peek(0, incoming));
    EXPECT_EQ(std::memcmp(incoming.payload, payload.data(), payload.size()), 0);
    EXPECT_FALSE(second_->ready(0));
    EXPECT_TRUE(second_->flush());
}

// Each ends the connection instead of writing outside the window.
TEST_F(TcpConnectionTest, FramesThatBreakTheRulesEndTheStream) {
    FrameHeader too_long, no_slot, no_kind, given_too_much, long_control;
    too_long.length = layout.fragment_bytes + 1;
    no_slot.slot = in_flight_slots;
    no_kind.kind = static_cast<FrameKind>(200);
    given_too_much.consumed = 1;
    long_control.kind = FrameKind::abort;
    long_control.length = control_payload_limit + 1;
    for (const FrameHeader& header : {too_long, no_slot, no_kind, given_too_much, long_control}) {
        SetUp();
        write_raw(&header, sizeof header);
        first_->receive();
        EXPECT_TRUE(first_->closed()) << header.length;
    }
    SetUp();
    const FrameHeader empty;
    for (std::uint64_t message = 0; message <= layout.window; ++message)
        write_raw(&empty, sizeof empty);
    first_->receive_all();
    EXPECT_TRUE(first_->closed());
}

}  // namespace
}  // namespace attune::collectives

// Who is let in: ranks that know the job's secret, whatever strangers do meanwhile.
#include "collectives/transport/tcp_listener.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

namespace attune::collectives {
namespace {

using std::chrono::seconds;

TcpDeadline in(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
}

TcpJob job_of(std::string_view secret, std::uint64_t number = 7) {
    return {core::sha256(secret), number};
}

TcpSeat seat(Rank from, int channel = 0) {
    return {from, 0, TcpRole::data, channel};
}

void say(int socket, std::string_view text) {
    EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string what(const std::function<void()>& act) {
    try {
        act();
    } catch (const core::Error& error) {
        return error.what();
    }
    return "nothing";
}

// A listener on loopback that waits for `seats` on a thread of its own.
class Door {
public:
    Door(const TcpJob& job, std::vector<TcpSeat> seats, std::chrono::milliseconds patience = seconds(60))
        : listener_({loopback_address, 0}, [this](const std::string& line) { lines_ += line + "\n"; }),
          thread_([this, job, seats = std::move(seats), patience] {
              try {
                  sockets_ = listener_.accept(job, seats, in(patience));
              } catch (const core::Error& error) {
                  error_ = error.what();
              }
          }) {}
    ~Door() {
        if (thread_.joinable()) thread_.join();
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    TcpEndpoint endpoint() const { return listener_.endpoint(); }
    void wait() { thread_.join(); }
    const std::string& lines() const { return lines_; }
    const std::string& error() const { return error_; }
    const std::vector<core::UniqueFd>& sockets() const { return sockets_; }

private:
    std::string lines_, error_;
    std::vector<core::UniqueFd> sockets_;
    TcpListener listener_;
    std::thread thread_;
};

TEST(TcpHandshake, RanksOfOneJobFindTheirSeatsInAnyOrder) {
    const TcpJob job = job_of("secret");
    Door door(job, {seat(1), seat(2), seat(2, 1)});
    const core::UniqueFd third = dial(door.endpoint(), job, seat(2, 1), in(seconds(60)));
    const core::UniqueFd second = dial(door.endpoint(), job, seat(2), in(seconds(60)));
    const core::UniqueFd first = dial(door.endpoint(), job, seat(1), in(seconds(60)));
    say(second.get(), "2");
    door.wait();
    EXPECT_EQ(door.lines(), "");
    ASSERT_EQ(door.sockets().size(), 3U);
    EXPECT_EQ(remote_endpoint(door.sockets()[0].get()).port, local_endpoint(first.get()).port);
    EXPECT_EQ(remote_endpoint(door.sockets()[2].get()).port, local_endpoint(third.get()).port);
    char letter = 0;  // what follows the handshake is not swallowed by it
    ASSERT_TRUE(await_descriptor(door.sockets()[1].get(), POLLIN, in(seconds(60))));
    EXPECT_EQ(::recv(door.sockets()[1].get(), &letter, 1, 0), 1);
    EXPECT_EQ(letter, '2');
}

TEST(TcpHandshake, StrangersDoNotDisturbAndGetOneLineEach) {
    const TcpJob job = job_of("secret");
    Door door(job, {seat(1)});
    const core::UniqueFd silent = connect_to(door.endpoint(), in(seconds(60)));
    {
        const core::UniqueFd garbage = connect_to(door.endpoint(), in(seconds(60)));
        say(garbage.get(), std::string(200, 'x'));
        const core::UniqueFd half = connect_to(door.endpoint(), in(seconds(60)));
        say(half.get(), "ATTUNETC");
    }
    EXPECT_NE(what([&] { dial(door.endpoint(), job_of("guess"), seat(1), in(seconds(60))); }).find("is of another job"), std::string::npos);
    EXPECT_NE(what([&] { dial(door.endpoint(), job_of("secret", 8), seat(1), in(seconds(60))); }).find("is of another job"), std::string::npos);
    const core::UniqueFd real = dial(door.endpoint(), job, seat(1), in(seconds(60)));
    door.wait();
    EXPECT_EQ(door.error(), "");
    EXPECT_EQ(std::ranges::count(door.lines(), '\n'), 4) << door.lines();
    EXPECT_NE(door.lines().find("it does not speak attune's protocol"), std::string::npos) << door.lines();
    EXPECT_NE(door.lines().find("it closed the connection"), std::string::npos) << door.lines();
}

// It takes the listener's side of the handshake; only the secret makes a proof.
TEST(TcpHandshake, AConnectingRankAsksForAProofToo) {
    const core::UniqueFd listener = listen_on({loopback_address, 0});
    std::thread impostor([&] {
        ASSERT_TRUE(await_descriptor(listener.get(), POLLIN, in(seconds(60))));
        TcpReception reception(core::UniqueFd(::accept(listener.get(), nullptr, nullptr)), job_of("guess"));
        ASSERT_TRUE(await_descriptor(reception.descriptor(), POLLIN, in(seconds(60))));
        EXPECT_EQ(reception.advance(), TcpState::waiting);
        ASSERT_TRUE(await_descriptor(reception.descriptor(), POLLIN, in(seconds(60))));
        EXPECT_EQ(reception.advance(), TcpState::refused);
    });
    const std::string message = what([&] { dial(local_endpoint(listener.get()), job_of("secret"), seat(1), in(seconds(60))); });
    impostor.join();
    EXPECT_NE(message.find("is of another job"), std::string::npos) << message;
}

TEST(TcpHandshake, ASeatIsTakenOnceAndOnlyByWhoIsExpected) {
    const TcpJob job = job_of("secret");
    Door door(job, {seat(1), seat(2)});
    const core::UniqueFd first = dial(door.endpoint(), job, seat(1), in(seconds(60)));
    const core::UniqueFd again = dial(door.endpoint(), job, seat(1), in(seconds(60)));
    const core::UniqueFd other = dial(door.endpoint(), job, {2, 0, TcpRole::bootstrap, 0}, in(seconds(60)));
    const core::UniqueFd second = dial(door.endpoint(), job, seat(2), in(seconds(60)));
    door.wait();
    EXPECT_EQ(door.error(), "");
    EXPECT_EQ(remote_endpoint(door.sockets()[1].get()).port, local_endpoint(second.get()).port);
}

TEST(TcpHandshake, WhoDoesNotComeIsNamed) {
    Door door(job_of("secret"), {seat(1), seat(3)}, std::chrono::milliseconds(1));
    door.wait();
    EXPECT_NE(door.error().find("no connection from rank 1, 3"), std::string::npos) << door.error();
}

TEST(TcpHandshake, NobodyListeningIsAnErrorAtTheDeadline) {
    const TcpEndpoint free = local_endpoint(listen_on({loopback_address, 0}).get());
    EXPECT_NE(what([&] { connect_to(free, in(std::chrono::milliseconds(50))); }).find("cannot connect to 127.0.0.1:"), std::string::npos);
}

TEST(TcpAddress, EndpointsAreTheSameAfterPrintingAndReading) {
    for (const TcpEndpoint& endpoint : {TcpEndpoint{"127.0.0.1", 1}, TcpEndpoint{"::1", 65535}, TcpEndpoint{"fe80::1%lo", 80}}) {
        const TcpEndpoint read = TcpEndpoint::parse(endpoint.text());
        EXPECT_EQ(read.address, endpoint.address);
        EXPECT_EQ(read.port, endpoint.port);
    }
    for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"})
        EXPECT_THROW(TcpEndpoint::parse(text), core::Error) << text;
}

TEST(TcpAddress, InterfacesAreFoundByNameAndAddress) {
    EXPECT_EQ(interface_address("lo"), "127.0.0.1");
    EXPECT_EQ(interface_address("127.0.0.1"), "127.0.0.1");
    EXPECT_THROW(interface_address("nowhere0"), core::Error);
    EXPECT_TRUE(is_loopback(resolve("127.0.0.1")));
    EXPECT_THROW(resolve("no such host"), core::Error);
}

}  // namespace
}  // namespace attune::collectives

// Ranks that meet by TCP: what they contribute reaches all, and who cannot prove the secret stays outside.
#include "collectives/bootstrap_tcp.hpp"
#include "collectives/bootstrap_tcp_wire.hpp"
#include "collectives/node_map.hpp"
#include "collectives/transport/tcp_address.hpp"
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "tests/support/communicator_cases.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

constexpr std::uint16_t port = 29500;

// All of 127/8 is this host, so tests that run at the same time do not meet each other.
TcpMeetingPoint meeting(Rank rank, int size) {
    const pid_t process = ::getpid();
    TcpMeetingPoint where;
    where.rank = rank;
    where.size = size;
    where.address = "127." + std::to_string(1 + (process >> 16) % 250) + "." + std::to_string((process >> 8) % 256) + "." + std::to_string(process % 256);
    where.port = port;
    return where;
}

std::string text_of(const Contribution& contribution) {
    return {reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size()};
}

std::string all_texts(Bootstrap& bootstrap, const std::string& own) {
    std::string all;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(own)), {}))
        all += text_of(contribution) + ";";
    return all;
}

class TcpBootstrapRanks : public testing::TestWithParam<int> {};

TEST_P(TcpBootstrapRanks, GiveEachOtherBytesInRankOrder) {
    std::string expected;
    for (int rank = 0; rank < GetParam(); ++rank)
        expected += std::string(static_cast<std::size_t>(rank), 'x') + std::to_string(rank) + ";";
    const auto thrown = test::on_threads(GetParam(), [&](int rank) {
        const auto bootstrap = make_tcp_bootstrap(meeting(rank, GetParam()));
        EXPECT_EQ(bootstrap->rank(), rank);
        EXPECT_EQ(bootstrap->size(), GetParam());
        EXPECT_EQ(all_texts(*bootstrap, std::string(static_cast<std::size_t>(rank), 'x') + std::to_string(rank)), expected);
        EXPECT_EQ(all_texts(*bootstrap, std::string(static_cast<std::size_t>(rank), 'x') + std::to_string(rank)), expected);
    });
    for (const std::string& what : thrown)
        EXPECT_EQ(what, "");
}

TEST_P(TcpBootstrapRanks, OpenEachOthersDescriptors) {
    const auto count = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()); };
    const auto before = count();
    const auto thrown = test::on_threads(GetParam(), [&](int rank) {
        const auto bootstrap = make_tcp_bootstrap(meeting(rank, GetParam()));
        core::UniqueFd memory(memfd_create("attune test", MFD_CLOEXEC));
        const std::string own = "of rank " + std::to_string(rank);
        core::write_all(memory.get(), std::as_bytes(std::span(own)), "a memfd");
        const int number = memory.get();
        // Rank 1 has none to give.
        const std::span<const int> given(&number, rank == 1 ? 0 : 1);
        const std::vector<Contribution> all = bootstrap->all_gather({}, given);
        memory.reset();
        for (int peer = 0; peer < GetParam(); ++peer) {
            const std::vector<int>& descriptors = all[static_cast<std::size_t>(peer)].descriptors;
            EXPECT_EQ(descriptors.size(), peer == 1 ? 0U : 1U);
            for (const int descriptor : descriptors) {
                const core::UniqueFd owned(descriptor);
                char text[32] = {};
                EXPECT_GT(::pread(descriptor, text, sizeof text - 1, 0), 0);
                EXPECT_EQ(std::string(text), "of rank " + std::to_string(peer));
            }
        }
    });
    for (const std::string& what : thrown)
        EXPECT_EQ(what, "");
    EXPECT_EQ(count(), before);
}

TEST_P(TcpBootstrapRanks, MakeCommunicatorsOfEveryTransport) {
    for (const char* transport : {"", "tcp", "mixed", "shm"}) {
        const auto thrown = test::on_threads(GetParam(), [&](int rank) {
            const auto bootstrap = make_tcp_bootstrap(meeting(rank, GetParam()));
            CommunicatorOptions options;
            options.transport = transport;
            if (options.transport == "mixed") options.node_map = NodeMap::blocks(GetParam(), 2).text();
            Communicator communicator(*bootstrap, options);
            const std::array<std::uint64_t, 2> counts = {1, 13};
            EXPECT_EQ(test::run_cases(communicator, counts), "");
        });
        for (const std::string& what : thrown)
            EXPECT_EQ(what, "") << transport;
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TcpBootstrapRanks, testing::Values(1, 2, 3, 5), testing::PrintToStringParamName());

TEST(TcpBootstrap, ASecretThatDiffersKeepsRanksApart) {
    const auto thrown = test::on_threads(2, [&](int rank) {
        TcpMeetingPoint where = meeting(rank, 2);
        where.secret = core::sha256(rank == 0 ? "one" : "another");
        where.patience = std::chrono::milliseconds(500);
        make_tcp_bootstrap(where);
    });
    EXPECT_NE(thrown[0].find("no connection from rank 1"), std::string::npos) << thrown[0];
    EXPECT_NE(thrown[1].find("is of another job; do all ranks have the same secret"), std::string::npos) << thrown[1];
}

TEST(TcpBootstrap, ASecretThatAllShareDoesNotTravelAndIsNotThatOfTheMeeting) {
    const auto thrown = test::on_threads(2, [&](int rank) {
        TcpMeetingPoint where = meeting(rank, 2);
        where.secret = core::sha256("shared");
        const auto bootstrap = make_tcp_bootstrap(where);
        ASSERT_TRUE(bootstrap->secret().has_value());
        EXPECT_NE(*bootstrap->secret(), *where.secret);
        const std::string digest = core::hex(*bootstrap->secret());
        EXPECT_EQ(all_texts(*bootstrap, digest), digest + ";" + digest + ";");
        EXPECT_TRUE(is_loopback(bootstrap->address())) << bootstrap->address();
    });
    for (const std::string& what : thrown)
        EXPECT_EQ(what, "");
}

TEST(TcpBootstrap, ARankThatEndsFailsTheExchangeOfAll) {
    const auto thrown = test::on_threads(3, [&](int rank) {
        const auto bootstrap = make_tcp_bootstrap(meeting(rank, 3));
        if (rank != 1) all_texts(*bootstrap, "here");
    });
    EXPECT_NE(thrown[0].find("rank 1 is gone"), std::string::npos) << thrown[0];
    EXPECT_EQ(thrown[1], "");
    EXPECT_NE(thrown[2].find("rank 1 is gone"), std::string::npos) << thrown[2];
}

TEST(TcpBootstrap, RefusesWhatCannotBe) {
    EXPECT_THROW(make_tcp_bootstrap(meeting(2, 2)), core::Error);
    EXPECT_THROW(make_tcp_bootstrap(meeting(-1, 2)), core::Error);
    TcpMeetingPoint open = meeting(0, 2);
    open.address = "192.0.2.1";  // a documentation address: never reached
    try {
        make_tcp_bootstrap(open);
        ADD_FAILURE();
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find("ATTUNE_SECRET_FILE"), std::string::npos) << error.what();
    }
}

TEST(TcpBootstrapWire, ContributionsAreTheSameAfterWritingAndReading) {
    std::vector<std::byte> bytes;
    for (int rank = 0; rank < 3; ++rank) {
        MeetingContribution one{{7, 100 + rank, static_cast<std::uint32_t>(rank), {4, 5, 6, 7}}, std::vector<std::byte>(static_cast<std::size_t>(rank * 10))};
        const auto written = serialize(one);
        bytes.insert(bytes.end(), written.begin(), written.end());
    }
    const auto read = parse_contributions(bytes, 3);
    EXPECT_EQ(read[2].bytes.size(), 20U);
    EXPECT_EQ(read[2].descriptors.process, 102);
    EXPECT_EQ(read[2].descriptors.count, 2U);
    EXPECT_THROW(parse_contributions(bytes, 2), core::Error);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut)
        EXPECT_THROW(parse_contributions(std::span(bytes).first(cut), 3), core::Error);
    std::memset(bytes.data(), 0xff, bytes.size());
    EXPECT_THROW(parse_contributions(bytes, 3), core::Error);
}

class SecretFile : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "attune-secret-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string file(std::size_t bytes, mode_t mode) const {
        const std::string path = folder_ + "/secret";
        core::replace_file(path, std::vector<std::byte>(bytes, std::byte{7}), 0600);
        ::chmod(path.c_str(), mode);
        return path;
    }
    static std::string refusal(const std::string& path) {
        try {
            read_secret_file(path);
        } catch (const core::Error& error) {
            return error.what();
        }
        return "accepted";
    }
    std::string folder_;
};

TEST_F(SecretFile, IsReadWhenItIsPrivateAndLongEnough) {
    EXPECT_EQ(refusal(file(32, 0600)), "accepted");
    EXPECT_EQ(refusal(file(4096, 0400)), "accepted");
    EXPECT_NE(read_secret_file(file(32, 0600)), read_secret_file(file(33, 0600)));
}

TEST_F(SecretFile, IsRefusedWhenOthersCanReadItOrItIsNoneAtAll) {
    EXPECT_NE(refusal(file(32, 0640)).find("run chmod 600"), std::string::npos);
    EXPECT_NE(refusal(file(31, 0600)).find("it has 31 bytes"), std::string::npos);
    EXPECT_NE(refusal(file(4097, 0600)).find("it has 4097 bytes"), std::string::npos);
    EXPECT_NE(refusal("/dev/null").find("no regular file"), std::string::npos);
    EXPECT_NE(refusal(folder_ + "/missing").find("missing"), std::string::npos);
    const std::string path = file(32, 0600);
    std::filesystem::create_symlink(path, folder_ + "/link");
    EXPECT_NE(refusal(folder_ + "/link"), "accepted");
}

}  // namespace
}  // namespace attune::collectives

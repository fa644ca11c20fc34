// Teams of real processes: bootstrap over the launcher, exit statuses, failures, binding, and nobody left behind.
#include "collectives/launcher.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

LaunchOptions options_for(int ranks, const std::string& mode, int chosen = -1) {
    LaunchOptions options;
    options.ranks = ranks;
    options.command = {ATTUNE_RANK_PROGRAM, mode, std::to_string(chosen)};
    options.capture_output = true;
    return options;
}

bool gone(pid_t pid) {
    return ::kill(pid, 0) != 0 && errno == ESRCH;
}

std::vector<pid_t> pids_of(const Team& team) {
    std::vector<pid_t> pids;
    for (int rank = 0; rank < team.size(); ++rank)
        pids.push_back(team.pid(rank));
    return pids;
}

// What the ranks print, with standard output of this process redirected for the time of the launch.
std::string output_of(LaunchOptions options) {
    options.capture_output = false;
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const int saved = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    std::fflush(stdout);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
    {
        Team team = Team::launch(options);
        EXPECT_EQ(team.wait(), 0);
    }
    ::dup2(saved, STDOUT_FILENO);
    ::close(saved);
    std::string text;
    char chunk[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(got));
    ::close(ends[0]);
    return text;
}

// Descriptors that any child of this process gets.
int inherited_descriptors() {
    int count = 0;
    for (int descriptor = 3; descriptor < 1024; ++descriptor) {
        const int flags = ::fcntl(descriptor, F_GETFD);
        count += flags >= 0 && (flags & FD_CLOEXEC) == 0 ? 1 : 0;
    }
    return count;
}

class Exchange : public testing::TestWithParam<int> {};
TEST_P(Exchange, GivesEveryRankAllBytesAndDescriptorsInRankOrder) {
    Team team = Team::launch(options_for(GetParam(), "exchange"));
    EXPECT_EQ(team.wait(), 0);
    EXPECT_EQ(team.exits().size(), static_cast<std::size_t>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Ranks, Exchange, testing::Values(1, 2, 3, 5, 8, 17, 64));

TEST(LauncherTest, ASecondBootstrapUsesTheSameSocket) {
    Team team = Team::launch(options_for(3, "twice"));
    EXPECT_EQ(team.wait(), 0);
}

TEST(LauncherTest, SixtyFourRanksFitInto1024Descriptors) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit small{1024, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
    LaunchOptions options = options_for(64, "exchange");
    options.tag_output = true;
    Team team = Team::launch(options);
    EXPECT_EQ(team.wait(), 0);
    ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(LauncherTest, RanksHearWithinASecondThatOneWasKilled) {
    Team team = Team::launch(options_for(4, "death", 2));
    EXPECT_EQ(team.wait(), 128 + SIGKILL);
    for (const RankExit& exit : team.exits())
        EXPECT_EQ(exit.status, exit.rank == 2 ? 128 + SIGKILL : 0) << "rank " << exit.rank;
}

TEST(LauncherTest, ARankThatGaveItsSocketAwayFailsTheOthers) {
    Team team = Team::launch(options_for(3, "close_socket", 1));
    team.serve([&] { return team.exits().size() == 2; }, std::chrono::steady_clock::now() + std::chrono::seconds(20));
    for (const RankExit& exit : team.exits())
        EXPECT_EQ(exit.status, 0) << "rank " << exit.rank;
    EXPECT_EQ(team.exits().size(), 2U);
}

TEST(LauncherTest, AWrongTeamSizeIsAnErrorOnAllRanks) {
    Team team = Team::launch(options_for(3, "disagree", 1));
    EXPECT_EQ(team.wait(), 0);
}

TEST(LauncherTest, ReturnsTheStatusOfTheFirstFailingRank) {
    Team failing = Team::launch(options_for(3, "fail", 1));
    EXPECT_EQ(failing.wait(), 9);
    Team signalled = Team::launch(options_for(3, "kill_self", 0));
    EXPECT_EQ(signalled.wait(), 128 + SIGUSR2);
}

TEST(LauncherTest, EndsRanksThatGoOnAfterAFailure) {
    Team team = Team::launch(options_for(3, "stubborn", 2));
    const std::vector<pid_t> pids = pids_of(team);
    EXPECT_EQ(team.wait(), 5);
    for (const RankExit& exit : team.exits())
        EXPECT_EQ(exit.status, exit.rank == 2 ? 5 : 128 + SIGTERM);
    for (const pid_t pid : pids)
        EXPECT_TRUE(gone(pid));
}

TEST(LauncherTest, NobodyIsLeftWhenATeamIsDestroyed) {
    std::vector<pid_t> pids;
    {
        const Team team = Team::launch(options_for(4, "stubborn"));
        pids = pids_of(team);
        EXPECT_FALSE(gone(pids[3]));
    }
    for (const pid_t pid : pids)
        EXPECT_TRUE(gone(pid));
}

TEST(LauncherTest, NobodyIsLeftWhenTheLauncherDies) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t launcher = ::fork();
    if (launcher == 0) {
        const Team team = Team::launch(options_for(2, "stubborn"));
        for (const pid_t pid : pids_of(team))
            if (::write(ends[1], &pid, sizeof pid) < 0) ::_exit(1);
        ::raise(SIGKILL);
    }
    ::close(ends[1]);
    pid_t ranks[2] = {};
    ASSERT_EQ(::read(ends[0], ranks, sizeof ranks[0]), static_cast<ssize_t>(sizeof ranks[0]));
    ASSERT_EQ(::read(ends[0], ranks + 1, sizeof ranks[1]), static_cast<ssize_t>(sizeof ranks[1]));
    ::close(ends[0]);
    ::waitpid(launcher, nullptr, 0);
    // Orphans are reaped by init, which takes its own time: dead (a zombie) is enough here.
    const auto dead = [](pid_t pid) {
        const std::string path = "/proc/" + std::to_string(pid) + "/stat";
        FILE* file = std::fopen(path.c_str(), "re");
        if (file == nullptr) return true;
        char text[256] = {};
        const bool read = std::fgets(text, sizeof text, file) != nullptr;
        std::fclose(file);
        const char* end = std::strrchr(text, ')');
        return !read || end == nullptr || end[2] == 'Z' || end[2] == 'X';
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!(dead(ranks[0]) && dead(ranks[1])) && std::chrono::steady_clock::now() < deadline)
        ::sched_yield();
    EXPECT_TRUE(dead(ranks[0]) && dead(ranks[1]));
}

TEST(LauncherTest, AProgramThatDoesNotExistIsNamed) {
    LaunchOptions options = options_for(2, "");
    options.command = {"no_such_program_here"};
    try {
        Team::launch(options);
        FAIL() << "launched nothing";
    } catch (const LaunchError& error) {
        EXPECT_STREQ(error.what(), "cannot start 'no_such_program_here': No such file or directory");
        EXPECT_EQ(error.status(), 127);
    }
}

TEST(LauncherTest, AFileThatIsNoProgramIsNamed) {
    LaunchOptions options = options_for(2, "");
    options.command = {"/dev/null"};
    try {
        Team::launch(options);
        FAIL() << "launched nothing";
    } catch (const LaunchError& error) {
        EXPECT_NE(std::string(error.what()).find("cannot start '/dev/null': Permission denied"), std::string::npos) << error.what();
        EXPECT_EQ(error.status(), 126);
    }
}

TEST(LauncherTest, RefusesAnEmptyTeamAndAnEmptyCommand) {
    LaunchOptions options = options_for(0, "show");
    EXPECT_THROW(Team::launch(options), core::Error);
    options.ranks = 1;
    options.command.clear();
    EXPECT_THROW(Team::launch(options), core::Error);
}

TEST(LauncherTest, BindsEachRankToItsOwnCpuWhenTheyFit) {
    const core::CpuSet allowed = core::allowed_cpus();
    const int ranks = static_cast<int>(std::min<std::size_t>(2, allowed.cpus.size()));
    const std::string text = output_of(options_for(ranks, "show"));
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string line =
            "rank " + std::to_string(rank) + " cpus " + std::to_string(allowed.cpus[static_cast<std::size_t>(rank)]) + " launcher " + allowed.text();
        EXPECT_NE(text.find(line), std::string::npos) << text;
    }
    EXPECT_EQ(Team::launch(options_for(ranks, "show")).binding().size(), static_cast<std::size_t>(ranks));
}

TEST(LauncherTest, BindsNobodyWhenAskedOrWhenRanksExceedCpus) {
    const core::CpuSet allowed = core::allowed_cpus();
    const int many = static_cast<int>(allowed.cpus.size()) + 1;
    EXPECT_NE(output_of(options_for(many, "show")).find("rank 0 cpus " + allowed.text() + " launcher"), std::string::npos);
    LaunchOptions options = options_for(1, "show");
    options.bind_to = BindTo::none;
    EXPECT_NE(output_of(options).find("rank 0 cpus " + allowed.text() + " launcher"), std::string::npos);
}

TEST(LauncherTest, RanksInheritNoDescriptorButTheirOwn) {
    const std::string expected = "descriptors " + std::to_string(inherited_descriptors() + 1) + "\n";
    const std::string alone = output_of(options_for(1, "show"));
    EXPECT_NE(alone.find(expected), std::string::npos) << alone;
    LaunchOptions options = options_for(9, "show");
    options.tag_output = true;
    const std::string text = output_of(options);
    std::size_t lines = 0;
    for (std::size_t at = text.find(expected); at != std::string::npos; at = text.find(expected, at + 1))
        ++lines;
    EXPECT_EQ(lines, 9U) << text;
}

TEST(LauncherTest, TagsEveryLineWithItsRank) {
    LaunchOptions options = options_for(9, "show");
    options.tag_output = true;
    const std::string text = output_of(options);
    for (int rank = 0; rank < 9; ++rank)
        EXPECT_NE(text.find("[" + std::to_string(rank) + "] rank " + std::to_string(rank) + " "), std::string::npos) << text;
}

// Serves until every rank has sent its own record "ready" over the control socket.
void serve_until_ready(Team& team) {
    std::vector<bool> ready(static_cast<std::size_t>(team.size()), false);
    const auto all_ready = [&] {
        for (int rank = 0; rank < team.size(); ++rank) {
            char record[16] = {};
            const bool waits = ::recv(team.control(rank), record, 5, MSG_PEEK | MSG_DONTWAIT) == 5 && std::strcmp(record, "ready") == 0;
            if (!waits) continue;
            EXPECT_EQ(::recv(team.control(rank), record, sizeof record, MSG_DONTWAIT), 5);
            ready[static_cast<std::size_t>(rank)] = true;
        }
        return std::ranges::find(ready, false) == ready.end();
    };
    team.serve(all_ready, std::chrono::steady_clock::now() + std::chrono::seconds(20));
    EXPECT_EQ(std::ranges::find(ready, false), ready.end());
}

TEST(LauncherTest, SignalsReachAllRanks) {
    Team team = Team::launch(options_for(3, "wait_for_signal"));
    serve_until_ready(team);
    team.signal(SIGUSR1);
    EXPECT_EQ(team.wait(), 0);
    EXPECT_EQ(team.exits().size(), 3U);
    EXPECT_FALSE(team.running());
}

TEST(LauncherTest, LeavesForeignRecordsToTheOwnerAndServesTheNextExchange) {
    Team team = Team::launch(options_for(3, "converse"));
    serve_until_ready(team);
    for (int rank = 0; rank < 3; ++rank)
        ASSERT_EQ(::send(team.control(rank), "quit", 4, MSG_NOSIGNAL), 4);
    EXPECT_EQ(team.wait(), 0);
}

TEST(LauncherTest, ServeReturnsAtItsDeadline) {
    Team team = Team::launch(options_for(2, "stubborn"));
    team.serve({}, std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
    EXPECT_TRUE(team.running());
    team.kill();
    EXPECT_FALSE(team.running());
    for (const RankExit& exit : team.exits())
        EXPECT_EQ(exit.status, 128 + SIGKILL);
}

TEST(LauncherTest, WrongBindingNamesTheNearest) {
    EXPECT_EQ(parse_bind_to("none"), BindTo::none);
    try {
        parse_bind_to("cores");
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find("core"), std::string::npos);
    }
}

}  // namespace
}  // namespace attune::collectives

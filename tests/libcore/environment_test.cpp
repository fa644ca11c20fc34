#include "libcore/environment.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <unistd.h>

namespace attune::core {
namespace {

// Every ATTUNE_* variable and the others read here are unset during a test and come back afterwards.
class EnvironmentTest : public ::testing::Test {
protected:
    void SetUp() override {
        for (char** entry = ::environ; *entry != nullptr; ++entry) {
            const std::string text = *entry;
            const std::string name = text.substr(0, text.find('='));
            const bool ours = name.starts_with("ATTUNE_") || name == "XDG_DATA_HOME" || name == "HOME" || name == "NO_COLOR" || name == "TERM" || foreign(name);
            if (ours) saved_[name] = text.substr(name.size() + 1);
        }
        for (const auto& [name, value] : saved_)
            ::unsetenv(name.c_str());
    }
    void TearDown() override {
        for (const std::string& name : set_)
            ::unsetenv(name.c_str());
        for (const auto& [name, value] : saved_)
            ::setenv(name.c_str(), value.c_str(), 1);
    }
    void set(const std::string& name, const std::string& value) {
        set_.push_back(name);
        ::setenv(name.c_str(), value.c_str(), 1);
    }

private:
    static bool foreign(const std::string& name) {
        for (const char* prefix : {"SLURM_", "OMPI_", "PMI_", "MASTER_"})
            if (name.starts_with(prefix)) return true;
        return name == "RANK" || name == "WORLD_SIZE";
    }
    std::map<std::string, std::string> saved_;
    std::vector<std::string> set_;
};

TEST_F(EnvironmentTest, NothingSetMeansNothingPresent) {
    const Environment environment = read_environment();
    EXPECT_FALSE(environment.db || environment.db_mode || environment.min_grade || environment.force || environment.check || environment.timeout);
    EXPECT_FALSE(environment.transport || environment.trace || environment.log || environment.xdg_data_home || environment.home || environment.no_color);
    EXPECT_FALSE(environment.rank || environment.ranks || environment.launch_fd || environment.launch_cpus);
}

TEST_F(EnvironmentTest, EachVariableReachesItsField) {
    set("ATTUNE_RANK", "0");  // without it ATTUNE_LAUNCH_CPUS is a stray
    const std::vector<std::pair<std::string, std::optional<std::string> Environment::*>> fields = {
        {"ATTUNE_DB", &Environment::db},
        {"ATTUNE_DB_MODE", &Environment::db_mode},
        {"ATTUNE_DB_MIN_GRADE", &Environment::min_grade},
        {"ATTUNE_FORCE", &Environment::force},
        {"ATTUNE_CHECK", &Environment::check},
        {"ATTUNE_TIMEOUT", &Environment::timeout},
        {"ATTUNE_TRANSPORT", &Environment::transport},
        {"ATTUNE_INTERFACE", &Environment::interface},
        {"ATTUNE_SECRET_FILE", &Environment::secret_file},
        {"ATTUNE_TRACE", &Environment::trace},
        {"ATTUNE_LOG", &Environment::log},
        {"ATTUNE_LAUNCH_NODES", &Environment::launch_nodes},
        {"XDG_DATA_HOME", &Environment::xdg_data_home},
        {"HOME", &Environment::home},
        {"ATTUNE_LAUNCH_CPUS", &Environment::launch_cpus},
    };
    for (const auto& [name, field] : fields)
        set(name, "value of " + name);
    const Environment environment = read_environment();
    for (const auto& [name, field] : fields)
        EXPECT_EQ(environment.*field, "value of " + name);
    EXPECT_TRUE(unknown_variables().empty());
}

TEST_F(EnvironmentTest, EmptyIsAbsent) {
    set("ATTUNE_DB", "");
    set("NO_COLOR", "");
    set("ATTUNE_RANK", "");
    EXPECT_FALSE(read_environment().db);
    EXPECT_FALSE(read_environment().no_color);
    EXPECT_FALSE(read_environment().rank);
}

TEST_F(EnvironmentTest, NoColorAndDumbTerminalsAreHonored) {
    set("TERM", "dumb");
    EXPECT_TRUE(read_environment().no_color);
    set("TERM", "xterm");
    EXPECT_FALSE(read_environment().no_color);
    set("NO_COLOR", "1");
    EXPECT_TRUE(read_environment().no_color);
}

TEST_F(EnvironmentTest, LauncherNumbersAreCheckedAgainstTheirMinimum) {
    set("ATTUNE_RANK", "0");
    set("ATTUNE_RANKS", "1");
    set("ATTUNE_LAUNCH_FD", "7");
    const Environment environment = read_environment();
    EXPECT_EQ(environment.rank, 0);
    EXPECT_EQ(environment.ranks, 1);
    EXPECT_EQ(environment.launch_fd, 7);
    for (const char* wrong : {"-1", "x", "1x", " 1", "1.5", "99999999999"}) {
        set("ATTUNE_RANK", wrong);
        tests::expect_error(ErrorCode::usage, "ATTUNE_RANK='", [] { read_environment(); });
    }
    set("ATTUNE_RANK", "0");
    set("ATTUNE_RANKS", "0");
    tests::expect_error(ErrorCode::usage, "at least 1", [] { read_environment(); });
}

TEST_F(EnvironmentTest, UnknownVariablesNameTheNearest) {
    set("ATTUNE_DB_MODUS", "use");
    set("ATTUNE_SOMETHING_QUITE_DIFFERENT", "1");
    set("ATTUNE_TCP_SECURITY", "none");
    set("ATTUNE_HEAP_LIMIT", "1G");
    const std::vector<std::string> lines = unknown_variables();
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0], "ATTUNE_HEAP_LIMIT is not supported by this version and ignored");
    EXPECT_EQ(lines[1], "ATTUNE_TCP_SECURITY is not supported by this version and ignored");
    EXPECT_EQ(lines[2], "unknown environment variable 'ATTUNE_DB_MODUS' is ignored; did you mean 'ATTUNE_DB_MODE'?");
    EXPECT_EQ(lines[3], "unknown environment variable 'ATTUNE_SOMETHING_QUITE_DIFFERENT' is ignored");
}

TEST_F(EnvironmentTest, AWishForSignaturesIsRefusedAndNotIgnored) {
    set("ATTUNE_DB_SIGNED", "1");
    tests::expect_error(ErrorCode::usage, "cannot check signatures", [] { read_environment(); });
    set("ATTUNE_DB_SIGNED", "0");
    read_environment();
}

TEST_F(EnvironmentTest, RanksOfOtherLaunchersAreRecognized) {
    const std::vector<std::pair<std::string, std::string>> launchers = {
        {"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}};
    set("MASTER_ADDR", "node0");
    for (const auto& [rank, ranks] : launchers) {
        EXPECT_FALSE(read_foreign_launch());
        set(rank, "2");
        set(ranks, "3");
        const auto launch = read_foreign_launch();
        ASSERT_TRUE(launch) << rank;
        EXPECT_EQ(launch->rank, 2);
        EXPECT_EQ(launch->ranks, 3);
        EXPECT_EQ(launch->address, "node0");
        EXPECT_EQ(launch->port, 29500);
        set("MASTER_PORT", "1234");
        EXPECT_EQ(read_foreign_launch()->port, 1234);
        for (const std::string& name : {rank, ranks, std::string("MASTER_PORT")})
            ::unsetenv(name.c_str());
    }
}

TEST_F(EnvironmentTest, SeveralForeignRanksNeedAPlaceToMeetAndOneDoesNot) {
    set("RANK", "0");
    set("WORLD_SIZE", "1");
    EXPECT_FALSE(read_foreign_launch());
    set("WORLD_SIZE", "2");
    tests::expect_error(ErrorCode::usage, "MASTER_ADDR", [] { read_foreign_launch(); });
    ::unsetenv("RANK");
    // A shell inside an allocation has these too.
    set("SLURM_PROCID", "0");
    set("SLURM_NTASKS", "4");
    EXPECT_FALSE(read_foreign_launch());
}

TEST_F(EnvironmentTest, HalfAnAnnouncementIsRefusedWhereAnAddressIsGiven) {
    for (const auto& [given, missing] : {std::pair("RANK", "WORLD_SIZE"), std::pair("WORLD_SIZE", "RANK")}) {
        ::unsetenv("MASTER_ADDR");
        set(given, "2");
        EXPECT_FALSE(read_foreign_launch());
        set("MASTER_ADDR", "node0");
        tests::expect_error(ErrorCode::usage, std::string(missing) + " is not", [] { read_foreign_launch(); });
        ::unsetenv(given);
    }
}

TEST_F(EnvironmentTest, ForeignNumbersThatMakeNoSenseAreRefused) {
    set("MASTER_ADDR", "node0");
    const std::vector<std::array<const char*, 3>> wrong = {{"x", "2", "1"}, {"-1", "2", "1"}, {"2", "2", "1"},
                                                           {"0", "0", "1"}, {"0", "2", "0"},  {"0", "2", "65536"}};
    for (const auto& [rank, ranks, port] : wrong) {
        set("RANK", rank);
        set("WORLD_SIZE", ranks);
        set("MASTER_PORT", port);
        EXPECT_THROW(read_foreign_launch(), Error) << rank << " " << ranks << " " << port;
    }
}

TEST(DefaultDatabasePaths, TheUsersComesFirstAndNeverDependsOnTheDirectory) {
    Environment environment;
    const std::vector<std::string> shared = {"/etc/attune/attune.db", "/usr/share/attune/attune.db"};
    EXPECT_EQ(default_database_paths(environment), shared);
    environment.home = "/home/u";
    EXPECT_EQ(default_database_paths(environment).front(), "/home/u/.local/share/attune/attune.db");
    environment.xdg_data_home = "/data";
    EXPECT_EQ(default_database_paths(environment).front(), "/data/attune/attune.db");
    EXPECT_EQ(default_database_paths(environment).size(), 3U);
    environment.xdg_data_home = "relative";
    EXPECT_EQ(default_database_paths(environment).front(), "/home/u/.local/share/attune/attune.db");
    environment.home = "also/relative";
    EXPECT_EQ(default_database_paths(environment), shared);
}

TEST_F(EnvironmentTest, AWrongWordNamesItsVariable) {
    Environment environment;
    EXPECT_EQ(log_level_of(environment, LogLevel::info), LogLevel::info);
    EXPECT_FALSE(timeout_ns_of(environment).has_value());
    EXPECT_FALSE(checks_calls(environment));
    environment.log = "debug", environment.timeout = "2s", environment.check = "1";
    EXPECT_EQ(log_level_of(environment, LogLevel::info), LogLevel::debug);
    EXPECT_EQ(timeout_ns_of(environment), 2'000'000'000);
    EXPECT_TRUE(checks_calls(environment));
    environment.log = "wran", environment.timeout = "2y", environment.check = "yes";
    tests::expect_error(ErrorCode::usage, "ATTUNE_LOG", [&] { (void)log_level_of(environment, LogLevel::info); });
    tests::expect_error(ErrorCode::usage, "ATTUNE_TIMEOUT", [&] { (void)timeout_ns_of(environment); });
    tests::expect_error(ErrorCode::usage, "ATTUNE_CHECK='yes'", [&] { (void)checks_calls(environment); });
}

}  // namespace
}  // namespace attune::core

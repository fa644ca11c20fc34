// attune-tune is killed at random moments and resumed: what was recorded stays, and nothing recorded is measured again.
#include "db/journal.hpp"
#include "libcore/error.hpp"
#include "libcore/topology.hpp"
#include "tests/support/run_process.hpp"
#include "tuner/collective_target.hpp"
#include "tuner/ladder.hpp"
#include "tuner/strategy.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace attune;
using db::Trial;

class TuningRun {
public:
    std::vector<std::string> words(bool resume) const {
        std::vector<std::string> result{std::string(ATTUNE_BIN_FOLDER) + "/attune-tune",
                                        "all_reduce",
                                        "broadcast",
                                        "-n",
                                        "2",
                                        "-b",
                                        "8",
                                        "-e",
                                        "4K",
                                        "--budget",
                                        "12s",
                                        "--quiet",
                                        "--json",
                                        "--db",
                                        release()};
        if (resume) result.emplace_back("--resume");
        return result;
    }
    std::string release() const { return folder_.path() + "/x.attune.db"; }

    std::vector<Trial> trials() const {
        std::vector<Trial> result;
        try {
            const auto journal = db::Journal::open_for_reading(db::journal_path_of(release()));
            for (const auto& identity : journal.identities())
                for (auto& trial : journal.trials(identity))
                    result.push_back(std::move(trial));
        } catch (const core::Error& error) {
            EXPECT_EQ(error.code(), core::ErrorCode::not_found) << error.what();
        }
        return result;
    }

    struct Ending {
        bool by_itself = false;
        int status = 0;  // of waitpid
    };
    // Starts the tool and sends it a signal after so many milliseconds, unless it ended by itself before.
    Ending signalled_after(int milliseconds, int number, bool resume) const {
        const auto command = words(resume);
        std::vector<char*> arguments;
        for (const auto& word : command)
            arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            const int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, 1);
            execv(arguments[0], arguments.data());
            _exit(127);
        }
        const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
        pollfd event{handle, POLLIN, 0};
        Ending ending;
        ending.by_itself = poll(&event, 1, milliseconds) == 1;
        kill(child, number);
        waitpid(child, &ending.status, 0);
        close(handle);
        return ending;
    }

private:
    test::TemporaryFolder folder_;
};

// Search trials that the strategy, fed with what came before, would not have asked for: repeated ones.
std::size_t repeated(const std::vector<Trial>& trials) {
    tuner::CollectiveTargetOptions options;
    options.space.topology = core::discover_topology();
    options.space.oversubscribed = options.space.topology.allowed.cpus.size() < 2;
    tuner::CollectiveTarget target(options);
    std::map<std::pair<std::string, std::uint64_t>, std::vector<const Trial*>> places;
    for (const auto& trial : trials)
        if (trial.phase == "search") places[{trial.key.text(), trial.bytes}].push_back(&trial);
    std::size_t result = 0;
    for (const auto& [place, of_place] : places) {
        const auto configs = target.candidates(tuner::problem_of_key(of_place.front()->key, place.second).value());
        tuner::StrategySpace space{.candidates = configs.size(), .family = {}, .known_bad = {}, .seed = 1};
        std::map<std::string, std::size_t> families;
        for (const auto& config : configs)
            space.family.push_back(families.emplace(config.algorithm(), families.size()).first->second);
        auto strategy = tuner::make_strategy("exhaustive", space);
        for (const auto* trial : of_place) {
            const auto index = static_cast<std::size_t>(std::ranges::find(configs, trial->config) - configs.begin());
            if (strategy->ask() != index) ++result;
            if (index >= configs.size()) continue;
            const bool ok = trial->outcome == db::Outcome::ok;
            strategy->tell(
                {.candidate = index, .usable = ok || trial->outcome == db::Outcome::noisy, .kept = ok, .gain = trial->ratio, .placement = trial->placement});
        }
    }
    return result;
}

bool is_prefix(const std::vector<Trial>& earlier, const std::vector<Trial>& later) {
    if (earlier.size() > later.size()) return false;
    for (std::size_t i = 0; i < earlier.size(); ++i)
        if (earlier[i].id != later[i].id || earlier[i].config_ns != later[i].config_ns) return false;
    return true;
}

void kill_and_resume(int kills, unsigned seed) {
    const TuningRun run;
    std::mt19937 random(seed);
    std::vector<Trial> before;
    for (int kill = 0; kill < kills; ++kill) {
        const int moment = std::uniform_int_distribution<int>(50, 10'000 / kills)(random);
        // Nothing recorded yet: there may be no run to resume.
        const bool finished = run.signalled_after(moment, SIGKILL, !before.empty()).by_itself;
        auto after = run.trials();
        EXPECT_TRUE(is_prefix(before, after)) << "kill " << kill;
        before = std::move(after);
        if (finished) break;  // a fast machine completes the run before the last kill
    }
    const auto last = test::run_process(run.words(!before.empty()));
    ASSERT_EQ(last.code, 0) << last.err;
    const auto document = nlohmann::json::parse(last.out);
    const auto trials = run.trials();
    EXPECT_TRUE(is_prefix(before, trials));
    EXPECT_EQ(document["replayed"], before.size());
    EXPECT_EQ(document["trials"], trials.size()) << "all trials are of one run";
    EXPECT_GT(trials.size(), 0u);
    EXPECT_EQ(repeated(trials), 0u) << "a trial in flight at the kill leaves no record; a recorded one is not repeated";
    EXPECT_EQ(access(run.release().c_str(), R_OK), 0);
}

TEST(KillAndResume, ThreeKillsRepeatNothingRecorded) {
    kill_and_resume(3, 11);
}

TEST(KillAndResume, CtrlCSavesAndExitsWith130) {
    const TuningRun run;
    const auto ending = run.signalled_after(3000, SIGINT, false);
    ASSERT_FALSE(ending.by_itself);
    ASSERT_TRUE(WIFEXITED(ending.status));
    EXPECT_EQ(WEXITSTATUS(ending.status), 130);
    const auto saved = run.trials().size();
    EXPECT_GT(saved, 0u);
    EXPECT_NE(access(run.release().c_str(), F_OK), 0) << "half a run publishes nothing";
    const auto last = test::run_process(run.words(true));
    ASSERT_EQ(last.code, 0) << last.err;
    EXPECT_EQ(nlohmann::json::parse(last.out)["replayed"], saved);
    // The run is complete now: resuming it once more measures nothing.
    const auto again = test::run_process(run.words(true));
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(nlohmann::json::parse(again.out)["replayed"], nlohmann::json::parse(last.out)["trials"]);
}

TEST(KillAndResume, ABusyJournalExitsWith75AndNamesItsHolder) {
    const TuningRun run;
    const auto holder = db::Journal::open(db::journal_path_of(run.release()), db::identity_of(core::discover_topology()), {});
    const auto result = test::run_process(run.words(false));
    EXPECT_EQ(result.code, 75);
    EXPECT_NE(result.err.find(std::to_string(getpid())), std::string::npos) << result.err;
}

TEST(KillAndResumeSlow, TenKillsRepeatNothingRecorded) {
    for (const unsigned seed : {1u, 2u})
        kill_and_resume(10, seed);
}

}  // namespace

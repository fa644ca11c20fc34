// Tuning inside a job: what is faster is found and proven, noise is not, and the team goes on right with what was applied.
#include "tuner/live_tune.hpp"

#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "tests/tuner/fake_arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace attune::tuner {
namespace {

// Time passes only while something is measured.
class TimedArena final : public FakeArena {
public:
    TimedArena(FakeMachine machine, core::ManualClock& clock) : FakeArena(std::move(machine)), clock_(clock) {}
    SampleResult sample(std::size_t index, const SampleOptions& options) override {
        SampleResult result = FakeArena::sample(index, options);
        for (const double ns : result.ns)
            clock_.advance_ns(static_cast<std::int64_t>(ns * static_cast<double>(result.batch)));
        return result;
    }
    CheckResult check(std::size_t index) override {
        clock_.advance_ns(1000);
        if (index == wrong) return {CheckOutcome::wrong, 1, "one wrong element"};
        return {};
    }
    std::size_t wrong = ~std::size_t{0};

private:
    core::ManualClock& clock_;
};

Work work_of(std::size_t candidates) {
    Work work;
    work.problem.ranks = 2;
    work.problem.count = 1000;
    for (std::size_t i = 0; i < candidates; ++i) {
        core::Config config = core::Config::parse("algorithm=ring");
        config.set("segment_bytes", std::uint64_t{4096} * i);
        work.configs.push_back(config);
    }
    return work;
}

LiveTuneResult tune_fake(const std::vector<double>& true_ns, std::uint64_t seed, std::int64_t budget_ns = 10'000'000'000) {
    core::ManualClock clock;
    FakeMachine machine;
    machine.true_ns = true_ns;
    machine.seed = seed;
    TimedArena arena(machine, clock);
    const Work work = work_of(true_ns.size());
    const LiveTuneResult result = search_and_prove(arena, work, clock, {.budget_ns = budget_ns});
    EXPECT_LE(result.seconds, 1.1 * static_cast<double>(budget_ns) / 1e9);
    return result;
}

TEST(LiveTune, ProvesTheFastestCandidate) {
    const LiveTuneResult result = tune_fake({20'000, 24'000, 15'000, 18'000}, 7);
    EXPECT_TRUE(result.proven) << result.reason;
    EXPECT_EQ(result.config, work_of(4).configs[2]);
    EXPECT_EQ(result.baseline, work_of(4).configs[0]);
    EXPECT_NEAR(result.gain, 20.0 / 15.0, 0.05);
    EXPECT_LE(result.low, result.gain);
    EXPECT_GE(result.high, result.gain);
    EXPECT_EQ(result.measured, 3U);
    EXPECT_GE(result.blocks, 15U);
}

TEST(LiveTune, NoiseProvesNothing) {
    int proven = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
        proven += tune_fake({20'000, 20'000, 20'000, 20'100, 20'000}, seed).proven ? 1 : 0;
    EXPECT_LE(proven, 1);
}

TEST(LiveTune, SaysWhyNothingIsProven) {
    EXPECT_EQ(tune_fake({20'000, 40'000}, 1).reason, "nothing measured was faster");
    EXPECT_EQ(tune_fake({20'000}, 1).reason, "nothing could be measured within the budget");
    const LiveTuneResult hasty = tune_fake({20'000'000, 10'000'000}, 1, 2'000'000'000);
    EXPECT_FALSE(hasty.proven);
    EXPECT_NE(hasty.reason.find("give more time"), std::string::npos) << hasty.reason;
}

TEST(LiveTune, AWrongCandidateIsNeverTakenHoweverFast) {
    core::ManualClock clock;
    FakeMachine machine;
    machine.true_ns = {20'000, 2'000};
    TimedArena arena(machine, clock);
    arena.wrong = 1;
    const Work work = work_of(2);
    const LiveTuneResult result = search_and_prove(arena, work, clock, {});
    EXPECT_FALSE(result.proven);
    EXPECT_EQ(result.config, work.configs[0]);
}

TEST(LiveTune, ABaselineThatFailsItsCheckIsAnError) {
    core::ManualClock clock;
    TimedArena arena({}, clock);
    arena.wrong = 0;
    EXPECT_THROW(search_and_prove(arena, work_of(2), clock, {}), core::Error);
}

// Every rank gets the same answer; calls stay right; what was proven is what runs next.
TEST(LiveTune, ALivingTeamAgreesAndGoesOn) {
    auto team = collectives::Communicator::make_local(2, collectives::CommunicatorOptions());
    std::vector<LiveTuneResult> results(2);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank)
        threads.emplace_back([&, rank] {
            collectives::Communicator& own = *team[rank];
            collectives::Problem problem;
            problem.count = 20'000;
            results[rank] = tune_live(own, problem, {.budget_ns = 400'000'000});
            const collectives::Choice choice = own.choice(problem);
            EXPECT_EQ(choice.source == collectives::ChoiceSource::tuned, results[rank].proven);
            EXPECT_EQ(choice.config, results[rank].proven ? results[rank].config : results[rank].baseline);
            const std::vector<float> input(20'000, 1);
            std::vector<float> output(20'000);
            own.run(problem, input.data(), output.data());
            EXPECT_EQ(std::ranges::count(output, 2.0F), 20'000);
            EXPECT_EQ(own.statistics().calls, 1U);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(results[0].config, results[1].config);
    EXPECT_EQ(results[0].proven, results[1].proven);
    EXPECT_EQ(results[0].reason, results[1].reason);
    EXPECT_GT(results[0].candidates, 1U);
    EXPECT_GT(results[0].measured, 0U);
}

TEST(LiveTune, AForcedConfigurationIsLeftAlone) {
    collectives::CommunicatorOptions options;
    options.forced = collectives::ForcedChoices::parse("all_reduce=ring");
    auto team = collectives::Communicator::make_local(1, options);
    EXPECT_NE(tune_live(*team[0], {}, {}).reason, "");
}

}  // namespace
}  // namespace attune::tuner

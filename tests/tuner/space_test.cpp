#include "tuner/space.hpp"

#include "collectives/catalogue.hpp"
#include "collectives/default_config.hpp"
#include "libcore/error.hpp"
#include "tuner/ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace attune::tuner {
namespace {

using collectives::Collective;

collectives::Problem problem_of(Collective collective, std::uint64_t bytes, int ranks) {
    LadderOptions options;
    options.ranks = ranks;
    options.node_map = "1x" + std::to_string(ranks);
    return problem_of_size(options, collective, bytes);
}

std::vector<core::Config> space_of(const collectives::Problem& problem, bool oversubscribed = false) {
    const SpaceOptions options{.topology = {}, .oversubscribed = oversubscribed};
    return enumerate_space(problem, candidate_zero(problem, options, {}), options);
}

TEST(Space, StartsWithTheDefaultAndHoldsOnlyWhatCanRunNothingTwice) {
    for (const auto collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::barrier}) {
        for (const int ranks : {1, 2, 3, 4, 7, 8}) {
            for (const std::uint64_t bytes : {8u, 4096u, 1u << 20}) {
                const auto problem = problem_of(collective, bytes, ranks);
                const auto configs = space_of(problem);
                ASSERT_FALSE(configs.empty());
                EXPECT_EQ(configs.front(), collectives::default_config(problem, {}));
                std::set<std::string> texts;
                for (const auto& config : configs) {
                    EXPECT_FALSE(collectives::reject(problem, config)) << config.text();
                    EXPECT_TRUE(texts.insert(config.text()).second) << config.text();
                }
            }
        }
    }
}

TEST(Space, TriesCopiesBetweenBuffersOnlyWhereTheyWorkAndMessagesAreLong) {
    const auto protocols = [](std::uint64_t bytes, bool direct_copies) {
        const auto problem = problem_of(Collective::all_reduce, bytes, 2);
        const SpaceOptions options{.topology = {}, .oversubscribed = false, .direct_copies = direct_copies};
        std::map<std::string, int> found;
        for (const auto& config : enumerate_space(problem, candidate_zero(problem, options, {}), options))
            ++found[std::string(config.get("protocol").value_or(""))];
        return found;
    };
    EXPECT_FALSE(protocols(1 << 20, false).contains("cma_get"));
    EXPECT_FALSE(protocols(4096, true).contains("mixed"));
    auto found = protocols(1 << 20, true);
    for (const char* protocol : {"cma_get", "cma_put", "mixed"}) {
        EXPECT_GE(found[protocol], 1) << protocol;
        EXPECT_LE(found[protocol], 2 * static_cast<int>(collectives::algorithms_for(Collective::all_reduce).size())) << protocol;
    }
}

TEST(Space, HoldsEveryApplicableAlgorithmThatDiffersFromTheOthers) {
    const auto problem = problem_of(Collective::all_reduce, 1 << 20, 5);
    std::set<std::string> found;
    for (const auto& config : space_of(problem))
        found.insert(config.algorithm());
    for (const auto* algorithm : collectives::algorithms_for(Collective::all_reduce)) {
        core::Config config = collectives::default_config(problem, {});
        config.set("algorithm", algorithm->name);
        config.set("segment_bytes", std::uint64_t{0});
        if (!collectives::reject(problem, config)) {
            EXPECT_TRUE(found.contains(std::string(algorithm->name))) << algorithm->name;
        }
    }
}

TEST(Space, SegmentsAreBelowAQuarterOfTheMessage) {
    EXPECT_EQ(segment_sizes(8), (std::vector<std::uint64_t>{0}));
    EXPECT_EQ(segment_sizes(64 * 1024), (std::vector<std::uint64_t>{0})) << "16K is not below 16K";
    EXPECT_EQ(segment_sizes(128 * 1024), (std::vector<std::uint64_t>{0, 16 * 1024}));
    EXPECT_EQ(segment_sizes(16 << 20).size(), 5u);
}

TEST(Space, SegmentsThatCompileToTheSameScheduleAreOneCandidate) {
    const auto problem = problem_of(Collective::all_reduce, 1 << 20, 4);
    const auto schedule_texts = [&](const core::Config& config) {
        std::string text;
        for (int rank = 0; rank < problem.ranks; ++rank)
            for (const auto& step : collectives::generate(problem, config, rank).steps)
                text += collectives::describe(step) + "\n";
        return text + std::string(config.get("inline_bytes").value_or("")) + std::string(config.get("staging_stores").value_or("")) +
               std::string(config.get("protocol").value_or(""));
    };
    std::set<std::string> seen;
    for (const auto& config : space_of(problem))
        EXPECT_TRUE(seen.insert(schedule_texts(config)).second) << config.text();
}

TEST(Space, StreamingStoresAreTriedForLargeMessagesOnlyAndNeverOversubscribed) {
    const auto streams = [](const std::vector<core::Config>& configs) {
        return std::ranges::any_of(configs, [](const auto& config) { return config.get("staging_stores") == "streaming"; });
    };
    EXPECT_TRUE(streams(space_of(problem_of(Collective::all_reduce, 16 << 20, 4))));
    EXPECT_FALSE(streams(space_of(problem_of(Collective::all_reduce, 16 << 20, 4), true)));
    EXPECT_FALSE(streams(space_of(problem_of(Collective::all_reduce, 4096, 4))));
}

TEST(CandidateZero, ReplacesTheAlgorithmOfItsCollectiveOnly) {
    const auto zero = parse_candidate_zero("all_reduce:ring");
    const auto reduce = problem_of(Collective::all_reduce, 64, 4);
    const auto gather = problem_of(Collective::all_gather, 64, 4);
    EXPECT_EQ(candidate_zero(reduce, {}, {zero}).algorithm(), "ring");
    EXPECT_FALSE(collectives::reject(reduce, candidate_zero(reduce, {}, {zero})));
    EXPECT_EQ(candidate_zero(gather, {}, {zero}), collectives::default_config(gather, {}));
}

TEST(CandidateZero, RefusesWrongWords) {
    EXPECT_THROW(parse_candidate_zero("all_reduce"), core::Error);
    EXPECT_THROW(parse_candidate_zero("all_reduse:ring"), core::Error);
    EXPECT_THROW(parse_candidate_zero("all_reduce:rung"), core::Error);
}

}  // namespace
}  // namespace attune::tuner

// The programs that make every call of the public headers, on real ranks.
#include "collectives/catalogue.hpp"
#include "collectives/sample_amounts.hpp"
#include "tests/support/run_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace attune::test {
namespace {

class EveryCall : public testing::TestWithParam<int> {
protected:
    ProcessResult run(const std::string& program, std::vector<std::pair<std::string, std::string>> environment = {},
                      const std::vector<std::string>& launcher = {}) {
        const TemporaryFolder folder;
        ProcessOptions options;
        options.environment = std::move(environment);
        options.environment.emplace_back("XDG_DATA_HOME", folder.path());
        options.folder = folder.path();
        std::vector<std::string> words = {ATTUNE_RUN, "-n", std::to_string(GetParam())};
        words.insert(words.end(), launcher.begin(), launcher.end());
        words.insert(words.end(), {"--", program});
        return run_process(words, options);
    }
};

TEST_P(EveryCall, OfTheHeaderForCxxIsRightAndWrongUseIsExplained) {
    const ProcessResult result = run(ATTUNE_EVERY_CALL_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(EveryCall, OfTheHeaderForCIsRightAndWrongUseIsExplained) {
    const ProcessResult result = run(ATTUNE_C_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(EveryCall, OfTheExampleInCIsRight) {
    const ProcessResult result = run(ATTUNE_C_EXAMPLE);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, std::to_string(GetParam()) + " ranks, 1000 elements, wrong: 0\n");
}

TEST_P(EveryCall, AllocatesNothingWhenRepeated) {
    const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
}

bool applies(const collectives::Algorithm& algorithm, int ranks) {
    constexpr std::uint64_t elements = 64;
    collectives::Problem problem;
    problem.collective = algorithm.collective;
    problem.ranks = ranks;
    core::Config config;
    config.set("algorithm", algorithm.name);
    return !collectives::reject(collectives::with_elements(problem, elements), config);
}

// What ATTUNE_FORCE says when each collective gets its algorithm of this number, of those that run on so many ranks, counted round.
std::string forced_everywhere(int ranks, std::size_t number) {
    std::string text;
    for (const collectives::Collective collective : collectives::all_collectives()) {
        std::vector<std::string> names;
        for (const collectives::Algorithm* algorithm : collectives::algorithms_for(collective))
            if (applies(*algorithm, ranks)) names.emplace_back(algorithm->name);
        text += std::string(text.empty() ? "" : ";") + std::string(name_of(collective)) + "=" + names.at(number % names.size());
    }
    return text;
}

TEST_P(EveryCall, OfTheHeaderForCxxIsRightWithEachAlgorithmForced) {
    constexpr std::size_t most = 6;  // algorithms of one collective, all_reduce
    for (std::size_t number = 0; number < most; ++number) {
        const std::string force = forced_everywhere(GetParam(), number);
        const ProcessResult result = run(ATTUNE_EVERY_CALL_PROGRAM, {{"ATTUNE_FORCE", force}, {"ATTUNE_LOG", "info"}});
        EXPECT_EQ(result.code, 0) << force << ": " << result.err;
        EXPECT_NE(result.err.find(" 0 % default, 100 % forced"), std::string::npos) << force << ": " << result.err;
        EXPECT_EQ(result.err.find("to tune:"), std::string::npos) << result.err;
    }
}

TEST_P(EveryCall, OfTheHeaderForCxxIsRightWithEachProtocolForced) {
    for (const char* protocol : {"staged", "cma_get", "cma_put", "mixed"}) {
        std::string force;
        for (const collectives::Collective collective : collectives::all_collectives())
            if (collective != collectives::Collective::barrier)
                force += fmt::format("{}{}=protocol={},inline_bytes=0", force.empty() ? "" : ";", name_of(collective), protocol);
        const ProcessResult result = run(ATTUNE_EVERY_CALL_PROGRAM, {{"ATTUNE_FORCE", force}});
        EXPECT_EQ(result.code, 0) << force << ": " << result.err;
    }
}

TEST_P(EveryCall, AllocatesNothingWhenRepeatedAndTraced) {
    const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM, {{"ATTUNE_TRACE", "."}});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_P(EveryCall, AllocatesNothingWhenRepeatedOverTcp) {
    for (const char* trace : {"", "."}) {
        std::vector<std::pair<std::string, std::string>> environment = {{"ATTUNE_TRANSPORT", "tcp"}};
        if (*trace != 0) environment.emplace_back("ATTUNE_TRACE", trace);
        const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM, environment);
        EXPECT_EQ(result.code, 0) << result.out << result.err;
    }
}

TEST_P(EveryCall, AllocatesNothingWhenRepeatedOnLogicalNodes) {
    const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM, {}, {"--ranks-per-node", "2"});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_P(EveryCall, AllocatesNothingWhenRepeatedWithEachProtocol) {
    for (const char* protocol : {"staged", "cma_get", "cma_put", "mixed"}) {
        const std::string forced = std::string("all_reduce=protocol=") + protocol + ";broadcast=protocol=" + protocol;
        const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM, {{"ATTUNE_FORCE", forced}});
        EXPECT_EQ(result.code, 0) << protocol << result.out << result.err;
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryCall, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace attune::test

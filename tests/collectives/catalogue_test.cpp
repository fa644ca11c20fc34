// Names, aliases, and every reason for which a config cannot run a problem.
#include "collectives/catalogue.hpp"

#include "collectives/amounts.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace attune::collectives {
namespace {

using testing::HasSubstr;

Problem problem_of(Collective collective, int ranks = 4, std::uint64_t count = 1024) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    return problem;
}

std::string why(const Problem& problem, std::string_view config) {
    return reject(problem, core::Config::parse(config)).value_or("accepted");
}
std::string why(std::string_view config) {
    return why(problem_of(Collective::all_reduce), config);
}

TEST(Catalogue, NamesEveryAlgorithmOnceAndHasSomeForEveryCollective) {
    std::set<std::string> names;
    for (const Algorithm& algorithm : catalogue()) {
        EXPECT_TRUE(names.insert(std::string(name_of(algorithm.collective)) + std::string(algorithm.name)).second) << algorithm.name;
        EXPECT_EQ(find_algorithm(algorithm.collective, algorithm.name), &algorithm);
        EXPECT_FALSE(algorithm.citation.empty());
        EXPECT_GE(algorithm.version, 1u);
    }
    for (const Collective collective : all_collectives())
        EXPECT_GE(algorithms_for(collective).size(), has_amounts(collective) ? 1u : 2u) << name_of(collective);
}

TEST(Catalogue, AcceptsAliasesAsInputOnly) {
    for (const Algorithm& algorithm : catalogue()) {
        EXPECT_EQ(parse_algorithm(algorithm.collective, algorithm.name), algorithm.name);
        for (const std::string& alias : aliases_of(algorithm.collective, algorithm.name)) {
            EXPECT_EQ(parse_algorithm(algorithm.collective, alias), algorithm.name);
            EXPECT_EQ(find_algorithm(algorithm.collective, alias), nullptr) << alias;
        }
    }
    EXPECT_EQ(parse_algorithm(Collective::all_reduce, "mesh"), "two_shot");
    EXPECT_EQ(parse_algorithm(Collective::reduce_scatter, "H-D_R"), "recursive_halving");
}

TEST(Catalogue, RefusesUnknownNamesWithTheNearest) {
    try {
        parse_algorithm(Collective::all_reduce, "rign");
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_THAT(error.what(), HasSubstr("ring"));
    }
    // Never another algorithm in its place.
    EXPECT_THROW(parse_algorithm(Collective::all_reduce, "butterfly"), core::Error);
}

TEST(Reject, AcceptsEveryAlgorithmOnEveryShape) {
    for (const Algorithm& algorithm : catalogue()) {
        for (const int ranks : {1, 2, 3, 7, 8}) {
            for (const std::uint64_t count : {0u, 1u, 1000u}) {
                const Problem problem = with_sample_amounts(problem_of(algorithm.collective, ranks), AmountsShape::uneven, count);
                const std::string config = "algorithm=" + std::string(algorithm.name) +
                                           ",segment_bytes=0,channels=1,protocol=staged,inline_bytes=48,staging_stores=streaming,nontemporal_bytes=2M";
                EXPECT_EQ(why(problem, config), "accepted");
            }
        }
    }
}

TEST(Reject, NamesMissingAndUnknownAlgorithms) {
    EXPECT_THAT(why(""), HasSubstr("names no algorithm for all_reduce"));
    EXPECT_THAT(why("algorithm=two_shoot"), HasSubstr("did you mean two_shot?"));
    EXPECT_THAT(why("algorithm=linear"), HasSubstr("all_reduce has no algorithm 'linear'; there are one_shot"));
}

TEST(Reject, NamesProblemsOutOfRange) {
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 0), "algorithm=ring"), HasSubstr("0 ranks"));
    Problem rooted = problem_of(Collective::broadcast);
    rooted.root = 4;
    EXPECT_THAT(why(rooted, "algorithm=chain"), HasSubstr("root 4 of 4 ranks"));
    EXPECT_THAT(why(problem_of(Collective::barrier), "algorithm=dissemination"), HasSubstr("count 1024 for barrier"));
    EXPECT_THAT(why(problem_of(Collective::all_gather, 4, std::uint64_t{1} << 62), "algorithm=ring"), HasSubstr("above 2^56 bytes"));
}

TEST(Reject, NamesFormsThatDoNotExist) {
    Problem exchange = with_sample_amounts(problem_of(Collective::all_to_all_v), AmountsShape::uneven, 5);
    exchange.in_place = true;
    EXPECT_THAT(why(exchange, "algorithm=windowed"), HasSubstr("all_to_all_v has no in-place form"));
    Problem prefix = problem_of(Collective::scan);
    prefix.op = core::Op::avg;
    EXPECT_THAT(why(prefix, "algorithm=linear"), HasSubstr("op avg does not apply to scan"));
    EXPECT_THAT(why(problem_of(Collective::gather_v, 4, 0), "algorithm=linear"), HasSubstr("gather_v needs the amounts"));
}

TEST(Reject, NamesNodeMapsOfOtherRanks) {
    Problem problem = problem_of(Collective::all_reduce, 5);
    problem.node_map = "2,2,1";
    EXPECT_EQ(why(problem, "algorithm=two_level"), "accepted");
    problem.node_map = "2x2";
    EXPECT_THAT(why(problem, "algorithm=two_level"), HasSubstr("2x2 names 4 ranks, not 5"));
    EXPECT_EQ(why(problem, "algorithm=ring"), "accepted");
    problem.node_map = "2xx2";
    EXPECT_NE(why(problem, "algorithm=two_level"), "accepted");
}

TEST(Reject, NamesCutsThatNeedCountsOfOthers) {
    const Problem matrix = with_sample_amounts(problem_of(Collective::all_to_all_v), AmountsShape::uneven, 500);
    EXPECT_EQ(why(matrix, "algorithm=pairwise,segment_bytes=256,channels=2"), "accepted");
    EXPECT_THAT(why(view_of(matrix, 1), "algorithm=pairwise,segment_bytes=256"), HasSubstr("needs counts that all ranks know"));
    EXPECT_EQ(why(view_of(matrix, 1), "algorithm=pairwise,channels=2"), "accepted");
    EXPECT_THAT(why(view_of(matrix, 1), "algorithm=pairwise,protocol=inline"), HasSubstr("do not know all message sizes"));
    const Problem gathers = with_sample_amounts(problem_of(Collective::gather_v), AmountsShape::uneven, 500);
    EXPECT_THAT(why(gathers, "algorithm=linear,segment_bytes=256"), HasSubstr("does not apply to linear"));
    EXPECT_EQ(why(with_sample_amounts(problem_of(Collective::all_gather_v), AmountsShape::uneven, 500), "algorithm=ring,segment_bytes=256"), "accepted");
}

TEST(Reject, NamesAxesThatDoNotApply) {
    for (const char* axis : {"radix=4", "groups=2x2", "wire_dtype=bfloat16"})
        EXPECT_EQ(why("algorithm=ring," + std::string(axis)), std::string(axis) + " does not apply to all_reduce ring");
}

TEST(Reject, NamesBuffersAndWordsThatNoSocketTakes) {
    EXPECT_EQ(why("algorithm=ring,socket_buffer_bytes=1M,congestion_control=cubic"), "accepted");
    EXPECT_EQ(why("algorithm=ring,socket_buffer_bytes=0"), "accepted");
    EXPECT_THAT(why("algorithm=ring,socket_buffer_bytes=1K"), HasSubstr("socket_buffer_bytes=1K is not within 4K to 1G"));
    EXPECT_THAT(why("algorithm=ring,socket_buffer_bytes=2G"), HasSubstr("is not within"));
    EXPECT_THAT(why("algorithm=ring,congestion_control=sixteen_letters_"), HasSubstr("is no name"));
}

TEST(Reject, NamesCutsOutOfRange) {
    EXPECT_EQ(why("algorithm=ring,channels=4,segment_bytes=64"), "accepted");
    EXPECT_THAT(why("algorithm=ring,channels=5"), HasSubstr("channels=5 is not within 1 to 4"));
    EXPECT_THAT(why("algorithm=ring,segment_bytes=63"), HasSubstr("segment_bytes=63 is below 64"));
    const Problem large = problem_of(Collective::all_reduce, 4, std::uint64_t{64} << 10);
    EXPECT_EQ(why(large, "algorithm=ring,segment_bytes=64"), "accepted");  // 4,096 segments
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 4, (std::uint64_t{64} << 10) + 1), "algorithm=ring,segment_bytes=64"),
                HasSubstr("makes 4097 segments, above 4096"));
    EXPECT_EQ(why(problem_of(Collective::all_reduce, 4, (std::uint64_t{64} << 10) + 1), "algorithm=ring,segment_bytes=64,channels=2"), "accepted");
    const Problem barrier = problem_of(Collective::barrier, 4, 0);
    EXPECT_THAT(why(barrier, "algorithm=dissemination,channels=2"), HasSubstr("channels=2 does not apply to dissemination"));
    EXPECT_THAT(why(barrier, "algorithm=dissemination,segment_bytes=64"), HasSubstr("segment_bytes=64 does not apply to dissemination"));
}

TEST(Reject, NamesWordsThatAreNoProtocolOrStore) {
    EXPECT_THAT(why("algorithm=ring,protocol=stagde"), HasSubstr("did you mean staged?"));
    EXPECT_THAT(why("algorithm=ring,staging_stores=adaptive"), HasSubstr("staging_stores=adaptive is not one of cached, streaming"));
    EXPECT_THAT(why("algorithm=ring,inline_bytes=64"), HasSubstr("inline_bytes=64 is not one of 0, 48, 2048"));
}

TEST(Reject, AllowsInlineOnlyWhenEveryMessageFits) {
    EXPECT_EQ(why(problem_of(Collective::all_reduce, 4, 512), "algorithm=one_shot,protocol=inline"), "accepted");
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 4, 513), "algorithm=one_shot,protocol=inline"),
                HasSubstr("at most 2048 bytes, the longest here has 2052"));
    // A quarter of the vector is what the ring sends.
    EXPECT_EQ(why(problem_of(Collective::all_reduce, 4, 2048), "algorithm=ring,protocol=inline"), "accepted");
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 4, 2049), "algorithm=ring,protocol=inline"), HasSubstr("use staged"));
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 4, 13), "algorithm=one_shot,protocol=inline,inline_bytes=48"), HasSubstr("at most 48 bytes"));
}

TEST(Generate, ThrowsTheReasonOfReject) {
    const Problem problem = problem_of(Collective::all_reduce);
    try {
        generate(problem, core::Config::parse("algorithm=ring,channels=9"), 0);
        FAIL();
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::usage);
        EXPECT_EQ(error.what(), *reject(problem, core::Config::parse("algorithm=ring,channels=9")));
    }
    EXPECT_THROW(generate(problem, core::Config::parse("algorithm=ring"), 4), core::Error);
    EXPECT_THROW(generate(problem, core::Config::parse("algorithm=ring"), -1), core::Error);
}

TEST(Generate, CutsSegmentsByTheirBytes) {
    const Problem problem = problem_of(Collective::broadcast, 2, 100);
    const Schedule schedule = generate(problem, core::Config::parse("algorithm=linear,segment_bytes=160"), 0);
    std::vector<std::uint64_t> sent;
    for (const Step& step : schedule.steps) {
        if (step.kind == StepKind::send) sent.push_back(step.length);
    }
    EXPECT_EQ(sent, (std::vector<std::uint64_t>{40, 40, 20}));
}

TEST(Generate, RefusesAmountsThatOnlyOneRankKnowsToBeWrong) {
    Problem problem = problem_of(Collective::gather_v, 3, 0);
    problem.amounts = std::make_shared<const Amounts>(Amounts{.send = {4}});
    EXPECT_NO_THROW(generate(problem, core::Config::parse("algorithm=linear"), 1));
    EXPECT_THROW(generate(problem, core::Config::parse("algorithm=linear"), 0), core::Error);
}

TEST(Generate, IsPure) {
    for (const Algorithm& algorithm : catalogue()) {
        const Problem problem = with_sample_amounts(problem_of(algorithm.collective, 5), AmountsShape::uneven, 77);
        core::Config config;
        config.set("algorithm", algorithm.name);
        for (Rank rank = 0; rank < 5; ++rank) {
            const Schedule schedule = generate(problem, config, rank);
            EXPECT_EQ(schedule.rank, rank);
            EXPECT_EQ(schedule.steps, generate(problem, config, rank).steps);
        }
    }
}

}  // namespace
}  // namespace attune::collectives

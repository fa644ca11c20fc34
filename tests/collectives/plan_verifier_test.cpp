// Each thing the verifier refutes in compiled plans, tripped by a small plan that is right but for it.
#include "collectives/plan.hpp"
#include "collectives/verifier.hpp"
#include "tests/collectives/small_schedules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace attune::collectives {
namespace {

using testing::HasSubstr;
using namespace small;

std::vector<Plan> plans_of(const Problem& problem, const std::vector<Schedule>& schedules) {
    std::vector<Plan> plans;
    for (const Schedule& schedule : schedules)
        plans.push_back(compile(problem, schedule, {}));
    return plans;
}

std::string why_plan(const Problem& problem, const std::vector<Schedule>& schedules, const std::function<void(std::vector<Plan>&)>& change) {
    std::vector<Plan> plans = plans_of(problem, schedules);
    change(plans);
    return refute(problem, plans).value_or("proved");
}

std::string why_plan(const std::function<void(std::vector<Plan>&)>& change) {
    return why_plan(problem_of(Collective::all_reduce, 2, n), exchange(), change);
}

TEST(PlanVerifier, ProvesACompiledExchange) {
    EXPECT_EQ(why_plan([](auto&) {}), "proved");
}

TEST(PlanVerifier, RefutesPlansThatDoNotBelongTogether) {
    EXPECT_THAT(why_plan([](auto& p) { std::swap(p[0], p[1]); }), HasSubstr("belongs to rank 1"));
    EXPECT_THAT(why_plan([](auto& p) { p[1].problem.count = 5; }), HasSubstr("another problem"));
    EXPECT_THAT(why_plan([](auto& p) { p[1].options.inline_bytes = 48; }), HasSubstr("other inline or fragment sizes"));
    EXPECT_THAT(why_plan([](auto& p) { p[1].channels = 5; }), HasSubstr("5 channels"));
    EXPECT_THAT(why_plan([](auto& p) { p[1].channel_begin[1] = 1; }), HasSubstr("divide its operations"));
    EXPECT_THAT(why_plan([](auto& p) { p[1].channel_begin[3] = 9; }), HasSubstr("divide its operations"));
}

TEST(PlanVerifier, RefutesOperationsThatAreNoOperations) {
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].channel = 1; }), HasSubstr("of another channel"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].offset = 2; }), HasSubstr("off its elements"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].offset = std::numeric_limits<std::uint64_t>::max() - 3; }), HasSubstr("outside its buffer"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].protocol = Protocol::staged; }), HasSubstr("another protocol"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].peer_count = 0; }), HasSubstr("has no peers"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[0].first_peer = 7; }), HasSubstr("has no peers"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[1].source_count = 0; }), HasSubstr("has no sources"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[1].source_count = 9; }), HasSubstr("has no sources"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[1].memory = Memory::input; }), HasSubstr("writes the input"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].sources[1].offset = 4; }), HasSubstr("reads outside"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].operations[1].scale = true; }), HasSubstr("scaled"));
    EXPECT_THAT(why_plan([](auto& p) {
                    p[0].peers.push_back(1);
                    p[0].operations[0].peer_count = 2;
                }),
                HasSubstr("sends twice"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].peers[0] = 0; }), HasSubstr("names peer"));
    EXPECT_THAT(why_plan([](auto& p) { p[0].sources[0].peer = 3; }), HasSubstr("names peer"));
}

// Rank 0 sends halves of its output and then receives the whole back: the receive must wait for both sends.
std::vector<Schedule> there_and_back() {
    return schedules_of(2, [](std::vector<Builder>& rank) {
        const Slice scratch = rank[1].scratch(n);
        for (const std::uint64_t half : {0, 2}) {
            rank[0].send(1, output.part(half, 2));
            rank[1].recv(0, scratch.part(half, 2));
        }
        rank[1].recv_reduce(0, output, output);
        rank[0].send(1, output);
        const std::array terms = {Term::message(1)};
        rank[0].fold(terms, output);
        rank[1].send(0, output);
    });
}

TEST(PlanVerifier, RefutesHazardsThatAreNotListed) {
    const Problem problem = problem_of(Collective::all_reduce, 2, n, true);
    const auto hazards_of_last = [](Plan& plan) -> std::uint32_t& { return plan.operations.back().hazard_count; };
    EXPECT_EQ(why_plan(problem, there_and_back(), [](auto&) {}), "proved");
    EXPECT_THAT(why_plan(problem, there_and_back(), [&](auto& p) { hazards_of_last(p[0]) = 0; }), HasSubstr("does not list it"));
}

TEST(PlanVerifier, AcceptsAWaitForALaterSendToTheSamePeer) {
    const Problem problem = problem_of(Collective::all_reduce, 2, n, true);
    const auto only_the_last = [](std::vector<Plan>& plans) {
        Operation& fold = plans[0].operations.back();
        ASSERT_EQ(fold.hazard_count, 3u);
        fold.first_hazard += 2;
        fold.hazard_count = 1;
    };
    EXPECT_EQ(why_plan(problem, there_and_back(), only_the_last), "proved");
    const auto only_the_first = [](std::vector<Plan>& plans) { plans[0].operations.back().hazard_count = 1; };
    EXPECT_THAT(why_plan(problem, there_and_back(), only_the_first), HasSubstr("does not list it"));
}

TEST(PlanVerifier, RefutesHazardsThatAreNoEarlierSends) {
    const Problem problem = problem_of(Collective::all_reduce, 2, n, true);
    const auto changed = [&](std::uint32_t to) {
        return why_plan(problem, there_and_back(), [&](auto& p) { p[0].hazards[p[0].operations.back().first_hazard] = to; });
    };
    EXPECT_THAT(changed(3), HasSubstr("no earlier send"));
    EXPECT_THAT(changed(99), HasSubstr("no earlier send"));
    EXPECT_THAT(changed(2), HasSubstr("ascending"));
    EXPECT_THAT(why_plan(problem, there_and_back(), [](auto& p) { p[0].operations.back().hazard_count = 9; }), HasSubstr("hazards out of range"));
}

std::vector<Plan> direct_plans(const Problem& problem, const std::vector<Schedule>& schedules, Protocol protocol) {
    CompileOptions options;
    options.inline_bytes = 0;
    options.protocol = protocol;
    std::vector<Plan> plans;
    for (const Schedule& schedule : schedules)
        plans.push_back(compile(problem, schedule, options, [&](Rank rank) { return schedules[static_cast<std::size_t>(rank)]; }));
    return plans;
}

std::string why_direct(Protocol protocol, const std::function<void(std::vector<Plan>&)>& change) {
    const Problem problem = problem_of(Collective::all_reduce, 2, n, true);
    std::vector<Plan> plans = direct_plans(problem, there_and_back(), protocol);
    change(plans);
    return refute(problem, plans).value_or("proved");
}

TEST(PlanVerifier, ProvesMessagesThatGoStraight) {
    for (const Protocol protocol : {Protocol::cma_get, Protocol::cma_put, Protocol::mixed})
        EXPECT_EQ(why_direct(protocol, [](auto&) {}), "proved") << name_of(protocol);
}

TEST(PlanVerifier, RefutesEndsThatDisagreeOnTheWayOfAMessage) {
    EXPECT_THAT(why_direct(Protocol::cma_get, [](auto& p) { p[0].operations[0].protocol = Protocol::mixed; }), HasSubstr("another protocol"));
    EXPECT_THAT(why_direct(Protocol::cma_put, [](auto& p) { p[0].operations[0].protocol = Protocol::cma_get; }), HasSubstr("go different ways"));
    EXPECT_THAT(why_direct(Protocol::mixed, [](auto& p) { p[1].options.protocol = Protocol::cma_get; }), HasSubstr("another protocol than rank 0"));
    EXPECT_THAT(why_direct(Protocol::cma_get, [](auto& p) { p[0].direct = false; }), HasSubstr("denies it"));
    EXPECT_THAT(why_direct(Protocol::cma_get, [](auto& p) { p[1].bounce_bytes = 0; }), HasSubstr("no room for the pieces"));
    const std::vector<Schedule> spread = schedules_of(3, [](std::vector<Builder>& rank) {
        for (const Rank peer : {1, 2}) {
            rank[0].send(peer, input);
            rank[static_cast<std::size_t>(peer)].recv(0, output);
        }
        rank[0].copy(input, output);
    });
    const Problem problem = problem_of(Collective::broadcast, 3, n);
    std::vector<Plan> plans = direct_plans(problem, spread, Protocol::cma_get);
    EXPECT_EQ(refute(problem, plans).value_or("proved"), "proved");
    plans[0].operations[0].peer_count = 2;
    EXPECT_THAT(refute(problem, plans).value_or("proved"), HasSubstr("several peers"));
}

TEST(PlanVerifier, RefutesPutsThatMiss) {
    EXPECT_THAT(why_direct(Protocol::cma_put, [](auto& p) { p[0].remotes[0].offset += 4; }), HasSubstr("lands elsewhere"));
    EXPECT_THAT(why_direct(Protocol::cma_put, [](auto& p) { p[0].remotes[0].memory = Memory::output; }), HasSubstr("lands elsewhere"));
    EXPECT_THAT(why_direct(Protocol::cma_put, [](auto& p) { p[0].remotes.clear(); }), HasSubstr("put nowhere"));
    EXPECT_THAT(why_direct(Protocol::cma_put, [](auto& p) { p[1].posts.clear(); }), HasSubstr("knows no buffer"));
}

TEST(PlanVerifier, RefutesAPutIntoWhatIsStillInUse) {
    // The last fold of rank 0 takes a message into a slice that three sends read before: got, not put.
    const auto put_it = [](std::vector<Plan>& plans) {
        plans[0].operations.back().protocol = plans[1].operations.back().protocol = Protocol::cma_put;
        plans[0].posts.push_back({1, 0});
        plans[1].remotes.back() = {Memory::output, 0};
    };
    EXPECT_THAT(why_direct(Protocol::cma_put, put_it), HasSubstr("touches its slice before"));
}

// A send that is over when acknowledged may still be read when a later short one is over.
TEST(PlanVerifier, RefutesAWaitForALaterShortSendInsteadOfOneThatIsGot) {
    const Problem problem = problem_of(Collective::all_reduce, 2, n, true);
    const std::vector<Schedule> schedules = schedules_of(2, [](std::vector<Builder>& rank) {
        const Slice scratch = rank[1].scratch(n);
        rank[0].send(1, output.part(0, 3));
        rank[1].recv(0, scratch.part(0, 3));
        rank[0].send(1, output.part(3, 1));
        rank[1].recv(0, scratch.part(3, 1));
        const std::array terms = {Term::local(scratch), Term::local(output)};
        rank[1].fold(terms, output);
        rank[1].send(0, output);
        const std::array message = {Term::message(1)};
        rank[0].fold(message, output);
    });
    CompileOptions options;
    options.inline_bytes = sizeof(float);
    options.protocol = Protocol::cma_get;
    std::vector<Plan> plans = {compile(problem, schedules[0], options), compile(problem, schedules[1], options)};
    EXPECT_EQ(refute(problem, plans).value_or("proved"), "proved");
    Operation& fold = plans[0].operations.back();
    ASSERT_EQ(fold.hazard_count, 2u);
    ++fold.first_hazard;
    fold.hazard_count = 1;
    EXPECT_THAT(refute(problem, plans).value_or("proved"), HasSubstr("does not list it"));
}

}  // namespace
}  // namespace attune::collectives

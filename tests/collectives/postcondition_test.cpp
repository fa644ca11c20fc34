// What each collective promises, tripped by schedules that are right but for it.
#include "collectives/amounts.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/verifier.hpp"
#include "collectives/verify/postcondition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace attune::collectives {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t n = 4;

Problem problem_of(Collective collective, bool in_place = false) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = 3;
    problem.count = n;
    problem.in_place = in_place;
    return problem;
}

std::string why(const Problem& problem, const std::string& algorithm, const std::function<void(std::vector<Schedule>&)>& change) {
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
        schedules.push_back(generate(problem, *find_algorithm(problem.collective, algorithm), {}, rank));
    if (const auto reason = refute(problem, schedules)) return "unchanged: " + *reason;
    change(schedules);
    return refute(problem, schedules).value_or("proved");
}

Step copy_step(BufferId from, std::uint64_t source, BufferId to, std::uint64_t destination, std::uint64_t length) {
    Step step;
    step.source = from;
    step.source_offset = source;
    step.destination = to;
    step.destination_offset = destination;
    step.length = length;
    return step;
}

TEST(Postcondition, OfAReduceLeavesOtherRanksBuffersAlone) {
    const auto no_change = [](auto&) {};
    EXPECT_EQ(why(problem_of(Collective::reduce, true), "binomial", no_change), "proved");
    EXPECT_THAT(why(problem_of(Collective::reduce), "linear", [](auto& s) { s[1].steps.push_back(copy_step(BufferId::input, 0, BufferId::output, 0, n)); }),
                HasSubstr("writes outside its buffer"));
    EXPECT_THAT(why(problem_of(Collective::reduce, true), "linear",
                    [](auto& s) {
                        s[1].scratch_elements = n;
                        s[1].steps.push_back(copy_step(BufferId::input, 0, BufferId::scratch, 0, n));
                        s[1].steps.push_back(copy_step(BufferId::scratch, 1, BufferId::input, 0, 1));
                    }),
                HasSubstr("rank 1 writes element 0 of its buffers, which is no result"));
    EXPECT_THAT(why(problem_of(Collective::reduce), "linear", [](auto& s) { s[0].steps.clear(), s[1].steps.clear(), s[2].steps.clear(); }),
                HasSubstr("rank 0 output element 0 is never written"));
}

TEST(Postcondition, OfAScanIsTheFoldUpToTheRank) {
    // Rank 1 sends its own vector on instead of the fold.
    const auto own_only = [](auto& s) {
        for (Step& step : s[1].steps)
            if (step.kind == StepKind::send) step.source = BufferId::input;
    };
    EXPECT_THAT(why(problem_of(Collective::scan), "linear", own_only),
                HasSubstr("rank 2 output element 0 holds (r1 + r2) of input element 0, not ranks 0 to 2"));
    EXPECT_THAT(why(problem_of(Collective::exscan), "linear", own_only), HasSubstr("rank 2 output element 0 holds r1 of input element 0, not ranks 0 to 1"));
}

TEST(Postcondition, OfAnExscanLeavesTheOutputOfRankZeroAlone) {
    for (const char* algorithm : {"linear", "recursive_doubling"}) {
        EXPECT_THAT(
            why(problem_of(Collective::exscan), algorithm, [](auto& s) { s[0].steps.push_back(copy_step(BufferId::input, 0, BufferId::output, 0, n)); }),
            HasSubstr("rank 0 writes element 4 of its buffers, which is no result"));
    }
}

TEST(Postcondition, OfAnAverageIsScaledExactlyOnce) {
    Problem average = problem_of(Collective::all_reduce);
    average.op = core::Op::avg;
    const auto last_is_scale = [](auto& s) { return s[0].steps.back().kind == StepKind::scale; };
    EXPECT_THAT(why(average, "one_shot",
                    [&](auto& s) {
                        ASSERT_TRUE(last_is_scale(s));
                        s[0].steps.pop_back();
                    }),
                HasSubstr("not every rank once, scaled once"));
    EXPECT_THAT(why(average, "one_shot",
                    [](auto& s) {
                        Step again = s[2].steps.back();
                        again.joined = false;
                        s[2].steps.push_back(again);
                    }),
                HasSubstr("holds scaled(scaled("));
    // A sum must not be divided, nor the average of one rank.
    EXPECT_THAT(why(problem_of(Collective::all_reduce), "one_shot",
                    [](auto& s) {
                        s[1].steps.push_back(s[1].steps.back());
                        s[1].steps.back().kind = StepKind::scale;
                    }),
                HasSubstr("not every rank once of"));
    average.ranks = 1;
    EXPECT_EQ(why(average, "ring", [](auto&) {}), "proved");
}

// Divided before it is rounded on one rank and after on another, a 16-bit average could have other bits.
TEST(Postcondition, OfAnAverageIsScaledWithinTheFoldOnAllRanksOrOnNone) {
    Problem average = problem_of(Collective::all_reduce);
    average.op = core::Op::avg;
    const auto apart = [](Schedule& schedule) { schedule.steps.back().joined = false; };
    EXPECT_THAT(why(average, "one_shot", [&](auto& s) { apart(s[1]); }), HasSubstr("their bits may differ"));
    EXPECT_EQ(why(average, "one_shot", [&](auto& s) { apart(s[0]), apart(s[1]), apart(s[2]); }), "proved");
}

TEST(Postcondition, OfBlocksNamesTheirOwner) {
    const auto swap_blocks = [](auto& s) {
        for (Step& step : s[0].steps)
            if (step.kind == StepKind::recv) step.destination_offset = step.destination_offset == n ? 2 * n : n;
    };
    EXPECT_THAT(why(problem_of(Collective::gather), "linear", swap_blocks), HasSubstr("rank 0 output element 4 holds r2 of input element 0, not r1 of 0"));
    EXPECT_THAT(why(problem_of(Collective::all_to_all), "windowed", swap_blocks),
                HasSubstr("rank 0 output element 4 holds r2 of input element 0, not r1 of 0"));
    EXPECT_THAT(why(problem_of(Collective::scatter), "linear",
                    [](auto& s) {
                        for (Step& step : s[0].steps)
                            if (step.kind == StepKind::send && step.peer == 2) step.source_offset = n;
                    }),
                HasSubstr("rank 2 output element 0 holds r0 of input element 4, not r0 of 8"));
}

TEST(Postcondition, OfABatchKeepsTheOrderOfMessagesBetweenTwoRanks) {
    Problem batch = problem_of(Collective::batch_send_recv);
    batch.count = 0;
    batch.ranks = 2;
    batch.amounts = std::make_shared<const Amounts>(Amounts{.transfers = {{true, 1, 3, 0, 0}, {true, 1, 3, 3, 0}, {false, 0, 3, 10, 1}, {false, 0, 3, 5, 1}}});
    EXPECT_EQ(why(batch, "linear", [](auto&) {}), "proved");
    EXPECT_THAT(why(batch, "linear", [](auto& s) { std::swap(s[1].steps[0], s[1].steps[1]); }),
                HasSubstr("rank 1 output element 5 holds r0 of input element 0, not r0 of 3"));
}

TEST(Postcondition, LeavesGapsBetweenBlocksAlone) {
    Problem gathers = problem_of(Collective::all_gather_v);
    gathers.count = 0;
    gathers.amounts = std::make_shared<const Amounts>(Amounts{.receive = {1, 2, 3}, .receive_offsets = {7, 0, 3}});
    EXPECT_EQ(why(gathers, "ring", [](auto&) {}), "proved");
    EXPECT_THAT(why(gathers, "ring", [](auto& s) { s[0].steps.push_back(copy_step(BufferId::input, 0, BufferId::output, 2, 1)); }),
                HasSubstr("rank 0 writes element 3 of its buffers, which is no result"));
}

TEST(Promises, CoverEveryOutputOfEveryCollectiveThatHasOne) {
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                        Collective::all_to_all, Collective::scatter, Collective::scan}) {
        std::uint64_t covered = 0;
        for (const verify::Promise& promise : verify::promises_of(problem_of(collective), 1))
            covered += promise.length;
        EXPECT_EQ(covered, problem_of(collective).output_elements(1)) << name_of(collective);
    }
}

}  // namespace
}  // namespace attune::collectives

// Each thing the verifier refutes, tripped by a small schedule that is right but for it.
#include "collectives/verifier.hpp"

#include "collectives/builder.hpp"
#include "collectives/composition.hpp"
#include "libcore/error.hpp"
#include "tests/collectives/small_schedules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

namespace attune::collectives {
namespace {

using testing::HasSubstr;
using namespace small;

std::string why(const Problem& problem, const std::vector<Schedule>& schedules) {
    return refute(problem, schedules).value_or("proved");
}

std::string why_exchange(const std::function<void(std::vector<Schedule>&)>& change) {
    std::vector<Schedule> schedules = exchange();
    change(schedules);
    return why(problem_of(Collective::all_reduce, 2, n), schedules);
}

TEST(Verifier, ProvesAnExchange) {
    EXPECT_EQ(why_exchange([](auto&) {}), "proved");
}

TEST(Verifier, RefutesTheWrongNumberOrOrderOfSchedules) {
    EXPECT_THAT(why_exchange([](auto& s) { s.pop_back(); }), HasSubstr("2 ranks need as many programs, not 1"));
    EXPECT_THAT(why_exchange([](auto& s) { std::swap(s[0], s[1]); }), HasSubstr("belongs to rank 1"));
}

TEST(Verifier, RefutesARootThatIsNoRank) {
    Problem problem = problem_of(Collective::broadcast, 2, n);
    problem.root = 2;
    EXPECT_THAT(why(problem, exchange()), HasSubstr("root 2"));
}

TEST(Verifier, RefusesProblemsItCannotHold) {
    EXPECT_THROW(refute(problem_of(Collective::all_reduce, 2, std::uint64_t{1} << 60), exchange()), core::Error);
    std::vector<Schedule> schedules = exchange();
    schedules[1].scratch_elements = std::numeric_limits<std::uint64_t>::max();
    EXPECT_THROW(refute(problem_of(Collective::all_reduce, 2, n), schedules), core::Error);
}

TEST(Verifier, RefutesSlicesOutsideTheirBuffers) {
    EXPECT_THAT(why_exchange([](auto& s) { s[1].steps[0].source_offset = 1; }), HasSubstr("rank 1 step 0 (send 0 input[1,5) ch0) reads outside"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[1].destination_offset = 1; }), HasSubstr("writes outside"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].source_offset = 3; }), HasSubstr("reads outside"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].source = BufferId::scratch; }), HasSubstr("reads outside"));
}

TEST(Verifier, RefutesSlicesWhoseEndOverflows) {
    EXPECT_THAT(why_exchange([](auto& s) {
                    s[1].steps[0].source_offset = std::numeric_limits<std::uint64_t>::max() - 1;
                    s[1].steps[0].length = n;
                }),
                HasSubstr("reads outside"));
}

TEST(Verifier, RefutesPeersThatAreNoOtherRank) {
    for (const Rank peer : {-1, 0, 2}) {
        EXPECT_THAT(why_exchange([&](auto& s) { s[0].steps[0].peer = peer; }), HasSubstr("names peer"));
        EXPECT_THAT(why_exchange([&](auto& s) { s[0].steps[1].peer = peer; }), HasSubstr("names peer"));
    }
}

TEST(Verifier, RefutesWritesToTheInputOutOfPlace) {
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[1].destination = s[0].steps[2].destination = BufferId::input; }), HasSubstr("writes the input"));
}

TEST(Verifier, RefutesBrokenFolds) {
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[0].joined = true; }), HasSubstr("joins a step of another channel"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[1].joined = true; }), HasSubstr("is a send in a fold"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].joined = false; }), HasSubstr("reduces without a fold"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].kind = StepKind::copy; }), HasSubstr("is a copy inside a fold"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].kind = StepKind::send; }), HasSubstr("is a send in a fold"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].length = n - 1; }), HasSubstr("joins a fold of another slice"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].channel = 1; }), HasSubstr("joins a step of another channel"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].kind = static_cast<StepKind>(9); }), HasSubstr("has no kind"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[0].channel = max_channels; }), HasSubstr("is on no channel"));
}

TEST(Verifier, RefutesAScaleThatDoesNotEndItsFoldOrThatNobodyAskedFor) {
    Step scale;
    scale.kind = StepKind::scale;
    scale.joined = true;
    scale.length = n;
    EXPECT_THAT(why_exchange([&](auto& s) { s[0].steps.insert(s[0].steps.begin() + 2, scale); }), HasSubstr("is a scale that does not end its fold"));
    EXPECT_THAT(why_exchange([&](auto& s) { s[0].steps.push_back(scale); }), HasSubstr("scaled"));
    scale.joined = false;
    EXPECT_THAT(why_exchange([&](auto& s) { s[0].steps.push_back(scale); }), HasSubstr("scaled"));
}

TEST(Verifier, RefutesSourcesThatOverlapTheirDestinationInPart) {
    const auto schedules = schedules_of(1, [](std::vector<Builder>& rank) {
        rank[0].copy(input, output);
        rank[0].copy(output.part(0, 2), output.part(1, 2));
    });
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 1, n), schedules), HasSubstr("overlaps its destination in part"));
}

TEST(Verifier, RefutesMessagesWithoutAReceiverAndReceiversWithoutAMessage) {
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps.insert(s[0].steps.begin(), s[0].steps[0]); }), HasSubstr("rank 1 never receives it"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps.erase(s[0].steps.begin()); }), HasSubstr("a message that was never sent"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[0].length = n - 1; }), HasSubstr("lengths differ"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[0].channel = 1; }), HasSubstr("a message that was never sent"));
}

TEST(Verifier, RefutesReadsBeforeWrites) {
    const auto sends_output = schedules_of(2, [](std::vector<Builder>& rank) {
        rank[0].send(1, output);
        rank[1].recv(0, output);
        rank[0].copy(input, output);
    });
    EXPECT_THAT(why(problem_of(Collective::broadcast, 2, n), sends_output), HasSubstr("before it is written"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps[2].source = BufferId::output; }), HasSubstr("not written yet"));
}

TEST(Verifier, RefutesAnInputThatOnlyTheRootHas) {
    const auto schedules = schedules_of(2, [](std::vector<Builder>& rank) {
        rank[0].copy(input, output);
        rank[1].copy(input, output);
    });
    EXPECT_THAT(why(problem_of(Collective::broadcast, 2, n), schedules), HasSubstr("rank 1 step 0"));
    EXPECT_THAT(why(problem_of(Collective::broadcast, 2, n, true), schedules), HasSubstr("rank 1 step 0"));
}

TEST(Verifier, RefutesMissingDoubleAndForeignContributions) {
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps.pop_back(); }), HasSubstr("holds r1 of input element 0, not every rank once"));
    EXPECT_THAT(why_exchange([](auto& s) { s[0].steps.push_back(s[0].steps[2]); }), HasSubstr("every rank once"));
    EXPECT_THAT(why_exchange([](auto& s) {
                    for (Schedule& schedule : s)
                        for (Step& step : schedule.steps)
                            step.length = n - 1;
                }),
                HasSubstr("output element 3 is never written"));
}

TEST(Verifier, RefutesFoldsOfDifferentElements) {
    const auto shift = [](std::vector<Schedule>& s) {
        for (Schedule& schedule : s)
            for (Step& step : schedule.steps)
                step.length = 2;
        s[0].steps[0].source_offset = 2;
    };
    EXPECT_THAT(why_exchange(shift), HasSubstr("combines different elements"));
}

TEST(Verifier, RefutesAGatherWithTwoBlocksExchanged) {
    const auto schedules = schedules_of(2, [](std::vector<Builder>& rank) {
        for (const Rank r : {0, 1}) {
            const std::uint64_t other = r == 0 ? 0 : n;  // should be the other way round
            rank[static_cast<std::size_t>(r)].send(1 - r, input);
            rank[static_cast<std::size_t>(r)].recv(1 - r, {BufferId::output, other, n});
            rank[static_cast<std::size_t>(r)].copy(input, {BufferId::output, n - other, n});
        }
    });
    EXPECT_THAT(why(problem_of(Collective::all_gather, 2, n), schedules), HasSubstr("holds r1 of input element 0, not r0 of 0"));
}

TEST(Verifier, DemandsTheSameTreeOnAllRanksUpToTheFirstTwoOperands) {
    const auto fold_in_order = [](const std::array<std::array<Rank, 3>, 3>& orders) {
        return schedules_of(3, [&](std::vector<Builder>& rank) {
            for (Rank r = 0; r < 3; ++r) {
                Builder& builder = rank[static_cast<std::size_t>(r)];
                for (Rank q = 0; q < 3; ++q)
                    if (q != r) builder.send(q, input);
                std::vector<Term> terms;
                for (const Rank q : orders[static_cast<std::size_t>(r)])
                    terms.push_back(q == r ? Term::local(input) : Term::message(q));
                builder.fold(terms, output);
            }
        });
    };
    const Problem problem = problem_of(Collective::all_reduce, 3, n);
    EXPECT_EQ(why(problem, fold_in_order({{{0, 1, 2}, {1, 0, 2}, {0, 1, 2}}})), "proved");
    EXPECT_THAT(why(problem, fold_in_order({{{0, 1, 2}, {0, 1, 2}, {2, 1, 0}}})), HasSubstr("their bits may differ"));
}

TEST(Verifier, RefutesDeadlockEvenWhenSendsAreBuffered) {
    const auto schedules = schedules_of(2, [](std::vector<Builder>& rank) {
        for (const Rank r : {0, 1}) {
            rank[static_cast<std::size_t>(r)].recv_reduce(1 - r, input, output);
            rank[static_cast<std::size_t>(r)].send(1 - r, input);
        }
    });
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 2, n), schedules), HasSubstr("deadlock even when sends are buffered"));
}

TEST(Verifier, RefutesDeadlockUnderRendezvousWhereEachOverwritesWhatTheOtherReads) {
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 2, n, true), exchange()), HasSubstr("deadlock under rendezvous"));
}

TEST(Verifier, RefutesMulticastsThatWaitInACircleOnceLongerThanTheWindow) {
    const auto gather = [](const std::function<std::array<Rank, 2>(Rank)>& order) {
        return schedules_of(3, [&](std::vector<Builder>& rank) {
            for (Rank r = 0; r < 3; ++r) {
                Builder& builder = rank[static_cast<std::size_t>(r)];
                const std::array peers = {(r + 1) % 3, (r + 2) % 3};
                builder.multicast(peers, input);
                builder.copy(input, {BufferId::output, static_cast<std::uint64_t>(r) * n, n});
                for (const Rank q : order(r))
                    builder.recv(q, {BufferId::output, static_cast<std::uint64_t>(q) * n, n});
            }
        });
    };
    const Problem problem = problem_of(Collective::all_gather, 3, n);
    const auto from_neighbor = [](Rank r) { return std::array<Rank, 2>{(r + 2) % 3, (r + 1) % 3}; };
    const auto ascending = [](Rank r) { return std::array<Rank, 2>{r == 0 ? 1 : 0, r == 2 ? 1 : 2}; };
    EXPECT_THAT(why(problem, gather(from_neighbor)), HasSubstr("deadlock under a window of one fragment"));
    EXPECT_EQ(why(problem, gather(ascending)), "proved");
}

TEST(Verifier, RefutesTwoMessagesOfOnePeerInOneFold) {
    const auto schedules = schedules_of(2, [](std::vector<Builder>& rank) {
        rank[0].send(1, input.part(0, 2));
        rank[0].copy(input, output);
        rank[0].send(1, input.part(0, 2));
        const std::array terms = {Term::message(0), Term::message(0)};
        rank[1].fold(terms, output.part(0, 2));
    });
    EXPECT_THAT(why(problem_of(Collective::broadcast, 2, n), schedules), HasSubstr("deadlock under a window"));
}

// Rank 0 sends its output and gets something back into it; it may post that slice at call start. Rank 1 must have read before it writes.
TEST(Verifier, RefutesAPutIntoASliceThatThePutterHasNotReadYet) {
    const auto schedules = [](bool reads_first) {
        return schedules_of(2, [&](std::vector<Builder>& rank) {
            rank[0].send(1, output);
            rank[0].recv(1, output);
            const Slice scratch = rank[1].scratch(n);
            if (reads_first) rank[1].recv(0, scratch);
            rank[1].copy(input, output);
            rank[1].send(0, output);
            if (!reads_first) rank[1].recv(0, scratch);
        });
    };
    const std::string race = why(problem_of(Collective::all_reduce, 2, n, true), schedules(false));
    EXPECT_THAT(race, HasSubstr("put_posted"));
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 2, n, true), schedules(true)), testing::Not(HasSubstr("put_posted")));
}

TEST(Verifier, RefutesChannelsThatTouchTheSameElements) {
    const auto with = [](std::uint64_t second_begin, std::uint64_t second_length) {
        std::vector<Program> programs(2);
        for (std::size_t channel = 0; channel < 2; ++channel) {
            Builder builder(0);
            const Slice whole = channel == 0 ? input.part(0, 2) : input.part(second_begin, second_length);
            builder.copy(whole, {BufferId::output, whole.offset, whole.length});
            builder.end_round();
            programs[channel] = builder.finish();
        }
        return std::vector<Schedule>{split(programs)};
    };
    EXPECT_EQ(why(problem_of(Collective::all_reduce, 1, n), with(2, 2)), "proved");
    EXPECT_THAT(why(problem_of(Collective::all_reduce, 1, n), with(1, 3)), HasSubstr("channels that conflict"));
}

TEST(Verifier, DemandsThatABarrierKnowsOfEveryRank) {
    const auto schedules = [](bool complete) {
        return schedules_of(3, [&](std::vector<Builder>& rank) {
            const Slice nothing{BufferId::output, 0, 0};
            for (const Rank r : {1, 2}) {
                rank[static_cast<std::size_t>(r)].send(0, nothing);
                rank[0].recv(r, nothing);
            }
            rank[0].send(1, nothing);
            rank[1].recv(0, nothing);
            if (!complete) return;
            rank[0].send(2, nothing);
            rank[2].recv(0, nothing);
        });
    };
    EXPECT_EQ(why(problem_of(Collective::barrier, 3, 0), schedules(true)), "proved");
    EXPECT_EQ(why(problem_of(Collective::barrier, 3, 0), schedules(false)), "rank 2 may end before rank 0 starts");
}

}  // namespace
}  // namespace attune::collectives

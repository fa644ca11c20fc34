// The parts of an arena rank that need no collective: work as text, shared area, packets, meeting, buffers.
#include "libcore/error.hpp"
#include "tuner/engine/arrival.hpp"
#include "tuner/engine/buffer_ring.hpp"
#include "tuner/engine/completion.hpp"
#include "tuner/engine/meeting.hpp"
#include "tuner/engine/shared_area.hpp"
#include "tuner/engine/work_text.hpp"
#include "tuner/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace attune::tuner::engine {
namespace {

constexpr std::int64_t patient_ns = 60'000'000'000;

Work example_work() {
    Work work;
    work.problem.collective = collectives::Collective::reduce_scatter;
    work.problem.ranks = 3;
    work.problem.count = 12'345'678'901;
    work.problem.dtype = core::DType::int64;
    work.problem.op = core::Op::max;
    work.problem.in_place = true;
    work.problem.node_map = "1x3";
    work.configs = {core::Config::parse("algorithm=ring,segment_bytes=64K"), core::Config::parse("algorithm=one_shot")};
    return work;
}

TEST(WorkText, ParsingWhatWasPrintedGivesTheSameWork) {
    Work work = example_work();
    EXPECT_EQ(parse_work(print_work(work)).problem, work.problem);
    EXPECT_EQ(parse_work(print_work(work)).configs, work.configs);
    work.problem.node_map.clear();
    work.problem.in_place = false;
    work.configs.clear();
    EXPECT_EQ(parse_work(print_work(work)).problem, work.problem);
    EXPECT_TRUE(parse_work(print_work(work)).configs.empty());
}

TEST(WorkText, AmountsAndTheWayBackTravelAlong) {
    Work work = example_work();
    work.and_back = true;
    collectives::Amounts amounts;
    amounts.send = {1, 0, std::uint64_t{1} << 60};
    amounts.receive_offsets = {5};
    amounts.matrix = {0, 0, 7};
    amounts.destination = 2;
    amounts.transfers = {{.is_send = true, .peer = 1, .count = 3, .offset = 9, .rank = 0}, {.is_send = false, .peer = 0, .count = 3, .offset = 0, .rank = -1}};
    work.problem.amounts = std::make_shared<const collectives::Amounts>(amounts);
    const Work read = parse_work(print_work(work));
    EXPECT_EQ(read.problem, work.problem);
    EXPECT_TRUE(read.and_back);
    EXPECT_EQ(read.configs, work.configs);
}

TEST(WorkText, DamagedWorkIsRefused) {
    for (const char* text : {"", "all_reduce", "all_reduce 2 8 float32 sum 0 out - once", "all_reduce 2 x float32 sum 0 out - once\n-",
                             "all_reduce 2 8 float32 sum 0 out - once more\n-", "send_recv 2 8 float32 sum 0 out - once\n1 2"}) {
        EXPECT_THROW(parse_work(text), core::Error) << text;
    }
}

TEST(SharedArea, RowsOfRanksDoNotOverlapAndAreSeenThroughASecondMapping) {
    SharedArea area = SharedArea::create(3);
    SharedArea other = SharedArea::attach(area.descriptor(), 3);
    for (int rank = 0; rank < 3; ++rank) {
        std::ranges::fill(area.starts(rank), 10 * rank + 1);
        std::ranges::fill(area.ends(rank), 10 * rank + 2);
        area.lines(rank).arrived.value = 100 + static_cast<std::uint64_t>(rank);
    }
    area.write_text("hello");
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(std::ranges::count(other.starts(rank), 10 * rank + 1), static_cast<std::ptrdiff_t>(SharedArea::row_capacity));
        EXPECT_EQ(std::ranges::count(other.ends(rank), 10 * rank + 2), static_cast<std::ptrdiff_t>(SharedArea::row_capacity));
        EXPECT_EQ(other.lines(rank).arrived.value.load(), 100 + static_cast<std::uint64_t>(rank));
    }
    EXPECT_EQ(other.text(5), "hello");
}

TEST(SharedArea, TextLargerThanTheAreaIsRefused) {
    SharedArea area = SharedArea::create(1);
    EXPECT_THROW(area.write_text(std::string(SharedArea::text_capacity + 1, 'x')), core::Error);
}

TEST(Packets, ARecordAndADescriptorArriveTogetherAndAWrongLengthIsRefused) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    SharedArea area = SharedArea::create(2);
    area.write_text("shared");
    engine::Setup setup;
    setup.ranks = 2;
    send_packet(ends[0], bytes_of(setup), area.descriptor());
    engine::Setup got;
    int descriptor = -1;
    EXPECT_TRUE(receive_packet(ends[1], std::as_writable_bytes(std::span(&got, 1)), &descriptor));
    EXPECT_EQ(got.ranks, 2);
    EXPECT_EQ(SharedArea::attach(descriptor, 2).text(6), "shared");
    ::close(descriptor);
    send_packet(ends[0], bytes_of(setup));
    Command command;
    EXPECT_THROW(receive_packet(ends[1], std::as_writable_bytes(std::span(&command, 1))), core::Error);
    ::close(ends[0]);
    EXPECT_FALSE(receive_packet(ends[1], std::as_writable_bytes(std::span(&command, 1))));
    EXPECT_THROW(send_packet(ends[1], bytes_of(command)), core::Error);
    ::close(ends[1]);
}

void on_ranks(int ranks, bool oversubscribed, const std::function<void(Meeting&)>& body, SharedArea& area) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            Meeting meeting(area, rank, oversubscribed, patient_ns);
            body(meeting);
        });
    }
}

TEST(Meeting, NobodyLeavesABarrierBeforeAllHaveEntered) {
    for (const int ranks : {1, 2, 5}) {
        SharedArea area = SharedArea::create(ranks);
        std::atomic<int> entered{0};
        std::atomic<int> early{0};
        on_ranks(
            ranks, true,
            [&](Meeting& meeting) {
                for (int round = 1; round <= 50; ++round) {
                    entered.fetch_add(1);
                    meeting.barrier();
                    if (entered.load() < round * ranks) early.fetch_add(1);
                    meeting.barrier();
                }
            },
            area);
        EXPECT_EQ(early.load(), 0) << ranks << " ranks";
    }
}

TEST(Meeting, ACommonStartLiesAfterEveryArrival) {
    for (const bool oversubscribed : {false, true}) {
        SharedArea area = SharedArea::create(2);
        std::array<std::array<std::int64_t, 50>, 2> arrivals{};
        std::array<std::array<std::int64_t, 50>, 2> starts{};
        on_ranks(
            2, oversubscribed,
            [&](Meeting& meeting) {
                const auto rank = static_cast<std::size_t>(meeting.rank());
                for (std::size_t round = 0; round < 50; ++round) {
                    arrivals[rank][round] = core::now_ns();
                    starts[rank][round] = meeting.common_start();
                }
            },
            area);
        for (std::size_t round = 0; round < 50; ++round) {
            const std::int64_t last = std::max(arrivals[0][round], arrivals[1][round]);
            EXPECT_GE(starts[0][round], last);
            EXPECT_GE(starts[1][round], last);
        }
    }
}

TEST(Meeting, WaitingEndsWhenAnotherRankGivesUp) {
    SharedArea area = SharedArea::create(2);
    Meeting first(area, 0, true, patient_ns);
    Meeting second(area, 1, true, patient_ns);
    second.give_up();
    EXPECT_THROW(first.barrier(), core::Error);
}

TEST(Meeting, WaitingEndsAtTheTimeout) {
    SharedArea area = SharedArea::create(2);
    Meeting first(area, 0, true, 1'000'000);
    EXPECT_THROW(first.barrier(), core::Error);
}

collectives::Problem gather_problem(bool in_place) {
    collectives::Problem problem;
    problem.collective = collectives::Collective::all_gather;
    problem.ranks = 4;
    problem.count = 100;
    problem.in_place = in_place;
    return problem;
}

TEST(BufferRing, InPlaceThereIsOneBufferAndOwnDataLiesAtTheRanksSlice) {
    BufferRing ring(gather_problem(true), 2, 1 << 20);
    EXPECT_EQ(ring.input_buffer().data(), ring.output());
    EXPECT_EQ(ring.own_input().data(), ring.output() + 2 * 400);
    EXPECT_EQ(ring.own_input().size(), 400u);
    EXPECT_EQ(ring.own_output().size(), 1600u);
    EXPECT_EQ(ring.output_buffer().size(), 1600u);
    BufferRing apart(gather_problem(false), 2, 1 << 20);
    EXPECT_NE(apart.input_buffer().data(), apart.output());
    EXPECT_EQ(apart.input_buffer().size(), 400u);
}

TEST(BufferRing, TheRingIsLargerThanTwiceTheCacheAndItsPairsAreApart) {
    constexpr std::size_t cache = 1 << 20;
    for (const bool in_place : {false, true}) {
        BufferRing ring(gather_problem(in_place), 1, cache);
        ring.make_ring();
        EXPECT_GT(ring.pairs() * (in_place ? 1600 : 2048), 2 * cache);  // whole lines of data
        std::set<std::byte*> outputs;
        for (std::uint64_t turn = 0; turn < ring.pairs(); ++turn)
            outputs.insert(ring.pair(turn).output);
        EXPECT_EQ(outputs.size(), ring.pairs());
        EXPECT_EQ(ring.pair(0).output, ring.pair(ring.pairs()).output);
        EXPECT_EQ(ring.pair(0).input == ring.pair(0).output, in_place);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring.pair(3).output) % 64, 0u);
    }
}

TEST(BufferRing, TheRingIsBoundedForHugeCaches) {
    BufferRing ring(gather_problem(false), 1, std::size_t{1} << 40);
    ring.make_ring();
    EXPECT_LE(ring.pairs() * 2000, std::size_t{256} << 20);
    EXPECT_GT(ring.pairs() * 2000, std::size_t{200} << 20);
}

TEST(BufferRing, RanksThatPassNothingHaveNoElements) {
    collectives::Problem problem = gather_problem(false);
    problem.collective = collectives::Collective::gather;
    problem.root = 1;
    BufferRing root(problem, 1, 1 << 20), other(problem, 2, 1 << 20);
    EXPECT_EQ(root.own_output().size(), 1600u);
    EXPECT_EQ(other.own_output().size(), 0u);
    problem.collective = collectives::Collective::scatter;
    BufferRing receiver(problem, 2, 1 << 20);
    EXPECT_EQ(receiver.own_input().size(), 0u);
    EXPECT_EQ(receiver.hot_pair().touched, nullptr);
}

TEST(BufferRing, WhoSendsAMessageHasRoomForItsAnswer) {
    collectives::Problem problem;
    problem.collective = collectives::Collective::send_recv;
    problem.ranks = 2;
    problem = with_partners(problem, PairPattern::one_way, 100);
    for (const int rank : {0, 1}) {
        BufferRing ring(problem, rank, 1 << 20);
        EXPECT_EQ(ring.input_buffer().size(), 400u);
        EXPECT_EQ(ring.output_buffer().size(), 400u);
        EXPECT_EQ(ring.own_output().size(), rank == 0 ? 0u : 400u);
    }
}

TEST(Arrival, IsBetweenTheCommonStartAndTheLatestTime) {
    for (const Skew skew : {Skew::none, Skew::uniform, Skew::one_late, Skew::ramp}) {
        const Arrival arrival{skew, 1000, 3};
        std::set<std::int64_t> seen;
        for (std::uint64_t iteration = 0; iteration < 20; ++iteration) {
            for (int rank = 0; rank < 5; ++rank) {
                const std::int64_t after = arrival.after_ns(iteration, rank, 5);
                EXPECT_GE(after, 0);
                EXPECT_LE(after, 1000);
                EXPECT_EQ(after, arrival.after_ns(iteration, rank, 5));
                seen.insert(after);
            }
        }
        EXPECT_EQ(seen.size() > 1, skew != Skew::none);
        EXPECT_EQ(arrival.after_ns(0, 0, 1) == 0 || skew == Skew::uniform || skew == Skew::one_late, true);
    }
}

TEST(Arrival, OneIsLateInTurnsAndARampGoesRankByRank) {
    const Arrival one{Skew::one_late, 1000, 1};
    for (std::uint64_t iteration = 0; iteration < 6; ++iteration) {
        for (int rank = 0; rank < 3; ++rank)
            EXPECT_EQ(one.after_ns(iteration, rank, 3), iteration % 3 == static_cast<std::uint64_t>(rank) ? 1000 : 0);
    }
    const Arrival ramp{Skew::ramp, 1000, 1};
    EXPECT_EQ(ramp.after_ns(7, 0, 5), 0);
    EXPECT_EQ(ramp.after_ns(7, 1, 5), 250);
    EXPECT_EQ(ramp.after_ns(7, 4, 5), 1000);
}

// After complete() whoever is to wait has seen the others' call.
TEST(Completion, NobodyGoesOnBeforeTheRanksItWaitsFor) {
    using collectives::Collective;
    for (const Collective collective : {Collective::broadcast, Collective::reduce, Collective::scan, Collective::all_to_all_v}) {
        SharedArea area = SharedArea::create(3);
        std::array<std::atomic<int>, 3> calls{};
        std::atomic<int> early{0};
        collectives::Problem problem = gather_problem(false);
        problem.collective = collective;
        problem.ranks = 3;
        problem.root = 1;
        const CompletionKind kind = completion_kind(problem);
        on_ranks(
            3, true,
            [&](Meeting& meeting) {
                Completion completion(problem, meeting);
                const int one = collective == Collective::scan ? 2 : 1;
                for (int run = 0; run < 2; ++run) {
                    completion.begin();
                    meeting.barrier();
                    for (int call = 1; call <= 50; ++call) {
                        const int count = calls[static_cast<std::size_t>(meeting.rank())].fetch_add(1) + 1;
                        completion.complete();
                        const bool waits_for_all = kind == CompletionKind::all_for_all || (kind == CompletionKind::root_waits && meeting.rank() == one);
                        for (int peer = 0; peer < 3; ++peer) {
                            const bool waits = waits_for_all || (kind == CompletionKind::all_wait && peer == one);
                            if (waits && calls[static_cast<std::size_t>(peer)].load() < count) early.fetch_add(1);
                        }
                    }
                    EXPECT_GT(completion.cost_ns(), 0);
                }
            },
            area);
        EXPECT_EQ(early.load(), 0) << name_of(collective);
    }
}

TEST(Completion, IsNeededWhereARankCouldRunAhead) {
    using collectives::Collective;
    const std::set<Collective> none = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all, Collective::barrier};
    for (const Collective collective : collectives::all_collectives()) {
        collectives::Problem problem = gather_problem(false);
        problem.collective = collective;
        EXPECT_EQ(completion_kind(problem) == CompletionKind::none, none.contains(collective)) << name_of(collective);
    }
}

TEST(BufferRing, ABarrierNeedsNoBuffers) {
    collectives::Problem problem;
    problem.collective = collectives::Collective::barrier;
    problem.ranks = 2;
    BufferRing ring(problem, 0, 1 << 20);
    ring.make_ring();
    EXPECT_EQ(ring.pair(5).touched, nullptr);
}

}  // namespace
}  // namespace attune::tuner::engine

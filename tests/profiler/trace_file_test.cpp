// Traces come back as they were recorded, and everything else is refused in one line.
#include "profiler/trace_file.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/trace.hpp"
#include "profiler/breakdown.hpp"
#include "profiler/perfetto.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::profiler {
namespace {

using core::StepRecord;
using core::TraceKind;
using tests::TemporaryDirectory;

StepRecord record(TraceKind kind, std::uint32_t call, std::int32_t subject) {
    StepRecord made;
    made.begin = core::ticks();
    made.end = made.begin + 1;
    made.kind = static_cast<std::uint8_t>(kind);
    made.call = call;
    made.subject = subject;
    made.bytes = 64;
    return made;
}

// Two communicators of rank 3, more records than a stage holds. `leave` runs while the files are open.
constexpr std::uint32_t many = 10'000;
std::string write_trace(
    const TemporaryDirectory& folder, const std::function<void()>& leave = [] {}) {
    const std::string path = folder.file("rank-3.steps");
    const auto sink = core::open_trace_in_folder(path, 3, 77);
    const auto first = sink->open_steps({5, 3, 4}), second = sink->open_steps({6, 0, 2});
    const auto sum = static_cast<std::int32_t>(first->number_of("all_reduce 4 float32 sum, algorithm=ring"));
    const auto barrier = static_cast<std::int32_t>(second->number_of("barrier, algorithm=one_shot"));
    EXPECT_EQ(static_cast<std::int32_t>(second->number_of("all_reduce 4 float32 sum, algorithm=ring")), sum);
    for (std::uint32_t call = 1; call <= many; ++call)
        first->add(record(TraceKind::call, call, sum));
    second->add(record(TraceKind::wait, 0, 1));
    second->add(record(TraceKind::call, 1, barrier));
    leave();
    return path;
}

// What a process leaves that runs `work` and is then killed.
template <class Work>
void in_killed_process(Work work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        work();
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
}
const auto die = [] { ::kill(::getpid(), SIGKILL); };

std::string refusal(std::vector<std::byte> bytes, const std::function<void(std::vector<std::byte>&)>& change) {
    change(bytes);
    try {
        parse_trace(bytes, "some.steps");
    } catch (const core::Error& error) {
        EXPECT_EQ(error.exit_code(), 4);
        return error.what();
    }
    return "accepted";
}

TEST(TraceFile, ComesBackAsItWasRecorded) {
    const TemporaryDirectory folder;
    const RankTrace trace = read_trace(write_trace(folder));
    EXPECT_EQ(trace.rank, 3);
    EXPECT_EQ(trace.process, 77);
    EXPECT_EQ(trace.records, many + 2);
    EXPECT_EQ(trace.ends_early, "");
    ASSERT_EQ(trace.teams.size(), 2U);
    const auto team_of = [&](std::uint64_t number) -> const TeamEvents& { return trace.teams[trace.teams[0].source.team == number ? 0 : 1]; };
    ASSERT_EQ(team_of(5).events.size(), many);
    EXPECT_EQ(team_of(5).source.ranks, 4U);
    const Event& event = team_of(5).events.back();
    EXPECT_EQ(event.call, many);
    EXPECT_EQ(event.bytes, 64U);
    EXPECT_EQ(event.peer, -1);
    EXPECT_EQ(trace.texts[event.text], "all_reduce 4 float32 sum, algorithm=ring");
    EXPECT_EQ(team_of(6).events.front().peer, 1);
    EXPECT_EQ(trace.texts[team_of(6).events.back().text], "barrier, algorithm=one_shot");
    EXPECT_GE(event.end_ns, event.begin_ns);
}

TEST(TraceFile, ManyKindsOfEventsComeBack) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("rank-0.steps");
    std::vector<StepRecord> records;
    {
        const auto sink = core::open_trace_in_folder(path, 0, 1);
        const auto steps = sink->open_steps({1, 0, 2});
        for (const std::uint32_t call : {1U, 2U, 130U, 129U, 0U, 4'000'000'000U, 7U}) {
            for (const std::int32_t subject : {-1, 0, 32'767, 32'768, 2'000'000'000}) {
                for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{0xffff'ffff}, std::uint64_t{1} << 32, (std::uint64_t{1} << 48) - 1}) {
                    StepRecord& made = records.emplace_back(record(static_cast<TraceKind>(1 + records.size() % 4), call, subject));
                    made.bytes = bytes;
                    made.channel = records.size() % 7 == 0 ? 200 : records.size() % 4;
                    steps->add(made);
                }
            }
        }
    }
    const RankTrace trace = read_trace(path);
    ASSERT_EQ(trace.records, records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
        const Event& event = trace.teams[0].events[i];
        const StepRecord& made = records[i];
        EXPECT_EQ(std::tuple(event.bytes, event.call, event.peer), std::tuple(+made.bytes, made.call, made.subject)) << i;
        EXPECT_EQ(event.channel, made.channel) << i;
        EXPECT_EQ(static_cast<std::uint8_t>(event.kind), made.kind) << i;
    }
}

TEST(TraceFile, AddsTheOffsetOfItsClock) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("rank-0.steps");
    const std::int64_t before = core::now_ns();
    {
        const auto sink = core::open_trace_in_folder(path, 0, 1);
        sink->set_clock({-5'000'000'000, 700});
        sink->open_steps({1, 0, 2})->add(record(TraceKind::wait, 1, 1));
    }
    const std::int64_t after = core::now_ns();
    const RankTrace trace = read_trace(path);
    EXPECT_EQ(trace.clock_error_ns, 700);
    EXPECT_GE(trace.teams[0].events[0].begin_ns, before - 5'000'000'000);
    EXPECT_LE(trace.teams[0].events[0].begin_ns, after - 5'000'000'000);
}

TEST(TraceFile, OfAKilledProcessHasEveryEventBeforeTheKill) {
    const TemporaryDirectory folder;
    in_killed_process([&] { write_trace(folder, die); });
    const RankTrace trace = read_trace(folder.file("rank-3.steps"));
    EXPECT_EQ(trace.records, many + 2);
    EXPECT_NE(trace.ends_early, "");
    for (const TeamEvents& team : trace.teams)
        EXPECT_EQ(team.events.size(), team.source.team == 5 ? many : 2U);
}

TEST(TraceFile, ACommunicatorTakesTheStageOfOneThatEnded) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("rank-0.steps");
    constexpr std::uint64_t teams = 50;
    {
        const auto sink = core::open_trace_in_folder(path, 0, 1);
        for (std::uint64_t team = 1; team <= teams; ++team)
            sink->open_steps({team, 0, 1})->add(record(TraceKind::wait, 1, -1));
    }
    EXPECT_EQ(read_trace(path).teams.size(), teams);
    EXPECT_LT(core::read_whole_file(path).size(), 3 * core::TraceStage::bytes);
}

// The limit of a file's size stands for a full disk.
TEST(TraceFile, OfAFullDiskHasWhatFitted) {
    const TemporaryDirectory folder;
    in_killed_process([&] {
        const rlimit limit{150'000, 150'000};
        ::signal(SIGXFSZ, SIG_IGN);
        if (::setrlimit(RLIMIT_FSIZE, &limit) == 0) write_trace(folder);
        die();
    });
    const RankTrace trace = read_trace(folder.file("rank-3.steps"));
    EXPECT_NE(trace.ends_early.find("the disk was full"), std::string::npos);
    EXPECT_GT(trace.records, 1000U);
    EXPECT_LT(trace.records, many);
}

TEST(TraceFile, KeepsTheMonotonicClock) {
    const TemporaryDirectory folder;
    const std::int64_t before = core::now_ns();
    const std::string path = write_trace(folder);
    const std::int64_t after = core::now_ns();
    for (const TeamEvents& team : read_trace(path).teams) {
        for (const Event& event : team.events) {
            EXPECT_GE(event.begin_ns, before);
            EXPECT_LE(event.begin_ns, after);
        }
    }
}

TEST(TraceFile, IsItsOwnersAloneAndNeverOverwritten) {
    const TemporaryDirectory folder;
    const std::string path = write_trace(folder);
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    EXPECT_THROW(core::open_trace_in_folder(path, 3, 77), core::Error);
}

TEST(TraceFile, RefusesWhatIsNoTrace) {
    const std::string json = "[\n{\"name\":\"all_reduce\"}\n]\n";
    const auto bytes = std::as_bytes(std::span(json));
    EXPECT_NE(refusal({bytes.begin(), bytes.end()}, [](auto&) {}).find("'some.steps' is no trace of attune"), std::string::npos);
    EXPECT_NE(refusal({}, [](auto&) {}).find("is no trace"), std::string::npos);
    EXPECT_THROW(read_trace("/nowhere/at/all.steps"), core::Error);
}

TEST(TraceFile, RefusesEveryTruncation) {
    const TemporaryDirectory folder;
    const std::vector<std::byte> whole = core::read_whole_file(write_trace(folder));
    for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 2777) {
        const std::string why = refusal(whole, [&](auto& bytes) { bytes.resize(size); });
        EXPECT_NE(why.find(size < 8 ? "is no trace" : "cut short"), std::string::npos) << size << ": " << why;
    }
}

TEST(TraceFile, OfAKilledProcessIsReadWhereverItEnds) {
    const TemporaryDirectory folder;
    in_killed_process([&] { write_trace(folder, die); });
    std::vector<std::byte> bytes = core::read_whole_file(folder.file("rank-3.steps"));
    std::uint64_t records = many + 2;
    for (; bytes.size() > core::trace_header_bytes; bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), 2777))) {
        const RankTrace trace = parse_trace(bytes, "some.steps");
        EXPECT_LE(trace.records, records);
        records = trace.records;
    }
    EXPECT_EQ(records, 0U);
}

core::TraceBlockHeader block_at(const std::vector<std::byte>& bytes, std::size_t at) {
    core::TraceBlockHeader header;
    std::memcpy(&header, &bytes.at(at), sizeof(header));
    return header;
}

// Where the first block of a kind begins.
std::size_t find_block(const std::vector<std::byte>& bytes, core::TraceBlock kind) {
    std::size_t at = core::trace_header_bytes;
    while (block_at(bytes, at).kind != kind)
        at += sizeof(core::TraceBlockHeader) + block_at(bytes, at).bytes;
    return at;
}

// Makes the digests right again, of the file's header and of the block there.
void seal(std::vector<std::byte>& bytes, std::size_t at) {
    core::TraceFileHeader file;
    std::memcpy(&file, bytes.data(), sizeof(file));
    file.digest = core::digest_of(file);
    std::memcpy(bytes.data(), &file, sizeof(file));
    core::TraceBlockHeader block = block_at(bytes, at);
    const std::span<const std::byte> rest = std::span(bytes).subspan(at + sizeof(block));
    block.digest = core::digest_of(block, rest.first(std::min<std::size_t>(block.bytes, rest.size())));
    std::memcpy(&bytes.at(at), &block, sizeof(block));
}

TEST(TraceFile, RecordsThatAreAlsoStillInTheStageCountOnce) {
    const TemporaryDirectory folder;
    in_killed_process([&] { write_trace(folder, die); });
    std::vector<std::byte> bytes = core::read_whole_file(folder.file("rank-3.steps"));
    const std::size_t at = find_block(bytes, core::TraceBlock::stage);
    core::TraceBlockHeader stage = block_at(bytes, at);
    ASSERT_GT(stage.first, 5U);
    stage.first -= 5;
    std::memcpy(&bytes.at(at), &stage, sizeof(stage));
    EXPECT_EQ(parse_trace(bytes, "some.steps").records, many + 2 - 1);  // the first of them has five words
}

TEST(TraceFile, RefusesOtherVersionsAndDamage) {
    const TemporaryDirectory folder;
    const std::vector<std::byte> whole = core::read_whole_file(write_trace(folder));
    const std::size_t records = find_block(whole, core::TraceBlock::records), stage = find_block(whole, core::TraceBlock::stage);
    const std::size_t first_subject = sizeof(core::TraceBlockHeader) + 8 + 6;  // behind a pause; below it the call, in 4 bits
    const auto in_block = [&](std::size_t block, std::size_t at, auto value) {
        return refusal(whole, [&](auto& bytes) {
            std::memcpy(&bytes.at(block + at), &value, sizeof(value));
            if (block != 0) seal(bytes, block);
            if (block == 0) seal(bytes, records);
        });
    };
    const auto in_header = [&](std::size_t at, auto value) { return in_block(0, at, value); };
    EXPECT_NE(in_header(8, std::uint32_t{1}).find("has trace format 1 with words of 8 bytes, this version reads 3"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, state), std::uint32_t{7}).find("its state is 7"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, words), std::uint64_t{3}).find("says it has 3 words"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, latest), std::uint64_t{0}).find("a record makes no sense"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, latest) + 8, std::uint64_t{0}).find("clocks make no sense"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, clock_offset_ns), ~std::uint64_t{0} >> 1).find("clocks make no sense"), std::string::npos);
    EXPECT_NE(in_header(offsetof(core::TraceFileHeader, rank), ~std::uint32_t{0}).find("its rank makes no sense"), std::string::npos);
    EXPECT_NE(in_block(records, 0, std::uint32_t{0}).find("a block does not begin where it should"), std::string::npos);
    EXPECT_NE(in_block(records, 4, std::uint32_t{9}).find("a block of kind 9"), std::string::npos);
    EXPECT_NE(in_block(records, 8, ~std::uint64_t{0}).find("in the middle of a block"), std::string::npos);
    EXPECT_NE(in_block(records, offsetof(core::TraceBlockHeader, bytes), std::uint64_t{33}).find("a record is cut"), std::string::npos);
    EXPECT_NE(in_block(records, offsetof(core::TraceBlockHeader, source) + 8, std::uint32_t{9}).find("it has rank 9 of 4"), std::string::npos);
    EXPECT_NE(in_block(records, first_subject, std::uint16_t{99 << 4 | 1}).find("a record makes no sense"), std::string::npos);
    EXPECT_NE(in_block(stage, offsetof(core::TraceBlockHeader, count), std::uint64_t{9999}).find("a stage has 9999 words"), std::string::npos);
}

// A digest covers everything but stages and the rest of the first page, which hold nothing in a file that was closed.
bool is_covered(const std::vector<std::byte>& bytes, std::size_t at) {
    if (at < core::trace_header_bytes) return at < sizeof(core::TraceFileHeader);
    std::size_t block = core::trace_header_bytes;
    while (block + sizeof(core::TraceBlockHeader) + block_at(bytes, block).bytes <= at)
        block += sizeof(core::TraceBlockHeader) + block_at(bytes, block).bytes;
    return block_at(bytes, block).kind != core::TraceBlock::stage;
}

bool is_read(const std::vector<std::byte>& bytes, bool export_too) {
    try {
        const RankTrace trace = parse_trace(bytes, "some.steps");
        times_of(std::span(&trace, 1));
        calls_of(std::span(&trace, 1));
        late_ranks(std::span(&trace, 1));
        if (export_too) write_perfetto(std::span(&trace, 1), [](std::string_view) {});
        return true;
    } catch (const core::Error& error) {
        EXPECT_EQ(error.exit_code(), 4) << error.what();
        return false;
    }
}

TEST(TraceFile, NoFlippedBitHarmsAndThoseOfAClosedFileAreSeen) {
    const TemporaryDirectory folder, other;
    in_killed_process([&] { write_trace(other, die); });
    const std::string closed = write_trace(folder);
    std::mt19937 random(7);
    for (const std::string& path : {closed, other.file("rank-3.steps")}) {
        const std::vector<std::byte> whole = core::read_whole_file(path);
        std::vector<std::byte> bytes = whole;
        for (int turn = 0; turn < 300; ++turn) {
            const std::size_t at = random() % (turn % 3 == 0 ? sizeof(core::TraceFileHeader) : bytes.size());
            bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
            const bool read = is_read(bytes, turn % 30 == 0);
            // A flip that turns the state of a closed file into another one makes it the file of a killed process, whose header has no digest.
            const bool opened = at >= offsetof(core::TraceFileHeader, state) && at < offsetof(core::TraceFileHeader, state) + 4;
            EXPECT_FALSE(read && path == closed && is_covered(whole, at) && !opened) << at;
            bytes[at] = whole[at];
        }
    }
}

}  // namespace
}  // namespace attune::profiler

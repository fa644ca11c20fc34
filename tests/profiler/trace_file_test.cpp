// Traces come back as they were recorded, and everything else is refused in one line.
#include "profiler/trace_file.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/trace.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include <sys/stat.h>

namespace attune::profiler {
namespace {

using core::StepRecord;
using core::TraceKind;
using tests::TemporaryDirectory;

StepRecord record(TraceKind kind, std::uint32_t call, std::uint32_t text) {
    StepRecord made;
    made.begin = core::ticks();
    made.end = made.begin + 1000;
    made.kind = kind;
    made.call = call;
    made.text = text;
    made.bytes = 64;
    made.peer = 1;
    return made;
}

// Two communicators of rank 3, more records than a buffer holds.
constexpr std::uint32_t many = 10'000;
std::string write_trace(const TemporaryDirectory& folder) {
    const std::string path = folder.file("rank-3.steps");
    const auto sink = core::open_trace_in_folder(path, 3, 77);
    const auto first = sink->open_steps({5, 3, 4}), second = sink->open_steps({6, 0, 2});
    const std::uint32_t sum = first->number_of("all_reduce 4 float32 sum, algorithm=ring"), other = second->number_of("barrier, algorithm=one_shot");
    EXPECT_EQ(second->number_of("all_reduce 4 float32 sum, algorithm=ring"), sum);
    for (std::uint32_t call = 1; call <= many; ++call)
        first->add(record(TraceKind::call, call, sum));
    second->add(record(TraceKind::wait, 0, other));
    return path;
}

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
    EXPECT_EQ(trace.records, many + 1);
    ASSERT_EQ(trace.teams.size(), 2U);
    const auto team_of = [&](std::uint64_t number) { return trace.teams[trace.teams[0].source.team == number ? 0 : 1]; };
    ASSERT_EQ(team_of(5).events.size(), many);
    EXPECT_EQ(team_of(5).source.ranks, 4U);
    const Event& event = team_of(5).events.back();
    EXPECT_EQ(event.call, many);
    EXPECT_EQ(event.bytes, 64U);
    EXPECT_EQ(event.peer, 1);
    EXPECT_EQ(trace.texts[event.text], "all_reduce 4 float32 sum, algorithm=ring");
    EXPECT_EQ(trace.texts[team_of(6).events.front().text], "barrier, algorithm=one_shot");
    EXPECT_GT(event.end_ns, event.begin_ns);
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
    for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 4999) {
        const std::string why = refusal(whole, [&](auto& bytes) { bytes.resize(size); });
        EXPECT_NE(why.find(size < 8 ? "is no trace" : "in the middle of"), std::string::npos) << size << ": " << why;
    }
    EXPECT_NE(refusal(whole, [](auto& bytes) { bytes.push_back(std::byte{0}); }).find("after its end"), std::string::npos);
}

TEST(TraceFile, RefusesOtherVersionsAndDamage) {
    const TemporaryDirectory folder;
    const std::vector<std::byte> whole = core::read_whole_file(write_trace(folder));
    const auto with = [&](std::size_t at, auto value) { return refusal(whole, [&](auto& bytes) { std::memcpy(bytes.data() + at, &value, sizeof(value)); }); };
    EXPECT_NE(with(8, std::uint32_t{2}).find("has trace format 2, this version reads 1"), std::string::npos);
    EXPECT_NE(with(64, std::uint32_t{0}).find("a block does not begin where it should"), std::string::npos);
    EXPECT_NE(with(64 + 4, std::uint32_t{9}).find("a block of kind 9"), std::string::npos);
    EXPECT_NE(with(64 + 8, ~std::uint64_t{0}).find("in the middle of a block"), std::string::npos);
    EXPECT_NE(with(64 + 32, std::uint32_t{5}).find("texts are not in order"), std::string::npos);
    EXPECT_NE(with(whole.size() - 8, std::uint64_t{3}).find("says it has 3 records"), std::string::npos);
    EXPECT_NE(with(whole.size() - 24, std::uint64_t{0}).find("its clock stands still"), std::string::npos);
}

}  // namespace
}  // namespace attune::profiler

// What happens inside calls, step by step: fixed records in a buffer of their own, so that an event costs two clock reads and a store.
#pragma once

#include "libcore/ticks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::core {

enum class TraceKind : std::uint8_t {
    call,      // from its start to its end
    post,      // a send: handed over, its bytes staged or put
    wait,      // nothing could move
    transfer,  // bytes moved to their place
    reduce,    // bytes combined
};
inline constexpr std::size_t trace_kinds = 5;
std::string_view name_of(TraceKind kind) noexcept;

// One event of a trace file. `call` is the user's number of the call, 0 for calls of attune's own.
struct StepRecord {
    std::uint64_t begin = 0, end = 0;  // ticks
    std::uint64_t bytes = 0;
    std::uint32_t call = 0;
    std::uint32_t text = 0;  // number of the call's text
    std::int32_t peer = -1;  // rank of the communicator, -1 = none or several
    TraceKind kind = TraceKind::call;
    std::uint8_t channel = 0;
    std::uint16_t reserved = 0;
};
static_assert(sizeof(StepRecord) == 40);

// Whose steps: the communicator by the number all its ranks agreed on.
struct StepSource {
    std::uint64_t team = 0;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
};

// Trace files: a header, then blocks; numbers as this machine stores them. A file that was written to its end has an `end` block.
struct TraceFileHeader {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t record_bytes = 0;
    std::uint32_t rank = 0;  // of the job
    std::uint32_t process = 0;
    ClockPair start;
    std::array<std::uint64_t, 3> reserved{};
};
static_assert(sizeof(TraceFileHeader) == 64);
inline constexpr std::array<char, 8> trace_magic = {'A', 'T', 'T', 'R', 'S', 'T', 'E', 'P'};
inline constexpr std::uint32_t trace_version = 1;

enum class TraceBlock : std::uint32_t {
    records = 1,  // StepRecords of one communicator
    text = 2,     // a number (4 bytes) and its text
    end = 3,      // TraceFileEnd
};
struct TraceBlockHeader {
    std::uint32_t magic = 0;
    TraceBlock kind = TraceBlock::end;
    std::uint64_t bytes = 0;  // that follow
    StepSource source;
};
static_assert(sizeof(TraceBlockHeader) == 32);
inline constexpr std::uint32_t trace_block_magic = 0x314b4c42;  // "BLK1"
struct TraceFileEnd {
    ClockPair stop;
    std::uint64_t records = 0;
};

// Takes the full buffers of several communicators; safe from several threads.
class StepSink {
public:
    virtual ~StepSink() = default;
    // The number of a text, the same for equal ones. Never 0.
    virtual std::uint32_t number_of(std::string_view text) = 0;
    virtual void write(const StepSource& source, const StepRecord* records, std::size_t count) noexcept = 0;
};

// One communicator's steps. Not thread-safe. The sink must outlive it.
class StepTrace {
public:
    StepTrace(StepSink& sink, const StepSource& source);
    ~StepTrace() { flush(); }
    StepTrace(const StepTrace&) = delete;
    StepTrace& operator=(const StepTrace&) = delete;

    std::uint32_t number_of(std::string_view text);
    void add(const StepRecord& record) noexcept {
        records_[count_] = record;
        if (++count_ == capacity) flush();
    }
    void flush() noexcept;

private:
    static constexpr std::size_t capacity = 8192;

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };

    StepSink& sink_;
    StepSource source_;
    std::size_t count_ = 0;
    std::vector<StepRecord> records_;
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace attune::core

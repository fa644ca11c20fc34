// The files of step traces: a page that the writer keeps up to date, then blocks. Numbers as this machine stores them.
#pragma once

#include "libcore/ticks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

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

// One event.
struct StepRecord {
    std::uint64_t begin = 0, end = 0;  // ticks
    std::uint64_t bytes : 48 = 0;
    std::uint64_t kind : 8 = 0;  // TraceKind
    std::uint64_t channel : 8 = 0;
    std::uint32_t call = 0;     // the user's number of the call, 0 for calls of attune's own
    std::int32_t subject = -1;  // of a call the number of its text, else the rank of the communicator that it is about, -1 = none or several
};
static_assert(sizeof(StepRecord) == 32);

// Whose steps: the communicator by the number all its ranks agreed on.
struct StepSource {
    std::uint64_t team = 0;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
};

enum class TraceState : std::uint32_t {
    open = 0,    // being written, or its process ended without closing it
    closed = 1,  // whole
    cut = 2,     // something could not be written, after which nothing was
};

struct TraceFileHeader {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t word_bytes = 0;
    std::uint32_t rank = 0;  // of the job
    std::uint32_t process = 0;
    ClockPair start, latest;           // two moments, for turning ticks into nanoseconds
    std::int64_t clock_offset_ns = 0;  // to be added to its clock for that of rank 0
    std::int64_t clock_error_ns = 0;   // at most so far off
    std::uint64_t words = 0;           // of records, when closed
    TraceState state = TraceState::open;
    std::uint32_t reserved = 0;
    std::uint64_t digest = 0;  // when closed: of all of these
};
static_assert(sizeof(TraceFileHeader) == 96);
inline constexpr std::size_t trace_header_bytes = 4096;  // blocks begin here
inline constexpr std::array<char, 8> trace_magic = {'A', 'T', 'T', 'R', 'S', 'T', 'E', 'P'};
inline constexpr std::uint32_t trace_version = 3;

enum class TraceBlock : std::uint32_t {
    records = 1,  // of one communicator, packed into words (libcore/trace_words.hpp)
    text = 2,     // a number (4 bytes) and its text
    stage = 3,    // room for words that are in no other block yet; the first `count` of them are there
    padding = 4,
};
struct TraceBlockHeader {
    std::uint32_t magic = 0;
    TraceBlock kind = TraceBlock::padding;
    std::uint64_t bytes = 0;  // that follow
    StepSource source;
    std::uint64_t first = 0;  // words of this communicator before these
    std::uint64_t count = 0;
    std::uint64_t digest = 0;  // of all of these and what follows; 0 in a stage
    std::uint64_t reserved = 0;
};
static_assert(sizeof(TraceBlockHeader) == 64);
inline constexpr std::uint32_t trace_block_magic = 0x324b4c42;  // "BLK2"
// With their digests taken as 0. Sees any one flipped bit; about 1 ns for 32 bytes.
std::uint64_t digest_of(TraceFileHeader header) noexcept;
std::uint64_t digest_of(TraceBlockHeader header, std::span<const std::byte> payload) noexcept;

// Lies in the file itself, so that the last records of a process that is killed are there; filled again and again, whose pages are never new.
struct TraceStage {
    static constexpr std::size_t bytes = std::size_t{32} << 10;
    static constexpr std::size_t capacity = (bytes - sizeof(TraceBlockHeader)) / sizeof(std::uint64_t);
    TraceBlockHeader header;
    std::array<std::uint64_t, capacity> words;
};
static_assert(sizeof(TraceStage) == TraceStage::bytes);

}  // namespace attune::core

// The fixed records between the side that drives an arena and its ranks. The text of `load` travels in the shared area.
#pragma once

#include "collectives/problem.hpp"
#include "tuner/arena.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace attune::tuner::engine {

inline constexpr std::uint32_t record_magic = 0x31726174;  // "tar1"

// First record of a launch, with the shared area's descriptor.
struct Setup {
    std::uint32_t magic = record_magic;
    std::int32_t ranks = 0;
    std::int64_t timeout_ns = 0;
    std::uint64_t cache_bytes = 0;  // last level, for the ring of buffers
    std::uint8_t threads = 0;       // one process holds all ranks (transport local)
    std::uint8_t bind = 0;          // threads only: processes are bound by the launcher
    std::uint8_t oversubscribed = 0;
    char transport[16] = {};
    char node_map[512] = {};  // logical nodes
};

enum class CommandKind : std::uint32_t { load = 1, check, sample, ping, copy, quit };
struct Command {
    std::uint32_t magic = record_magic;
    CommandKind kind = CommandKind::quit;
    std::uint64_t index = 0;       // candidate
    std::uint64_t text_bytes = 0;  // load
    std::uint64_t iterations = 0, warm_up = 0, batch = 0;
    CacheMode cache = CacheMode::hot;
    StartMode start = StartMode::synchronized;
    Skew skew = Skew::none;
    std::int64_t skew_ns = 0;
    std::uint64_t seed = 0;
    std::uint64_t bytes = 0;  // copy
};

struct Reply {
    std::uint32_t magic = record_magic;
    std::int32_t rank = 0;
    CheckOutcome outcome = CheckOutcome::ok;
    std::uint64_t wrong = 0;
    std::uint64_t batch = 1;
    std::uint64_t rows = 0;    // iterations in the shared rows
    std::uint64_t calls = 1;   // calls in one row
    double overhead_ns = 0;    // per call, to be subtracted (acknowledgement of rooted batches)
    double round_trip_ns = 0;  // ping
    char text[320] = {};       // why not ok
};

static_assert(sizeof(Command) % sizeof(std::int64_t) == 0 && sizeof(Reply) % sizeof(std::int64_t) == 0);  // broadcast as int64 in a job
static_assert(std::is_trivially_copyable_v<Setup> && std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Reply>);

template <class Record>
std::span<const std::byte> bytes_of(const Record& record) {
    return std::as_bytes(std::span(&record, 1));
}
// Copies as much as fits, always terminated.
void set_text(std::span<char> into, std::string_view text) noexcept;

// One packet on a SOCK_SEQPACKET descriptor. send_packet() throws Error(failure) when the peer is gone.
void send_packet(int descriptor, std::span<const std::byte> bytes, int attached = -1);
// False when the peer closed. Throws Error(failure) for another length than `into` or a system error. `attached` (may be null) gets a
// received descriptor or -1.
bool receive_packet(int descriptor, std::span<std::byte> into, int* attached = nullptr);

}  // namespace attune::tuner::engine

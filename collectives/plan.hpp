// A schedule compiled for a transport: operations with byte offsets, sources, peers, hazards. Only plans are executed.
#pragma once

#include "collectives/catalogue.hpp"
#include "collectives/landings.hpp"
#include "collectives/placement.hpp"
#include "collectives/schedule.hpp"
#include "collectives/transport/link_options.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attune::collectives {

enum class OperationKind : std::uint8_t {
    send,  // one slice to one peer, or to several (multicast: staged once, freed when all have read it)
    fold,  // destination = fold of 1..k sources in order; one source = copy or plain receive
};

// How a message travels. Both ends derive it from its length and the config, and for cma_put from the receiver's schedule.
enum class Protocol : std::uint8_t {
    inline_message,  // beside its header
    staged,          // copied into a fragment of the sender, out of it by the receiver
    cma_get,         // the receiver reads the sender's buffer and acknowledges; only then is it sent
    cma_put,         // the sender writes into the slice whose place the receiver posted at call start
    mixed,           // a cma_get whose receiver, when it folds nothing, lets the sender write pieces from the other end
};
// "inline", "staged", "cma_get", "cma_put", "mixed".
std::string_view name_of(Protocol protocol) noexcept;
inline bool is_direct(Protocol protocol) noexcept {
    return protocol >= Protocol::cma_get;
}

struct Source {
    bool message = false;  // next message of `peer`, else a local slice
    Memory memory = Memory::input;
    Rank peer = -1;
    std::uint64_t offset = 0;  // bytes, local slices
};

struct Operation {
    OperationKind kind = OperationKind::fold;
    Protocol protocol = Protocol::staged;  // send; for folds: of its messages
    std::uint8_t channel = 0;
    Memory memory = Memory::output;                    // slice sent, or destination of the fold
    bool scale = false;                                // fold: divide by the number of ranks before rounding and the store
    std::uint64_t offset = 0;                          // bytes
    std::uint64_t length = 0;                          // bytes
    std::uint32_t first_source = 0, source_count = 0;  // into Plan::sources (fold)
    std::uint32_t first_peer = 0, peer_count = 0;      // into Plan::peers (send)
    std::uint32_t first_hazard = 0, hazard_count = 0;  // into Plan::hazards (fold): earlier sends that read what this writes
};

struct CompileOptions {
    std::uint64_t inline_bytes = 2048;     // 0, 48 or 2048
    std::uint64_t fragment_bytes = 65536;  // staging piece of the transport
    bool streaming_stores = false;         // staging_stores=streaming
    std::uint64_t nontemporal_bytes = 0;   // 0 = never
    Protocol protocol = Protocol::staged;  // of messages above inline_bytes; inline_message is the same as staged
    LinkOptions link = {};                 // of streams, where the transport has some
};
// From config and what the transport offers.
CompileOptions compile_options(const core::Config& config, std::uint64_t fragment_bytes);

// Where a cma_put lands.
struct RemoteSlice {
    Memory memory = Memory::output;
    std::uint64_t offset = 0;  // bytes
};

// A lane on which this rank receives cma_put messages: its buffers are made known there at call start.
struct Post {
    Rank peer = -1;
    std::uint8_t channel = 0;
    friend bool operator==(const Post&, const Post&) = default;
};

struct Plan {
    Problem problem;
    Rank rank = 0;
    CompileOptions options;
    std::uint64_t scratch_bytes = 0;
    std::vector<Operation> operations;                            // grouped by channel, in program order
    std::array<std::uint32_t, max_channels + 1> channel_begin{};  // operations of channel c: [channel_begin[c], channel_begin[c+1])
    std::vector<Source> sources;
    std::vector<Rank> peers;
    std::vector<std::uint32_t> hazards;  // indices into operations, ascending
    int channels = 1;
    // Of messages that pass no staging.
    std::vector<RemoteSlice> remotes;  // beside `peers`; empty unless some message is put
    std::vector<Post> posts;
    std::uint64_t piece_bytes = 0;   // folds read the messages of others in such pieces ...
    std::uint64_t bounce_bytes = 0;  // ... into a buffer of so many bytes
    bool direct = false;             // some message needs Transport::direct()
};

// Pure. Merges runs of sends of one slice to several peers into a multicast, runs of joined steps into a fold; resolves aliasing of
// in-place calls into one memory: all slices are in coordinates of the larger user buffer (`output` for all_reduce, all_gather and broadcast, `input`
// for reduce_scatter). Throws Error(failure) for a schedule that breaks the step contract,
// or whose fold takes two messages of one peer (its fragments could not be side by side). Copies of a slice onto itself vanish.
// `schedule_of` gives the schedules of the peers this rank sends to; it is asked only for protocol cma_put. Where ranks do not know each other's schedules
// (none passes it), no message is put and the protocol depends on the length alone. With cma_get, cma_put and mixed there are no multicasts.
Plan compile(const Problem& problem, const Schedule& schedule, const CompileOptions& options, const ScheduleOf& schedule_of = {});

}  // namespace attune::collectives

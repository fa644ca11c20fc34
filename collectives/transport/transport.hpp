// Moves bytes between the ranks of one team. `local` (threads) and `shm` (processes) share one ring protocol; `tcp` is streams between any hosts;
// `mixed` is shm inside a node and tcp between nodes.
#pragma once

#include "collectives/schedule.hpp"
#include "collectives/transport/link_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

class Bootstrap;
struct NodeMap;
class DirectAccess;

// One FIFO: the k-th post of (peer, slot, channel) meets the k-th receive there.
struct Lane {
    Rank peer = 0;
    std::uint8_t slot = 0;  // in-flight collective, 0..3
    std::uint8_t channel = 0;
};
inline constexpr int in_flight_slots = 4;

struct Message {
    std::span<const std::byte> payload;
    std::uint64_t digest = 0;     // of the call, equal on both ends or the call is a mismatch
    bool streaming = false;       // store kind of staging
    bool inline_message = false;  // at most inline_limit bytes, beside the header line
};

// What a receiver sees of the front message of a lane. Valid until release().
struct Incoming {
    const std::byte* payload = nullptr;
    std::uint64_t digest = 0;
};

// Where a message may land so that nobody has to copy it afterwards. It comes in pieces of this size, the last one shorter.
struct Offer {
    std::span<std::byte> destination;
    std::uint64_t piece_bytes = 0;
    std::uint64_t digest = 0;  // of the call; messages of another one stay out
};

// Each rank publishes its current call in full; whoever waits long compares.
struct CallRecord {
    std::uint64_t call = 0;    // 1-based number of the call on this communicator
    std::uint64_t number = 0;  // the same as the user counts; 0 = a call of our own
    std::uint64_t digest = 0;
    char text[104] = {};  // "all_reduce 1024 float32 sum ring"
};

class Transport {
public:
    virtual ~Transport() = default;
    virtual Rank rank() const noexcept = 0;
    virtual int size() const noexcept = 0;
    virtual std::string_view name() const noexcept = 0;         // "local", "shm"
    virtual std::uint64_t fragment_bytes() const noexcept = 0;  // largest payload of one post that is not inline
    virtual int channels() const noexcept = 0;                  // lanes per peer and slot
    static constexpr std::uint64_t inline_limit = 2048;

    // False when the window is full; nothing happened then. Copies the payload before it returns.
    virtual bool post_send(const Lane& lane, const Message& message) noexcept = 0;
    // One payload to several peers, staged once. False when any window is full; nothing happened then.
    virtual bool post_send_many(std::span<const Rank> peers, const Lane& lane, const Message& message) noexcept = 0;
    // The front message, or false. `length` is what the receiver expects (it decides where the payload lies).
    virtual bool peek(const Lane& lane, std::uint64_t length, bool inline_message, Incoming& incoming) noexcept = 0;
    virtual void release(const Lane& lane) noexcept = 0;
    // For the message whose first piece comes next: pieces may land in their places, and peek() then points there. The receiver takes them all, or the team
    // has failed. Nothing has to land there.
    virtual void offer(const Lane& /*lane*/, const Offer& /*offer*/) noexcept {}

    virtual void publish(const CallRecord& record) noexcept = 0;
    virtual CallRecord published(Rank rank) const noexcept = 0;               // the latest call
    virtual CallRecord published_in(Rank rank, int slot) const noexcept = 0;  // the latest call c with c mod 4 == slot
    // All calls up to this one are over here. Lets others tell a rank that left after its part was done from one that died in the middle.
    virtual void publish_completed(std::uint64_t call) noexcept = 0;
    virtual std::uint64_t completed(Rank rank) const noexcept = 0;
    // An abort seen by all waits; the first text wins. Empty text = none.
    virtual void abort(std::string_view reason) noexcept = 0;
    virtual std::string abort_reason() const = 0;
    // Ranks whose process is gone, or that ended this team in good order (never for local).
    virtual std::vector<Rank> dead_ranks() noexcept = 0;
    // Of those: it is known to have ended in good order.
    virtual bool has_left(Rank /*rank*/) const noexcept { return false; }
    virtual std::int64_t process_of(Rank rank) const noexcept = 0;  // its pid
    virtual StreamFacts streams() const { return {}; }
    // Before each call: its messages and those that are under way use such streams from now on. A stream that is still to be opened keeps nobody waiting.
    virtual void prepare(const LinkOptions& /*link*/) {}
    virtual bool oversubscribed() const noexcept = 0;  // more ranks on this node than CPUs

    // Why this team cannot copy between the buffers of its ranks (protocols cma_get, cma_put, mixed), equal on all ranks; empty = it can.
    virtual std::string direct_refusal() const;
    // Not null when direct_refusal() is empty.
    virtual DirectAccess* direct() noexcept { return nullptr; }

    // Pushes what was accepted but could not leave yet; true when there is nothing of that kind. A call is over only then.
    virtual bool flush() noexcept { return true; }
    // For who has waited long: hears and tells what the published lines say, where that takes messages.
    virtual void refresh() noexcept {}
    // Sleeps until something arrives or the time is over. False: there is nothing to sleep on, the caller gives its CPU away by itself.
    virtual bool rest(std::int64_t /*ns*/) noexcept { return false; }
};

// For tcp; the first three as in the environment and the config axes.
struct NetworkOptions {
    std::string interface;                         // name or address to listen on; empty = loopback when all ranks are on this host, else towards rank 0
    std::uint64_t socket_buffer_bytes = 0;         // of each connection and direction; 0 = the default for the kind of link
    std::string congestion_control;                // empty = the default for the kind of link
    std::function<void(const std::string&)> warn;  // gets a line about each stranger
};

struct TransportOptions {
    int channels = max_channels;                            // lanes per peer and slot, 1..max_channels
    std::uint64_t staging_bytes = std::uint64_t{64} << 20;  // per rank, divided equally over peers, slots and channels
    bool oversubscribed = false;
    NetworkOptions network;
    bool direct_copies = true;  // false: as if the system forbade this rank to touch the memory of others
};

// Collective over the bootstrap: every rank creates one memfd segment, the descriptors travel, all map all. Throws Error(failure).
std::unique_ptr<Transport> make_shm_transport(Bootstrap& bootstrap, const TransportOptions& options);
// Collective over the bootstrap: one stream per pair of ranks and channel, each end proven to belong to the job. Throws Error(failure), Error(usage).
std::unique_ptr<Transport> make_tcp_transport(Bootstrap& bootstrap, const TransportOptions& options);
// Collective over the bootstrap: shm between ranks of one node of the map, tcp between the others. Throws Error(failure), Error(usage).
std::unique_ptr<Transport> make_mixed_transport(Bootstrap& bootstrap, const TransportOptions& options, const NodeMap& nodes);
// One transport per rank, for threads of this process; element r belongs to rank r. The memory lives until the last of them is gone.
std::vector<std::unique_ptr<Transport>> make_local_transports(int ranks, const TransportOptions& options);
// The same when each of the threads asks for its own: collective over the bootstrap. Throws Error(usage) when a rank is another process.
std::unique_ptr<Transport> make_local_transport(Bootstrap& bootstrap, const TransportOptions& options);

}  // namespace attune::collectives

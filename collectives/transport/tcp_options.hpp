// What the streams of a team ask of the kernel: once when they are made, and for a config that names buffers or congestion control.
#pragma once

#include "collectives/transport/transport.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::collectives {

inline constexpr std::uint64_t loopback_buffer_bytes = std::uint64_t{4} << 20;

// Equal for all streams of a rank. On a loopback device the system's defaults (pacing, small first windows) cost a factor 1.7 at 2 MiB; real networks keep
// what their owner chose, unless the options of the team say otherwise.
struct TcpDefaults {
    std::uint64_t buffer_bytes = 0;  // 0 = the system's own, which grow by themselves
    std::string congestion_control;  // empty = the system's own
    static TcpDefaults make(const NetworkOptions& network, bool one_host);
};

// No delays, and probes by which a host that vanished without a word is noticed after about 40 s.
void set_up_stream(int socket, const TcpDefaults& defaults) noexcept;
// For the calls from now on. Buffers larger than the system allows are cut by it.
void apply_link(int socket, const LinkOptions& link, const TcpDefaults& defaults) noexcept;

// The algorithms that this process may choose, sorted.
std::vector<std::string> congestion_controls_here();
// What a transport of this name would have here.
StreamFacts stream_facts_here(const std::string& transport);

}  // namespace attune::collectives

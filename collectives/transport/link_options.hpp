// The part of a config that is about streams between hosts, and what a transport has for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::collectives {

// What the config of a call asks of streams. Equal on all ranks.
struct LinkOptions {
    int channels = 1;                       // used at once
    std::uint64_t socket_buffer_bytes = 0;  // of each stream and direction; 0 = the default
    std::string congestion_control;         // empty = the default
    friend bool operator==(const LinkOptions&, const LinkOptions&) = default;
};
// What a transport has for LinkOptions.
struct StreamFacts {
    bool any = false;                              // some peers are reached through sockets
    std::vector<std::string> congestion_controls;  // that every rank's kernel lets us choose; equal on all ranks
};

}  // namespace attune::collectives

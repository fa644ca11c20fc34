// What tells hosts and nodes apart.
#pragma once

#include <cstdint>
#include <string>

namespace attune::collectives {

// Equal numbers of two processes mean that they share the thing; all are digests that cover the boot of the machine.
struct Host {
    std::uint64_t machine = 0;    // the kernel: CPUs and memory
    std::uint64_t processes = 0;  // the pid and user namespaces: /proc/<pid> of one is visible to the other
    std::uint64_t network = 0;    // the network namespace: loopback joins them
    std::uint64_t node = 0;       // all of these but the clock, and ipc: shared memory and cross-process copies work
    std::uint64_t clock = 0;      // the time namespace: CLOCK_MONOTONIC is the same
};
Host this_host();

}  // namespace attune::collectives

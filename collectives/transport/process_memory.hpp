// The memory of another process of this machine, by process_vm_readv and process_vm_writev, and whether they are allowed: containers often forbid them.
#pragma once

#include "collectives/bootstrap.hpp"
#include "collectives/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

// 0 when all bytes are moved, else errno.
int read_memory(std::int64_t process, std::uint64_t address, std::span<std::byte> into) noexcept;
int write_memory(std::int64_t process, std::uint64_t address, std::span<const std::byte> from) noexcept;

inline constexpr std::uint64_t known_word = 0x61747475'6e652121;

// What the other ranks read. Should live until all have agreed.
struct ProbeTarget {
    std::uint64_t word = known_word;
    std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(&word); }
};

// What one rank found out about the others.
struct ProbeResult {
    std::int32_t error = 0;  // errno, 0 = it can read and write all
    Rank peer = -1;
    std::int32_t reads = 0;  // not 0: what failed was a read
    static ProbeResult switched_off() noexcept;
};
ProbeResult probe_memories(Rank rank, std::span<const std::int64_t> processes, std::span<const std::uint64_t> targets) noexcept;
// Collective. Why direct copies are impossible, the same text on all ranks; empty = they work everywhere.
std::string agree_on_probes(Bootstrap& bootstrap, const ProbeResult& own);
// The same for ranks that this process would start, tried between it and a child: for lists of what can be chosen.
std::string direct_refusal_here();

}  // namespace attune::collectives

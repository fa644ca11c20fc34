// How ranks find each other before any transport exists.
#pragma once

#include "collectives/schedule.hpp"
#include "libcore/crypto.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::collectives {

// What one rank contributed. Descriptors are owned by the receiver.
struct Contribution {
    std::vector<std::byte> bytes;
    std::vector<int> descriptors;
};

class Bootstrap {
public:
    virtual ~Bootstrap() = default;
    virtual Rank rank() const noexcept = 0;
    virtual int size() const noexcept = 0;
    // Collective. Every rank gets every rank's bytes (at most 32 KiB each) and duplicates of its descriptors (at most 4 each), in rank order; the
    // caller's own descriptors are not consumed. A descriptor of a rank on another host arrives as -1. Throws Error(failure) when a rank or the launcher
    // is gone or 60 s pass.
    virtual std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) = 0;
    // Whether an exchange that fails on one rank fails on all of them.
    virtual bool fails_everywhere() const noexcept { return false; }
    // This host's address as rank 0 can reach it; empty = all ranks are on this host.
    virtual std::string address() const { return {}; }
    // What all ranks knew before they met, so that it need not travel; nullopt = contributions reach nobody else.
    virtual std::optional<core::Digest> secret() const { return std::nullopt; }
};

inline constexpr std::chrono::milliseconds bootstrap_patience{60'000};

// The launcher form: one SOCK_SEQPACKET descriptor to the launcher, which runs a hub (collectives/launcher.hpp). The descriptor stays the caller's.
// Throws Error(usage) for an impossible rank, Error(failure) when nobody is at the other end.
std::unique_ptr<Bootstrap> make_launcher_bootstrap(Rank rank, int size, int descriptor, std::chrono::milliseconds patience = bootstrap_patience);
// Threads of one process; element r belongs to rank r. A destroyed one counts as a rank that ended.
std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int size, std::chrono::milliseconds patience = bootstrap_patience);

}  // namespace attune::collectives

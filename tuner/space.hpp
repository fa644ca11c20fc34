// The configs worth measuring for one problem: axes from the catalogue, constraints solved, nothing twice.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/config.hpp"
#include "libcore/topology.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::tuner {

struct SpaceOptions {
    core::Topology topology;      // for candidate 0
    bool oversubscribed = false;  // more ranks than CPUs: streaming stores never pay there
    bool direct_copies = false;   // the transport can copy between the buffers of its ranks: cma_get, cma_put and mixed are tried
};

// The default with its algorithm replaced, a test option: "all_reduce:ring".
struct CandidateZero {
    collectives::Collective collective = collectives::Collective::all_reduce;
    std::string algorithm;
};
// Throws Error(usage) for a malformed text, an unknown collective or an unknown algorithm.
CandidateZero parse_candidate_zero(const std::string& text);

// What runs untuned: default_config, or with a matching CandidateZero that algorithm with the default's other axes (those that do not
// apply to it are set to their neutral value). Throws Error(usage) when that algorithm cannot run the problem.
core::Config candidate_zero(const collectives::Problem& problem, const SpaceOptions& options, const std::vector<CandidateZero>& replaced);

// Segment sizes tried for a message of so many bytes: 0 (one segment), then 16K, 64K, 256K, 1M below a quarter of the message.
std::vector<std::uint64_t> segment_sizes(std::uint64_t message_bytes);

// `zero` first, then every other applicable config. Two configs whose schedules are equal on all ranks, whose messages take the same way and
// whose staged stores are of one kind are one candidate; the first stays. Pure; time linear in steps x configs.
std::vector<core::Config> enumerate_space(const collectives::Problem& problem, const core::Config& zero, const SpaceOptions& options);

}  // namespace attune::tuner

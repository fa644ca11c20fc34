// Paired blocks: the only comparison that means anything on a machine whose cores move.
#pragma once

#include "libcore/samples.hpp"
#include "profiler/placement.hpp"
#include "tuner/arena.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::tuner {

struct BlockOptions {
    std::int64_t target_ns = 20'000'000;   // wished length of one block, both arms together
    std::uint64_t minimum_iterations = 4;  // per arm
    std::uint64_t maximum_iterations = 2000;
    CacheMode cache = CacheMode::hot;
    StartMode start = StartMode::synchronized;
};

// One block: A B B A ... of two candidates of the loaded work. `kept` is false when the placement class changed within it.
struct Block {
    CheckOutcome outcome = CheckOutcome::ok;
    std::string message;
    std::string launch;
    std::string placement;
    double round_trip_ns = 0;
    bool kept = false;
    std::uint64_t batch = 1;
    std::vector<double> a_ns, b_ns;
    double a_median_ns = 0, b_median_ns = 0;
    double ratio = 0;  // a / b: with a = default and b = candidate it is the gain
};
Block paired_block(Arena& arena, std::size_t a, std::size_t b, const profiler::PlacementCuts& cuts, const BlockOptions& options);

// Noise floor: the larger distance from 1 of the ends of the 99 % interval of the median ratio of default/default blocks.
double noise_floor(const std::vector<Block>& default_against_default);

enum class Verdict : std::uint8_t { faster, same, slower, inconclusive };
std::string_view name_of(Verdict verdict) noexcept;

// tuned / default with its 99 % interval over kept blocks; within one placement class at a time, then the worst class with >= 5 blocks decides.
struct Comparison {
    std::string placement;
    double default_us = 0, tuned_us = 0;
    double ratio = 1, low = 1, high = 1;
    double floor = 0;
    std::uint64_t blocks = 0, launches = 0;
    Verdict verdict = Verdict::inconclusive;
};
// slower: low > 1 + floor; faster: high < 1 - floor; inconclusive: floor above `floor_limit` or fewer than 8 blocks; else same.
Comparison compare(const std::vector<Block>& blocks, const std::vector<Block>& floor_blocks, double floor_limit);

}  // namespace attune::tuner

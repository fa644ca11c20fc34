// Which candidate to measure next: ask and tell. A strategy sees gains over the default only, never times.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tuner {

// The answer to one ask(): one block against the default, or a failure.
struct Observation {
    std::size_t candidate = 0;
    bool usable = false;         // false: wrong, failed or timed out; never asked again
    bool kept = true;            // false: the placement changed within the block; costs a trial and tells nothing
    double gain = 1;             // default / candidate of the block's medians
    std::string placement = {};  // class of the block
};

struct StrategySpace {
    std::size_t candidates = 1;       // index 0 is the default and is never asked
    std::vector<std::size_t> family;  // per candidate: candidates that differ only in secondary axes share a number (the algorithm)
    std::vector<bool> known_bad;      // per candidate: failed before, counts as tried
    std::uint64_t seed = 1;
};

// Deterministic: the same space and the same observations give the same questions, so a journal can be replayed.
class Strategy {
public:
    virtual ~Strategy() = default;
    // The candidate of the next block, or nothing when no further block would change the answer. Repeating ask() without tell() repeats it.
    virtual std::optional<std::size_t> ask() = 0;
    // Also takes observations that were not asked for (a replayed journal).
    virtual void tell(const Observation& observation) = 0;
    // Every candidate was measured at least once or failed.
    virtual bool complete() const = 0;
};

std::span<const std::string> strategy_names();
// Throws Error(usage) for an unknown name, naming the nearest.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategySpace& space);

// Worst class decides: the smallest per-class median gain over classes with at least `minimum_blocks` blocks, else the median over all blocks.
// Nothing without a kept block.
std::optional<double> worst_class_gain(std::span<const Observation> observations, std::size_t minimum_blocks);

}  // namespace attune::tuner

// Default against tuned, or any two choices, in paired blocks over several launches: for the sizes asked for, or for every published row.
#pragma once

#include "apps/tools/bench/machine.hpp"
#include "apps/tools/bench/problems.hpp"
#include "apps/tools/bench/teams.hpp"
#include "tuner/measure.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::tools::bench {

// One problem with two configs: of the first side, called default, and of the second, called tuned.
struct Pair {
    std::string key;  // canonical text
    collectives::Problem problem;
    tuner::TeamOptions team;
    core::Config default_config, tuned_config;
    double published_gain = 1;

    std::vector<tuner::Block> blocks, floor_blocks;  // default against tuned, default against default
    std::int64_t spent_ns = 0;
    tuner::Comparison result;
    std::string reason;  // why it could not be measured

    bool untuned() const { return default_config == tuned_config; }
};

struct Pairs {
    std::vector<Pair> pairs;
    std::vector<std::string> skipped;  // "row <id>: <why it does not apply here>"
};
Pairs pairs_of_sweep(const Options& options, const Machine& machine);
// Every row of the database in use at its low end and, for an interval, at its high end.
Pairs pairs_of_rows(const Options& options, const Machine& machine);

// When a pair is settled: enough launches and blocks and a floor below the limit, or its time is spent.
struct Effort {
    std::uint64_t launches = 3;
    std::uint64_t blocks = 15;
    std::int64_t budget_ns = 60'000'000'000;  // per pair
    bool relaunch = true;                     // false inside a job
};
// 5 % for 64 KiB and more, 10 % below.
double floor_limit(const collectives::Problem& problem);
bool settled(const Pair& pair, const Effort& effort);

struct CompareContext {
    const Options& options;
    const Machine& machine;
    Teams& teams;
    Effort effort;
    std::function<void(double fraction, const std::string& what)> progress;
    std::function<bool()> interrupted;  // may be empty
};
// Fills blocks and result of every pair. Throws core::Error(interrupted) when interrupted.
void measure_pairs(const CompareContext& context, std::vector<Pair>& pairs);

struct Verdicts {
    std::uint64_t faster = 0, same = 0, slower = 0, inconclusive = 0, failed = 0;
    std::uint64_t allowed_inconclusive = 1;  // max(1, 10 %)
};
Verdicts count_verdicts(const std::vector<Pair>& pairs);
// 4 when any is slower, 1 when one failed or (re-test of rows) more are inconclusive than allowed, else 0.
int exit_code(const Verdicts& verdicts, bool rows) noexcept;

}  // namespace attune::tools::bench

// The arenas there are: a fresh team of processes per launch, or the ranks of the job this process itself belongs to.
#pragma once

#include "collectives/communicator.hpp"
#include "tuner/arena.hpp"

#include <functional>
#include <memory>

namespace attune::tuner {

// One launch: the tool starts itself (/proc/self/exe) as `arena-rank`, once per rank; transport `local` is one process with a thread per rank. Call
// arena_rank_main() in main() before the options are parsed. Throws Error(failure) when the team does not come up within the timeout.
std::unique_ptr<Arena> launch_process_arena(const TeamOptions& options);

// The hidden subcommand: what main(argc, argv) returns when argv[1] is "arena-rank". Never throws.
inline constexpr const char* arena_rank_word = "arena-rank";
int arena_rank_main();

// Every process of the job calls this. Rank 0's `drive` gets the arena; the others serve until it returns. Returns drive's result on
// rank 0, 0 elsewhere; an Error on one rank ends all.
int run_in_job(collectives::Bootstrap& bootstrap, const TeamOptions& options, const std::function<int(Arena&)>& drive);

// The same over a living communicator whose ranks share a machine: all of them call this, and it may not be used otherwise meanwhile. Throws
// Error(usage) on every rank when they do not share one.
int run_on_team(collectives::Communicator& team, const std::function<int(Arena&)>& drive);

}  // namespace attune::tuner

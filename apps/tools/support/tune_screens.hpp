// What attune-tune says before, while and after it works. Pure: text from facts.
#pragma once

#include "apps/tools/support/color.hpp"
#include "apps/tools/support/grid.hpp"
#include "apps/tools/support/json.hpp"
#include "apps/tools/support/tune_plan.hpp"

#include <string>
#include <vector>

namespace attune::tools {

// Machine, ranks, budget, candidates, where it will write, and what disturbs.
std::string first_screen(const TunePlan& plan, std::size_t candidates, const std::vector<std::string>& disturbances, const Paint& paint);
// One line for the progress bar.
std::string progress_detail(const tuner::Progress& progress);

// By the sizes that were asked for; a cell speaks of the problem they were rounded to.
Grid grid_of(const TunePlan& plan, const tuner::SessionResult& result);
// The grid, failures and notes in few lines, where the database is, and the next three commands.
std::string last_screen(const TunePlan& plan, const tuner::SessionResult& result, const Paint& paint);
// "attune-tune all_reduce -n 4", and with --resume: the words as they were given, quoted where needed.
std::string command_of(const std::vector<std::string>& words);
std::string resume_command(const std::vector<std::string>& words);

Json tune_json(const TunePlan& plan, const tuner::SessionResult& result);  // attune.tune/1

}  // namespace attune::tools

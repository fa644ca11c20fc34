// From validated options to an exit code.
#pragma once

#include "apps/tools/bench/options.hpp"

namespace attune::tools::bench {

// Prints on stdout; progress and warnings go to stderr. Inside a job (ATTUNE_RANK) every process calls it and rank 0 prints.
int run(const Options& options);

}  // namespace attune::tools::bench

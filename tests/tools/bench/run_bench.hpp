// attune-bench as its users start it.
#pragma once

#include "tests/support/run_process.hpp"

#include <string>
#include <vector>

namespace attune::test {

std::string bench_path();
ProcessResult run_bench(std::vector<std::string> words, const ProcessOptions& options = {});

}  // namespace attune::test

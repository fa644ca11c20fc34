#include "tests/tools/bench/run_bench.hpp"

namespace attune::test {

std::string bench_path() {
    return std::string(ATTUNE_BIN_FOLDER) + "/attune-bench";
}

ProcessResult run_bench(std::vector<std::string> words, const ProcessOptions& options) {
    words.insert(words.begin(), bench_path());
    return run_process(words, options);
}

}  // namespace attune::test

// Ranks as forked children of the test, with the launcher's bootstrap served by the test itself.
#pragma once

#include "collectives/bootstrap.hpp"

#include <functional>
#include <string>
#include <vector>

namespace attune::test {

// How one rank ended: what its body returned or threw (empty = fine), and its exit status, 128 + signal when killed.
struct RankResult {
    std::string text;
    int status = 0;
};

// Forks `ranks` children, runs `body` in each and reaps them all. A child that throws ends with status 1 and the message as its text; none outlives
// the test. Call it before the test starts threads.
std::vector<RankResult> run_processes(int ranks, const std::function<std::string(collectives::Bootstrap&)>& body);

}  // namespace attune::test

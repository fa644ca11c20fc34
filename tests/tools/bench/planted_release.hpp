// Releases with rows that the test chose, for this machine: what a tuner would have published, right or wrong.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/config.hpp"

#include <string>
#include <vector>

namespace attune::test {

struct PlantedRow {
    collectives::Problem problem;
    core::Config config;                // axes to change of the default
    std::uint64_t high_bytes = 0;       // 0 = the problem's size only
    std::uint32_t default_version = 0;  // 0 = today's
};
void write_planted_release(const std::string& path, const std::vector<PlantedRow>& rows);

}  // namespace attune::test

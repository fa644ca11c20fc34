// The --json document of a tool, held against its schema in docs/schemas.
#pragma once

#include "tests/support/run_process.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace attune::test {

// What the tool printed, parsed; every problem is a failure of the test. `schema` is a name such as "attune.bench.1". Any use of what is no JSON throws,
// which ends the test.
nlohmann::json valid_document(const ProcessResult& result, const std::string& schema);

}  // namespace attune::test

// Checks a JSON document against the part of JSON Schema that docs/schemas uses: type, const, enum, properties, required, additionalProperties (bool),
// items, minimum, and $ref to "#/$defs/NAME".
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace attune::test {

// One line per problem, "at /results/0/bytes: ..."; empty when the document fits. Throws std::runtime_error for a schema word it does not know, so that no
// rule is ever skipped silently.
std::vector<std::string> schema_problems(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace attune::test

// The checker of JSON documents trips on every kind of fault.
#include "tests/support/json_schema.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using attune::test::schema_problems;
using nlohmann::json;

const json schema = json::parse(R"({
  "type": "object", "required": ["schema", "rows"], "additionalProperties": false,
  "properties": {
    "schema": {"const": "attune.try/1"},
    "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}
  },
  "$defs": {"row": {"type": "object", "required": ["gain"], "properties": {
    "gain": {"type": ["number", "null"]}, "count": {"type": "integer", "minimum": 1}, "verdict": {"enum": ["same", "faster"]}}}}
})");

std::size_t problems(const char* document) {
    return schema_problems(schema, json::parse(document)).size();
}

TEST(JsonSchema, AcceptsWhatFits) {
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{"gain": 1.5, "count": 3, "verdict": "same"}, {"gain": null, "extra": 1}]})"), 0u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": []})"), 0u);
}

TEST(JsonSchema, ReportsEachFaultOnce) {
    EXPECT_EQ(problems(R"([])"), 1u);
    EXPECT_EQ(problems(R"({"rows": []})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/2", "rows": []})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [], "more": 0})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{}]})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{"gain": "1.5"}]})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{"gain": 1, "count": 0}]})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{"gain": 1, "count": 1.5}]})"), 1u);
    EXPECT_EQ(problems(R"({"schema": "attune.try/1", "rows": [{"gain": 1, "verdict": "slow"}]})"), 1u);
}

TEST(JsonSchema, NamesThePlace) {
    const auto found = schema_problems(schema, json::parse(R"({"schema": "attune.try/1", "rows": [{"gain": 1}, {"gain": "x"}]})"));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].find("at /rows/1/gain:"), 0u) << found[0];
}

TEST(JsonSchema, RefusesASchemaWordItDoesNotKnow) {
    EXPECT_THROW(schema_problems(json::parse(R"({"maxItems": 1})"), json::array()), std::runtime_error);
}

}  // namespace

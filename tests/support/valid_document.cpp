#include "tests/support/valid_document.hpp"

#include "tests/support/json_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace attune::test {

nlohmann::json valid_document(const ProcessResult& result, const std::string& schema) {
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    if (document.is_discarded()) {
        ADD_FAILURE() << "no JSON document: " << result.out << result.err;
        return document;
    }
    const std::string path = std::string(ATTUNE_SCHEMA_FOLDER) + "/" + schema + ".json";
    std::ifstream file(path);
    EXPECT_TRUE(file.good()) << path;
    for (const std::string& problem : schema_problems(nlohmann::json::parse(file), document))
        ADD_FAILURE() << problem;
    return document;
}

}  // namespace attune::test

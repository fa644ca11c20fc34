#include "tests/support/json_schema.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace attune::test {
namespace {

using nlohmann::json;

const std::set<std::string> known_words{
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required", "additionalProperties", "items", "minimum"};

bool has_type(const json& value, const std::string& type) {
    if (type == "integer") {
        return value.is_number_integer();
    }
    if (type == "number") {
        return value.is_number();
    }
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
           (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
}

class Checker {
public:
    explicit Checker(const json& root) : root_(root) {}

    void check(const json& schema, const json& value, const std::string& path) {
        for (const auto& item : schema.items()) {
            if (!known_words.contains(item.key())) {
                throw std::runtime_error("the schema word '" + item.key() + "' is not implemented");
            }
        }
        if (schema.contains("$ref")) {
            check(root_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, path);
        }
        check_value(schema, value, path);
        if (value.is_object()) {
            check_object(schema, value, path);
        }
        if (value.is_array() && schema.contains("items")) {
            for (std::size_t i = 0; i < value.size(); ++i) {
                check(schema["items"], value[i], path + "/" + std::to_string(i));
            }
        }
    }

    std::vector<std::string> problems;

private:
    void report(const std::string& path, const std::string& what) { problems.push_back("at " + (path.empty() ? "/" : path) + ": " + what); }

    void check_value(const json& schema, const json& value, const std::string& path) {
        if (schema.contains("type")) {
            const json& type = schema["type"];
            const json types = type.is_array() ? type : json::array({type});
            if (std::none_of(types.begin(), types.end(), [&](const json& one) { return has_type(value, one.get<std::string>()); })) {
                report(path, "is " + value.dump() + ", not of type " + type.dump());
            }
        }
        if (schema.contains("const") && value != schema["const"]) {
            report(path, "is " + value.dump() + ", not " + schema["const"].dump());
        }
        if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
            report(path, "is " + value.dump() + ", none of " + schema["enum"].dump());
        }
        if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) {
            report(path, "is " + value.dump() + ", below " + schema["minimum"].dump());
        }
    }

    void check_object(const json& schema, const json& value, const std::string& path) {
        for (const json& name : schema.value("required", json::array())) {
            if (!value.contains(name.get<std::string>())) {
                report(path, "lacks " + name.dump());
            }
        }
        const json properties = schema.value("properties", json::object());
        for (const auto& item : value.items()) {
            if (properties.contains(item.key())) {
                check(properties[item.key()], item.value(), path + "/" + item.key());
            } else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false) {
                report(path, "has the unknown member \"" + item.key() + "\"");
            }
        }
    }

    const json& root_;
};

}  // namespace

std::vector<std::string> schema_problems(const nlohmann::json& schema, const nlohmann::json& document) {
    Checker checker(schema);
    checker.check(schema, document, "");
    return checker.problems;
}

}  // namespace attune::test

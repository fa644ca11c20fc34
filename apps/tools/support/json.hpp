// The frame of every JSON document: {"schema": "attune.bench/1", "version": "0.1.0", "machine": {...}, ...}.
#pragma once

#include "libcore/topology.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

namespace attune::tools {

using Json = nlohmann::ordered_json;

// schema is "attune.<name>/<number>" (docs/schemas).
Json json_document(std::string_view schema, const core::Topology& topology);
Json json_document(std::string_view schema);  // of this machine

// A number, or null when absent or not finite.
Json json_number(std::optional<double> value);

// The whole document on stdout, indented, with a newline; nothing else may be printed there. Bytes that are no UTF-8 are replaced.
void print_json(const Json& document);

}  // namespace attune::tools

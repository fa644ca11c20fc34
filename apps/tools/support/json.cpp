#include "apps/tools/support/json.hpp"

#include "apps/tools/support/run_tool.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace attune::tools {

Json json_document(std::string_view schema, const core::Topology& topology) {
    Json document;
    document["schema"] = schema;
    document["version"] = version();
    document["machine"] = {
        {"cpu_vendor", topology.cpu_vendor},
        {"cpu_family", topology.cpu_family},
        {"cpu_model", topology.cpu_model},
        {"cpu_name", topology.cpu_name},
        {"instruction_set", topology.instruction_set},
        {"sockets", topology.sockets},
        {"numa_nodes", topology.numa_nodes},
        {"cores_per_l3", topology.cores_per_l3},
        {"l1d_bytes", topology.l1d_bytes},
        {"l2_bytes", topology.l2_bytes},
        {"l3_bytes", topology.l3_bytes},
        {"allowed_cpus", topology.allowed.text()},
    };
    return document;
}

Json json_document(std::string_view schema) {
    return json_document(schema, core::discover_topology());
}

Json json_number(std::optional<double> value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

void print_json(const Json& document) {
    const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace attune::tools

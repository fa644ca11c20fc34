// Identity: the facts that must be equal for a result to be valid on this machine.
#pragma once

#include "libcore/topology.hpp"

#include <string>
#include <utility>
#include <vector>

namespace attune::db {

// Fields by name in a fixed order: cpu_vendor cpu_family cpu_model instruction_set sockets numa_nodes cores_per_l3 l1d_bytes l2_bytes l3_bytes
// allowed_cpus link. `allowed_cpus` is the number of CPUs of the launcher's set before binding.
struct Identity {
    std::vector<std::pair<std::string, std::string>> fields;
    std::string text() const;    // "cpu_vendor=AuthenticAMD;..."
    std::string digest() const;  // 16 hex digits of SHA-256 of text()
    static Identity parse(std::string_view text);
    friend bool operator==(const Identity&, const Identity&) = default;
};
// topology.allowed must already be the launcher's set.
Identity identity_of(const core::Topology& topology, std::string_view link = "shm");

struct FieldDifference {
    std::string name, stored, current;
};
std::vector<FieldDifference> differences(const Identity& stored, const Identity& current);

}  // namespace attune::db

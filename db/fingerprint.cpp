#include "db/fingerprint.hpp"

#include "libcore/crypto.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <algorithm>

namespace attune::db {

using core::Error;
using core::ErrorCode;

namespace {

// The text's own separators and whatever a terminal might act on cannot be part of a value.
std::string clean(std::string_view value) {
    std::string out(value);
    for (char& c : out) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ';' || c == '=' || byte < 0x20 || byte >= 0x7f) c = '_';
    }
    return out;
}

std::string find(const Identity& identity, const std::string& name) {
    const auto found = std::ranges::find(identity.fields, name, &std::pair<std::string, std::string>::first);
    return found != identity.fields.end() ? found->second : std::string();
}

}  // namespace

std::string Identity::text() const {
    std::string out;
    for (const auto& [name, value] : fields) {
        if (!out.empty()) out += ';';
        out += name + '=' + value;
    }
    return out;
}

std::string Identity::digest() const {
    const core::Digest full = core::sha256(text());
    return core::hex(std::span(full).first(8));
}

Identity Identity::parse(std::string_view text) {
    Identity identity;
    for (const std::string& piece : core::split(text, ';')) {
        const std::size_t equals = piece.find('=');
        if (equals == std::string::npos || equals == 0 || piece.find('=', equals + 1) != std::string::npos ||
            clean(piece.substr(equals + 1)) != piece.substr(equals + 1)) {
            throw Error(ErrorCode::check_failed, "malformed identity: '" + clean(piece) + "' is not name=value");
        }
        const std::string name = piece.substr(0, equals);
        if (std::ranges::find(identity.fields, name, &std::pair<std::string, std::string>::first) != identity.fields.end()) {
            throw Error(ErrorCode::check_failed, "malformed identity: '" + clean(name) + "' stands twice");
        }
        identity.fields.emplace_back(name, piece.substr(equals + 1));
    }
    if (identity.fields.empty()) throw Error(ErrorCode::check_failed, "malformed identity: empty");
    return identity;
}

Identity identity_of(const core::Topology& topology, std::string_view link) {
    Identity identity;
    const auto add = [&identity](const char* name, std::string_view value) { identity.fields.emplace_back(name, clean(value)); };
    add("cpu_vendor", topology.cpu_vendor);
    add("cpu_family", std::to_string(topology.cpu_family));
    add("cpu_model", std::to_string(topology.cpu_model));
    add("instruction_set", topology.instruction_set);
    add("sockets", std::to_string(topology.sockets));
    add("numa_nodes", std::to_string(topology.numa_nodes));
    add("cores_per_l3", std::to_string(topology.cores_per_l3));
    add("l1d_bytes", std::to_string(topology.l1d_bytes));
    add("l2_bytes", std::to_string(topology.l2_bytes));
    add("l3_bytes", std::to_string(topology.l3_bytes));
    add("allowed_cpus", std::to_string(topology.allowed.cpus.size()));
    add("link", link);
    return identity;
}

std::vector<FieldDifference> differences(const Identity& stored, const Identity& current) {
    std::vector<FieldDifference> out;
    for (const auto& [name, value] : stored.fields) {
        const std::string now = find(current, name);
        if (now != value) out.push_back({name, value, now});
    }
    for (const auto& [name, value] : current.fields) {
        if (std::ranges::find(stored.fields, name, &std::pair<std::string, std::string>::first) == stored.fields.end()) out.push_back({name, "", value});
    }
    return out;
}

}  // namespace attune::db

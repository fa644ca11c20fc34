#include "libcore/key.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace attune::core {

namespace {

constexpr std::size_t field_count = 13;
constexpr std::size_t longest_field = 256;  // a node map of many nodes is the longest

bool valid_field(std::string_view field) {
    const auto allowed = [](char c) { return c > ' ' && c < 0x7f && c != '/'; };
    return !field.empty() && field.size() <= longest_field && std::all_of(field.begin(), field.end(), allowed);
}

Error bad_key(std::string_view text, std::string_view reason) {
    return Error(ErrorCode::failure, fmt::format("key '{}' {}", printable(text), reason));
}

// Only what std::to_string writes: no sign, no leading zero.
int parse_ranks(std::string_view text, std::string_view field) {
    int ranks = -1;
    const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), ranks);
    const bool canonical = status == std::errc() && end == field.data() + field.size() && ranks >= 0 && std::to_string(ranks) == field;
    if (!canonical) throw bad_key(text, fmt::format("has '{}' where the number of ranks belongs", printable(field)));
    return ranks;
}

bool parse_in_place(std::string_view text, std::string_view field) {
    if (field != "in" && field != "out") throw bad_key(text, fmt::format("has '{}' where 'in' or 'out' belongs", printable(field)));
    return field == "in";
}

}  // namespace

std::string Key::text() const {
    const std::array<std::string, field_count> fields = {
        target,  collective,  dtype_class, op,     std::to_string(ranks), node_map, root_class, transport, in_place ? "in" : "out",
        buffers, determinism, objective,   binding};
    std::string out;
    for (const std::string& field : fields) {
        if (!out.empty()) out += '/';
        out += field;
    }
    const bool valid = ranks >= 0 && std::all_of(fields.begin(), fields.end(), valid_field);
    if (!valid) throw bad_key(out, "has an empty field or one with '/', spaces or control characters");
    return out;
}

bool Key::covers(const Key& other) const {
    if (root_class != "any" || other.root_class == "none") return *this == other;
    Key same_root = other;
    same_root.root_class = root_class;
    return *this == same_root;
}

Key Key::parse(std::string_view text) {
    const std::vector<std::string> fields = split(text, '/');
    if (fields.size() != field_count) throw bad_key(text, fmt::format("has {} fields; a key has {}", fields.size(), field_count));
    if (!std::all_of(fields.begin(), fields.end(), valid_field)) throw bad_key(text, "has an empty field or one with spaces or control characters");
    Key key;
    key.target = fields[0];
    key.collective = fields[1];
    key.dtype_class = fields[2];
    key.op = fields[3];
    key.ranks = parse_ranks(text, fields[4]);
    key.node_map = fields[5];
    key.root_class = fields[6];
    key.transport = fields[7];
    key.in_place = parse_in_place(text, fields[8]);
    key.buffers = fields[9];
    key.determinism = fields[10];
    key.objective = fields[11];
    key.binding = fields[12];
    return key;
}

}  // namespace attune::core

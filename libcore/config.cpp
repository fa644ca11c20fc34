#include "libcore/config.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"
#include "libcore/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace attune::core {

namespace {

enum class AxisKind { word, size, count };

struct Axis {
    std::string_view name;
    AxisKind kind;
};

// Canonical order; the names of config_axes() come from here.
constexpr std::array<Axis, 12> axes = {{
    {"algorithm", AxisKind::word},
    {"segment_bytes", AxisKind::size},
    {"channels", AxisKind::count},
    {"protocol", AxisKind::word},
    {"radix", AxisKind::count},
    {"groups", AxisKind::word},
    {"wire_dtype", AxisKind::word},
    {"inline_bytes", AxisKind::size},
    {"staging_stores", AxisKind::word},
    {"nontemporal_bytes", AxisKind::size},
    {"socket_buffer_bytes", AxisKind::size},
    {"congestion_control", AxisKind::word},
}};
constexpr std::size_t longest_value = 64;

std::size_t axis_index(std::string_view name) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].name == name) return i;
    }
    require_word("config name", name, config_axes());  // always throws: no name is equal
    return axes.size();
}

std::string canonical_count(std::string_view name, std::string_view value) {
    std::uint32_t number = 0;
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = status == std::errc() && end == value.data() + value.size();
    if (whole && number >= 1 && number <= std::numeric_limits<std::int32_t>::max()) return std::to_string(number);
    throw Error(ErrorCode::usage, fmt::format("{} '{}' is not a whole number of at least 1", name, printable(value)));
}

std::string canonical_word(std::string_view name, std::string_view value) {
    const auto is_word = [](std::string_view text) {
        const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
        return !text.empty() && text.size() <= longest_value && std::ranges::all_of(text, allowed);
    };
    if (is_word(value)) return std::string(value);
    const std::string lower = lower_case(value);
    throw Error(ErrorCode::usage, fmt::format("{} '{}' is not a word of lower-case letters, digits and '_' (1 to {} characters){}", name, printable(value),
                                              longest_value, is_word(lower) ? "; did you mean '" + lower + "'?" : ""));
}

std::string canonical_size(std::string_view name, std::string_view value) {
    try {
        return compact_bytes(parse_bytes(value));
    } catch (const Error& error) {
        throw Error(error.code(), error.what(), name);
    }
}

std::string canonical_value(const Axis& axis, std::string_view value) {
    switch (axis.kind) {
        case AxisKind::size:
            return canonical_size(axis.name, value);
        case AxisKind::count:
            return canonical_count(axis.name, value);
        case AxisKind::word:
            return canonical_word(axis.name, value);
    }
    return {};
}

}  // namespace

std::span<const std::string> config_axes() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out;
        for (const Axis& axis : axes)
            out.emplace_back(axis.name);
        return out;
    }();
    return names;
}

Config Config::parse(std::string_view text) {
    Config config;
    for (const std::string& piece : split(text, ',')) {
        const std::size_t equals = piece.find('=');
        if (equals == std::string::npos) {
            throw Error(ErrorCode::usage,
                        fmt::format("'{}' in a config is not name=value; write for example algorithm=ring,segment_bytes=64K", printable(piece)));
        }
        const std::string name = piece.substr(0, equals);
        if (config.get(name)) throw Error(ErrorCode::usage, fmt::format("config name '{}' is given twice; keep one", printable(name)));
        config.set(name, std::string_view(piece).substr(equals + 1));
    }
    return config;
}

void Config::set(std::string_view name, std::string_view value) {
    const std::size_t index = axis_index(name);
    std::string canonical = canonical_value(axes[index], value);
    const auto place = std::find_if(entries_.begin(), entries_.end(), [index](const auto& entry) { return axis_index(entry.first) >= index; });
    if (place != entries_.end() && place->first == name) {
        place->second = std::move(canonical);
        return;
    }
    entries_.emplace(place, std::string(name), std::move(canonical));
}

void Config::set(std::string_view name, std::uint64_t value) {
    set(name, std::string_view(std::to_string(value)));
}

std::optional<std::string_view> Config::get(std::string_view name) const {
    for (const auto& [entry_name, value] : entries_) {
        if (entry_name == name) return std::string_view(value);
    }
    return std::nullopt;
}

std::uint64_t Config::number(std::string_view name, std::uint64_t otherwise) const {
    const auto value = get(name);
    return value ? parse_bytes(*value) : otherwise;
}

std::string Config::algorithm() const {
    return std::string(get("algorithm").value_or(std::string_view()));
}

std::string Config::text() const {
    std::string out;
    for (const auto& [name, value] : entries_) {
        if (!out.empty()) out += ',';
        out += name;
        out += '=';
        out += value;
    }
    return out;
}

Config Config::with(const Config& over) const {
    Config merged = *this;
    for (const auto& [name, value] : over.entries_)
        merged.set(name, std::string_view(value));
    return merged;
}

}  // namespace attune::core

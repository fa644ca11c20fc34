// The text of ATTUNE_FORCE: "all_reduce=ring,segment_bytes=64K;broadcast=binomial".
#include "collectives/catalogue.hpp"
#include "collectives/chooser.hpp"
#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives {

namespace {

[[noreturn]] void refuse(std::string_view entry, std::string_view why) {
    throw core::Error(core::ErrorCode::usage, fmt::format("forced choice '{}' {}; write for example all_reduce=ring,segment_bytes=64K", entry, why));
}

// "ring,segment_bytes=64K": a word without '=' is the algorithm.
core::Config parse_values(Collective collective, std::string_view text) {
    core::Config config;
    for (const std::string& piece : core::split(text, ',')) {
        const std::size_t equals = piece.find('=');
        const std::string name = equals == std::string::npos ? "algorithm" : piece.substr(0, equals);
        const std::string value = equals == std::string::npos ? piece : piece.substr(equals + 1);
        if (config.get(name)) refuse(text, fmt::format("gives {} twice", name));
        config.set(name, std::string_view(name == "algorithm" ? parse_algorithm(collective, value) : value));
    }
    return config;
}

}  // namespace

ForcedChoices ForcedChoices::parse(std::string_view text) {
    ForcedChoices forced;
    for (const std::string& entry : core::split(text, ';')) {
        if (entry.empty()) continue;
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos) refuse(entry, "names no value");
        const Collective collective = parse_collective(entry.substr(0, equals));
        const bool repeated = std::ranges::any_of(forced.entries, [&](const auto& known) { return known.first == collective; });
        if (repeated) refuse(entry, "is the second for its collective");
        core::Config config = parse_values(collective, std::string_view(entry).substr(equals + 1));
        if (config.empty()) refuse(entry, "names no value");
        forced.entries.emplace_back(collective, std::move(config));
    }
    return forced;
}

ForcedChoices ForcedChoices::of(const core::Environment& environment) {
    const std::string text = environment.force.value_or("");
    try {
        return parse(text);
    } catch (const core::Error& error) {
        throw core::Error(error.code(), fmt::format("ATTUNE_FORCE='{}': {}", core::printable(text), error.what()));
    }
}

}  // namespace attune::collectives

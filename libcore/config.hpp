// A config: named choices such as algorithm=ring,segment_bytes=64K. One canonical text everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::core {

// The closed list of axis names (decisions, "Schedule contract" 22), in canonical order.
std::span<const std::string> config_axes();

// Value type, equal when the texts are equal. Entries are kept in the order of config_axes().
class Config {
public:
    Config() = default;
    // "name=value,name=value"; sizes may be written 64K or 65536 and are stored in one form (compact_bytes). Empty text = empty config.
    // Throws Error(usage) for an unknown name (naming the nearest), a repeated name or a malformed size.
    static Config parse(std::string_view text);

    void set(std::string_view name, std::string_view value);  // same checks as parse()
    void set(std::string_view name, std::uint64_t value);
    std::optional<std::string_view> get(std::string_view name) const;
    // The value as a number of bytes or a count; `otherwise` when absent.
    std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
    std::string algorithm() const;  // empty when absent

    std::string text() const;  // canonical; parse(text()) == *this
    std::span<const std::pair<std::string, std::string>> entries() const noexcept { return entries_; }
    bool empty() const noexcept { return entries_.empty(); }
    // Entries of `over` replace those of *this.
    Config with(const Config& over) const;

    friend bool operator==(const Config&, const Config&) = default;

private:
    std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace attune::core

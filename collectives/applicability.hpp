// Whether a published row may be used now: one rule for the chooser and for who reads the database.
#pragma once

#include "collectives/problem.hpp"
#include "libcore/config.hpp"
#include "libcore/config_table.hpp"
#include "libcore/topology.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attune::collectives {

// Why a row that covers the problem cannot be used for it, or nothing. `standard` is the problem's default config.
std::optional<std::string> why_unusable(const core::TableRow& row, const Problem& problem, const core::Config& standard, const core::Topology& topology);

// Why the row can be used for neither the smallest nor the largest problem of its own key and interval, or nothing. Never throws for a row's content.
std::optional<std::string> why_never_usable(const core::TableRow& row, const core::Topology& topology);

// Why the row serves no team of any of these numbers of ranks over the transport, or nothing.
std::optional<std::string> why_other_team(const core::TableRow& row, std::span<const int> ranks, std::string_view transport);

}  // namespace attune::collectives

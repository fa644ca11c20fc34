// Problem -> config, from the agreed table or the default, with the reason. Equal on all ranks by construction.
#pragma once

#include "collectives/problem.hpp"
#include "collectives/transport/link_options.hpp"
#include "collectives/schedule.hpp"
#include "libcore/config.hpp"
#include "libcore/config_table.hpp"
#include "libcore/environment.hpp"
#include "libcore/key.hpp"
#include "libcore/topology.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

enum class Match : std::uint8_t { exact, interval, none };  // `nearest family model` come with depth
enum class ChoiceSource : std::uint8_t { standard, tuned, forced };
std::string_view name_of(Match match) noexcept;
std::string_view name_of(ChoiceSource source) noexcept;  // "default", "tuned", "forced"

struct Choice {
    core::Config config;  // full: axes absent from a row come from the default
    ChoiceSource source = ChoiceSource::standard;
    Match match = Match::none;       // exact: the size is an end of the row's interval, so it was measured itself
    std::optional<std::size_t> row;  // of the table
    double gain = 1;                 // as published; 1 for the default
    std::string reason;              // "row 12 covers 8 B .. 512 B", "no row for this key", "row 3 skipped: unknown algorithm 'foo'"
};

// "all_reduce=ring,segment_bytes=64K;broadcast=binomial" (ATTUNE_FORCE). Aliases of algorithms are accepted. Throws Error(usage).
struct ForcedChoices {
    std::vector<std::pair<Collective, core::Config>> entries;
    static ForcedChoices parse(std::string_view text);
    // ATTUNE_FORCE; the error names it.
    static ForcedChoices of(const core::Environment& environment);
};

struct ChooserFacts {
    std::string transport = "shm";
    std::string node_map;
    std::string binding = "bound";
    int channels = max_channels;              // of the communicator
    core::Topology topology;                  // rank 0's with the weakest instruction set of all ranks: equal on all ranks
    std::string direct_refusal = {};          // of the transport, see there
    std::optional<StreamFacts> streams = {};  // likewise; nothing = not known, any wish may be met
};

// Why the config's protocol cannot run where direct copies are refused with this reason (empty = they work), or nothing.
std::optional<std::string> lacks_direct_copies(const core::Config& config, const std::string& direct_refusal);

// Why the config's socket_buffer_bytes or congestion_control cannot be had of these streams, or nothing.
std::optional<std::string> lacks_streams(const core::Config& config, const StreamFacts& streams);

// The key of the problem's rows. A rooted one is the class `any`; the chooser also looks for the root itself.
core::Key key_of(const Problem& problem, const ChooserFacts& facts);

// What the ranks of one communicator measured themselves: valid there, for this size.
struct ProvenChoice {
    core::Key key;            // of the problem; a rooted one names its root
    std::uint64_t bytes = 0;  // Problem::key_bytes()
    core::Config config;
    double gain = 1;
};
// The key of exactly this problem, root included.
core::Key exact_key_of(const Problem& problem, const ChooserFacts& facts);

// The constructor throws Error(usage) for a forced value that needs more channels than there are, or direct copies where there are none.
// Never throws for a table's content: a row that cannot be used is skipped and the reason kept. A forced value that is impossible throws
// Error(usage) on every rank alike.
class Chooser {
public:
    Chooser(ChooserFacts facts, core::ConfigTable table, ForcedChoices forced);
    Choice choose(const Problem& problem) const;
    // The same table and forced choices for another team; nothing is read or copied.
    Chooser for_team(ChooserFacts facts) const;
    // The same with one choice more, which goes before the table's rows, and with another table (what was proven here is forgotten).
    Chooser with_proven(ProvenChoice choice) const;
    Chooser with_table(core::ConfigTable table) const;
    const core::ConfigTable& table() const noexcept { return *table_; }
    const ChooserFacts& facts() const noexcept { return facts_; }

private:
    ChooserFacts facts_;
    std::shared_ptr<const core::ConfigTable> table_;
    ForcedChoices forced_;
    std::vector<ProvenChoice> proven_;
};

}  // namespace attune::collectives

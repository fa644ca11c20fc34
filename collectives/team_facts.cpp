#include "collectives/team_facts.hpp"

#include "libcore/error.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

// "name=value" per line; values are single lines.
class Fields {
public:
    explicit Fields(std::string_view text) {
        for (const std::string& line : core::split(text, '\n')) {
            const std::size_t equals = line.find('=');
            if (equals != std::string::npos) values_[line.substr(0, equals)] = line.substr(equals + 1);
        }
    }
    bool has(const std::string& name) const { return values_.contains(name); }
    std::string text(const std::string& name) const {
        const auto found = values_.find(name);
        if (found == values_.end()) throw Error(ErrorCode::failure, fmt::format("a rank's introduction lacks '{}'; do all ranks run the same version?", name));
        return found->second;
    }
    template <class Number>
    Number number(const std::string& name) const {
        const std::string value = text(name);
        Number result{};
        const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
        if (status == std::errc() && end == value.data() + value.size()) return result;
        throw Error(ErrorCode::failure, fmt::format("a rank's introduction has {}='{}', which is no number", name, core::printable(value)));
    }

private:
    std::map<std::string, std::string> values_;
};

std::string single_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

std::string serialize(const core::Topology& topology) {
    return fmt::format(
        "cpu_vendor={}\ncpu_family={}\ncpu_model={}\ncpu_name={}\nsockets={}\nnuma_nodes={}\ncores_per_l3={}\nl1d_bytes={}\nl2_bytes={}\nl3_bytes={}\n",
        single_line(topology.cpu_vendor), topology.cpu_family, topology.cpu_model, single_line(topology.cpu_name), topology.sockets, topology.numa_nodes,
        topology.cores_per_l3, topology.l1d_bytes, topology.l2_bytes, topology.l3_bytes);
}

core::Topology parse_topology(const Fields& fields) {
    core::Topology topology;
    topology.cpu_vendor = fields.text("cpu_vendor");
    topology.cpu_family = fields.number<int>("cpu_family");
    topology.cpu_model = fields.number<int>("cpu_model");
    topology.cpu_name = fields.text("cpu_name");
    topology.sockets = fields.number<int>("sockets");
    topology.numa_nodes = fields.number<int>("numa_nodes");
    topology.cores_per_l3 = fields.number<int>("cores_per_l3");
    topology.l1d_bytes = fields.number<std::uint64_t>("l1d_bytes");
    topology.l2_bytes = fields.number<std::uint64_t>("l2_bytes");
    topology.l3_bytes = fields.number<std::uint64_t>("l3_bytes");
    return topology;
}

void require_equal(std::string_view what, int rank, const std::string& value, const std::string& of_rank_0) {
    if (value == of_rank_0) return;
    throw Error(ErrorCode::usage, fmt::format("rank {} has {} '{}' but rank 0 has '{}'; it must be equal on all ranks", rank, what, value, of_rank_0));
}

// What the ranks of one machine have together.
struct MachineCpus {
    std::set<int> cpus;
    std::size_t ranks = 0;
};

std::map<std::uint64_t, MachineCpus> machines_of(const std::vector<RankFacts>& ranks) {
    std::map<std::uint64_t, MachineCpus> machines;
    for (const RankFacts& rank : ranks) {
        MachineCpus& machine = machines[rank.host.machine];
        machine.cpus.insert(rank.cpus.cpus.begin(), rank.cpus.cpus.end());
        ++machine.ranks;
    }
    return machines;
}

NodeMap nodes_of(const std::vector<RankFacts>& ranks) {
    const std::string& asked = ranks.front().node_map;
    if (!asked.empty()) {
        NodeMap nodes = NodeMap::parse(asked);
        if (nodes.ranks() == static_cast<int>(ranks.size())) return nodes;
        throw Error(ErrorCode::usage, fmt::format("the node map '{}' is for {} ranks, but there are {}", asked, nodes.ranks(), ranks.size()));
    }
    std::vector<std::string> labels;
    for (const RankFacts& rank : ranks)
        labels.push_back(std::to_string(rank.host.node));
    return NodeMap::of_labels(labels);
}

std::vector<Rank> clocks_of(const std::vector<RankFacts>& ranks) {
    const std::uint64_t first = ranks.front().host.clock;
    const bool same = std::ranges::all_of(ranks, [&](const RankFacts& rank) { return rank.host.clock == first; });
    if (same || std::ranges::none_of(ranks, &RankFacts::traced)) return {};
    std::map<std::uint64_t, Rank> leaders;
    std::vector<Rank> clocks;
    for (const RankFacts& rank : ranks)
        clocks.push_back(leaders.try_emplace(rank.host.clock, static_cast<Rank>(clocks.size())).first->second);
    return clocks;
}

// Every rank has a CPU of its own and no other.
bool each_alone(const std::vector<RankFacts>& ranks) {
    const auto machines = machines_of(ranks);
    return std::ranges::all_of(ranks, [](const RankFacts& rank) { return rank.cpus.cpus.size() == 1; }) &&
           std::ranges::all_of(machines, [](const auto& machine) { return machine.second.cpus.size() == machine.second.ranks; });
}

// That rank 0 sees more than the others is the usual case on several hosts and costs nothing.
std::string warning_of_databases(const std::vector<RankFacts>& ranks) {
    const RankFacts& first = ranks.front();
    const auto other = [&](const RankFacts& rank) { return rank.databases != first.databases && rank.databases != no_database; };
    const auto found = std::ranges::find_if(ranks, other);
    if (found == ranks.end()) return {};
    const auto more = std::ranges::count_if(found + 1, ranks.end(), other);
    return fmt::format("rank {}{} would use the database {}, rank 0 {}; what rank 0 sees applies to all ranks (ATTUNE_DB, ATTUNE_DB_MODE)",
                       found - ranks.begin(), more == 0 ? "" : fmt::format(" (and {} more)", more), found->databases, first.databases);
}

}  // namespace

std::string text_of(const ForcedChoices& forced) {
    std::string text;
    for (const auto& [collective, config] : forced.entries)
        text += fmt::format("{}{}={}", text.empty() ? "" : ";", name_of(collective), config.text());
    return text;
}

std::string weaker_instruction_set(const std::string& a, const std::string& b) {
    constexpr std::array<std::string_view, 3> known = {"generic", "avx2", "avx512"};
    const auto level = [&](const std::string& set) {
        const auto found = std::ranges::find(known, set);
        return found == known.end() ? std::ptrdiff_t{-1} : found - known.begin();
    };
    return level(a) <= level(b) ? a : b;
}

std::string serialize(const RankFacts& facts) {
    std::string text = fmt::format("transport={}\nchannels={}\ncheck_calls={}\nforced={}\ncpus={}\ninstruction_set={}\nidentity={}\n", facts.transport,
                                   facts.channels, facts.check_calls ? 1 : 0, facts.forced, facts.cpus.text(), facts.instruction_set, facts.identity);
    text += fmt::format("databases={}\nnode_map={}\nmachine={}\nprocesses={}\nnetwork={}\nnode={}\nnext_number={}\n", single_line(facts.databases),
                        facts.node_map, facts.host.machine, facts.host.processes, facts.host.network, facts.host.node, facts.next_number);
    text += fmt::format("clock={}\ntraced={}\n", facts.host.clock, facts.traced ? 1 : 0);
    if (facts.launch_cpus) text += fmt::format("launch_cpus={}\n", facts.launch_cpus->text());
    if (facts.topology) text += serialize(*facts.topology);
    return text;
}

RankFacts parse_rank_facts(std::string_view text) {
    const Fields fields(text);
    RankFacts facts;
    facts.transport = fields.text("transport");
    facts.channels = fields.number<int>("channels");
    facts.check_calls = fields.number<int>("check_calls") != 0;
    facts.forced = fields.text("forced");
    facts.cpus = core::CpuSet::parse(fields.text("cpus"));
    facts.instruction_set = fields.text("instruction_set");
    facts.identity = fields.number<std::uint64_t>("identity");
    if (fields.has("databases")) facts.databases = fields.text("databases");
    if (fields.has("node_map")) facts.node_map = fields.text("node_map");
    if (fields.has("node"))
        facts.host = {fields.number<std::uint64_t>("machine"), fields.number<std::uint64_t>("processes"), fields.number<std::uint64_t>("network"),
                      fields.number<std::uint64_t>("node")};
    if (fields.has("clock")) facts.host.clock = fields.number<std::uint64_t>("clock");
    if (fields.has("traced")) facts.traced = fields.number<int>("traced") != 0;
    if (fields.has("next_number")) facts.next_number = fields.number<std::uint64_t>("next_number");
    if (fields.has("launch_cpus")) facts.launch_cpus = core::CpuSet::parse(fields.text("launch_cpus"));
    if (fields.has("cpu_vendor")) facts.topology = parse_topology(fields);
    return facts;
}

TeamFacts combine(const std::vector<RankFacts>& ranks) {
    const RankFacts& first = ranks.front();
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        const int rank = static_cast<int>(i);
        require_equal("the transport", rank, ranks[i].transport, first.transport);
        require_equal("the number of channels", rank, std::to_string(ranks[i].channels), std::to_string(first.channels));
        require_equal("call checking (ATTUNE_CHECK)", rank, std::to_string(ranks[i].check_calls), std::to_string(first.check_calls));
        require_equal("the node map", rank, ranks[i].node_map, first.node_map);
        require_equal("forced choices (ATTUNE_FORCE)", rank, ranks[i].forced, first.forced);
    }
    TeamFacts team;
    team.identity = first.identity;
    team.number = std::ranges::max(ranks, {}, &RankFacts::next_number).next_number;
    team.other_databases = warning_of_databases(ranks);
    team.chooser.channels = first.channels;
    team.nodes = nodes_of(ranks);
    team.clock_of = clocks_of(ranks);
    team.chooser.transport = first.transport.empty() ? usual_transport(team.nodes) : first.transport;
    team.chooser.node_map = team.nodes.text();
    if (first.topology) team.chooser.topology = *first.topology;
    const std::map<std::uint64_t, MachineCpus> machines = machines_of(ranks);
    const std::set<int>& here = machines.at(first.host.machine).cpus;
    team.chooser.topology.allowed = first.launch_cpus.value_or(core::CpuSet{{here.begin(), here.end()}});
    team.chooser.topology.instruction_set = first.instruction_set;
    for (const RankFacts& rank : ranks)
        team.chooser.topology.instruction_set = weaker_instruction_set(team.chooser.topology.instruction_set, rank.instruction_set);
    team.chooser.binding = each_alone(ranks) ? "bound" : "unbound";
    team.oversubscribed = std::ranges::any_of(machines, [](const auto& machine) { return machine.second.ranks > machine.second.cpus.size(); });
    return team;
}

TeamFacts agree_on_facts(Bootstrap& bootstrap, const RankFacts& own) {
    const std::string text = serialize(own);
    std::vector<RankFacts> ranks;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(text)), {}))
        ranks.push_back(parse_rank_facts({reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size()}));
    return combine(ranks);
}

NodeMap agree_on_nodes(Bootstrap& bootstrap) {
    const std::string own = std::to_string(this_host().node);
    std::vector<std::string> labels;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(own)), {}))
        labels.emplace_back(reinterpret_cast<const char*>(contribution.bytes.data()), contribution.bytes.size());
    return NodeMap::of_labels(labels);
}

std::string_view usual_transport(const NodeMap& nodes) noexcept {
    return nodes.nodes() > 1 ? "mixed" : "shm";
}

}  // namespace attune::collectives

// Communicators made from others: who belongs together, how they meet, what they inherit.
#include "collectives/communicator_state.hpp"
#include "collectives/group_bootstrap.hpp"
#include "collectives/node_map.hpp"
#include "collectives/transport_factory.hpp"
#include "libcore/crypto.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace attune::collectives {

namespace {

using core::Error;
using core::ErrorCode;

NodeMap nodes_of(const NodeMap& parent, const std::vector<Rank>& members) {
    std::vector<std::string> labels;
    for (const Rank member : members)
        labels.push_back(std::to_string(parent.node_of.at(static_cast<std::size_t>(member))));
    return NodeMap::of_labels(labels);
}

// What is left of a mixed transport when all ranks are on one node, or each on one of its own.
std::string transport_for(const std::string& of_parent, const NodeMap& map) {
    if (of_parent != "mixed" || map.ranks() == 1) return of_parent;
    if (map.nodes() == 1) return "shm";
    return map.nodes() == map.ranks() ? "tcp" : "mixed";
}

}  // namespace

Group group_of(const std::vector<Wish>& wishes, Rank rank) {
    std::set<std::int64_t> colors;
    for (const Wish& wish : wishes)
        if (wish.color >= 0) colors.insert(wish.color);
    const std::uint64_t first = std::ranges::max(wishes, {}, &Wish::next_number).next_number;
    Group group;
    group.next_number = first + colors.size();
    const std::int64_t color = wishes[static_cast<std::size_t>(rank)].color;
    if (color < 0) return group;
    group.number = first + static_cast<std::uint64_t>(std::distance(colors.begin(), colors.find(color)));
    for (std::size_t other = 0; other < wishes.size(); ++other)
        if (wishes[other].color == color) group.members.push_back(static_cast<Rank>(other));
    std::ranges::stable_sort(group.members, {}, [&](Rank member) { return wishes[static_cast<std::size_t>(member)].key; });
    return group;
}

ParentTeam Communicator::State::as_parent() {
    return {transport->rank(), transport->size(), [this](const void* own, void* all, std::uint64_t bytes) { all_gather_bytes(own, all, bytes); }, address,
            secret};
}

std::unique_ptr<Communicator> Communicator::State::split(int color, int key) {
    ProgressFamily& family = *options.execution.family;
    const Wish own{color, key, family.next_number()};
    std::vector<Wish> wishes(static_cast<std::size_t>(transport->size()));
    all_gather_bytes(&own, wishes.data(), sizeof own);
    const Group group = group_of(wishes, transport->rank());
    family.reserve_numbers_below(group.next_number);
    GroupBootstrap bootstrap(as_parent(), group.members);
    std::unique_ptr<Communicator> child;
    try {
        if (!group.members.empty()) child = make_child(group, bootstrap);
    } catch (const Error& error) {
        bootstrap.finish(error.what());
        throw;
    }
    if (const std::optional<std::string> failure = bootstrap.finish())
        throw Error(ErrorCode::failure, fmt::format("cannot make communicator {}: {}", group.number, *failure));
    return child;
}

std::unique_ptr<Communicator> Communicator::State::make_child(const Group& group, Bootstrap& bootstrap) {
    TeamFacts agreed = facts;
    agreed.other_databases.clear();
    agreed.number = group.number;
    const std::string name = fmt::format("{} communicator {}", facts.identity, group.number);
    agreed.identity = core::digest64(std::as_bytes(std::span(name)));
    const NodeMap map = nodes_of(facts.nodes, group.members);
    agreed.nodes = map;
    agreed.chooser.node_map = map.text();
    agreed.chooser.transport = transport_for(facts.chooser.transport, map);
    std::vector<Rank> ranks;
    for (const Rank member : group.members)
        ranks.push_back(first_ranks[static_cast<std::size_t>(member)]);
    CommunicatorOptions inherited = options;
    inherited.table_source = {};
    inherited.transport = agreed.chooser.transport;
    inherited.node_map = map.text();
    inherited.lanes.oversubscribed = transport->oversubscribed();
    std::unique_ptr<Transport> made = make_transport(bootstrap, inherited.transport, inherited.lanes, map);
    auto state = std::make_unique<State>(std::move(inherited), std::move(agreed), std::move(made), std::move(ranks));
    state->origin = origin;
    state->address = address;
    state->secret = secret;
    state->use(std::make_shared<const Chooser>(chooser->for_team(state->facts.chooser)));
    return std::unique_ptr<Communicator>(new Communicator(std::move(state)));
}

}  // namespace attune::collectives

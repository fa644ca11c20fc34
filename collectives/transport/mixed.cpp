// Making a mixed team: the shared memory of each node, then the streams between nodes.
#include "collectives/bootstrap.hpp"
#include "collectives/transport/mixed_transport.hpp"
#include "collectives/transport/tcp_team.hpp"
#include "libcore/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <unistd.h>

namespace attune::collectives {

namespace {

// The ranks of one node as a team of their own. Every exchange is one of all ranks, so all nodes make the same number of them.
class NodeBootstrap final : public Bootstrap {
public:
    NodeBootstrap(Bootstrap& whole, std::vector<Rank> members) : whole_(whole), members_(std::move(members)) {}

    Rank rank() const noexcept override { return static_cast<Rank>(std::ranges::find(members_, whole_.rank()) - members_.begin()); }
    int size() const noexcept override { return static_cast<int>(members_.size()); }

    std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
        std::vector<Contribution> all = whole_.all_gather(bytes, descriptors);
        std::vector<Contribution> ours;
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const bool member = std::ranges::find(members_, static_cast<Rank>(rank)) != members_.end();
            if (member) {
                ours.push_back(std::move(all[rank]));
                continue;
            }
            for (const int descriptor : all[rank].descriptors)
                if (descriptor >= 0) ::close(descriptor);
        }
        return ours;
    }

private:
    Bootstrap& whole_;
    std::vector<Rank> members_;
};

// Nodes of different sizes cut their memory differently; a message has the same pieces everywhere.
std::uint64_t common_fragment(const TransportOptions& options, const NodeMap& nodes, std::uint64_t between) {
    std::uint64_t smallest = between;
    for (int node = 0; node < nodes.nodes(); ++node) {
        const int ranks = static_cast<int>(nodes.ranks_of(node).size());
        smallest = std::min(smallest, RingLayout::make(ranks, options).fragment_bytes);
    }
    return smallest;
}

}  // namespace

std::unique_ptr<Transport> make_mixed_transport(Bootstrap& bootstrap, const TransportOptions& options, const NodeMap& nodes) {
    if (nodes.ranks() != bootstrap.size())
        throw core::Error(core::ErrorCode::usage, fmt::format("the node map '{}' has {} ranks, the team {}", nodes.text(), nodes.ranks(), bootstrap.size()));
    const int node = nodes.node_of[static_cast<std::size_t>(bootstrap.rank())];
    NodeBootstrap members(bootstrap, nodes.ranks_of(node));
    std::unique_ptr<Transport> inside = make_shm_transport(members, options);
    TcpTeam team = make_tcp_team(bootstrap, options, [&](Rank peer) { return !nodes.together(peer, bootstrap.rank()); });
    const std::uint64_t fragment = common_fragment(options, nodes, team.layout.fragment_bytes);
    return std::make_unique<MixedTransport>(std::move(inside), std::make_unique<TcpTransport>(std::move(team)), nodes, fragment);
}

}  // namespace attune::collectives

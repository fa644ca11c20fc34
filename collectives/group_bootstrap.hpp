// Some ranks of a living team meet over that team: new communicators need no launcher.
#pragma once

#include "collectives/bootstrap.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::collectives {

// `own` of every rank of the parent into `all`, in rank order; `bytes` each, a multiple of 8.
using ParentAllGather = std::function<void(const void* own, void* all, std::uint64_t bytes)>;

struct ParentTeam {
    Rank rank = 0;
    int size = 1;
    ParentAllGather all_gather;
    std::string address = {};  // as Bootstrap::address() and secret() of how the parent's ranks met
    std::optional<core::Digest> secret = {};
};

// Every rank of the parent makes one at the same point, whatever its group, and calls finish() when it has what it came for: the exchanges of all groups
// are exchanges of the whole parent. Descriptors reach ranks of the same machine through /proc; ranks elsewhere get -1.
class GroupBootstrap final : public Bootstrap {
public:
    // `members`: the group's ranks of the parent, in the group's order; empty = this rank only takes part.
    GroupBootstrap(ParentTeam parent, std::vector<Rank> members);

    Rank rank() const noexcept override { return rank_; }
    int size() const noexcept override { return static_cast<int>(members_.size()); }
    // Throws Error(failure) also when another member of the group finished before, with the reason it gave.
    std::vector<Contribution> all_gather(std::span<const std::byte> bytes, std::span<const int> descriptors) override;
    std::string address() const override { return parent_.address; }
    std::optional<core::Digest> secret() const override { return parent_.secret; }

    // Takes part until every rank of the parent has finished. `failure`: why this rank gives up, empty = it did not. Returns why another member of the group
    // gave up, if one did.
    std::optional<std::string> finish(const std::string& failure = {});

private:
    struct Record;
    std::vector<Record> exchange(const Record& own);
    void require_members(const std::vector<Record>& records) const;
    // Opens what the members passed; all ranks of the parent wait until all have opened.
    void receive_descriptors(const std::vector<Record>& records, std::vector<Contribution>& contributions);

    ParentTeam parent_;
    std::vector<Rank> members_;
    Rank rank_ = -1;
};

}  // namespace attune::collectives

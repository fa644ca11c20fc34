#include "tests/support/mutations.hpp"

#include "libcore/dtypes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace attune::test {

namespace {

using namespace collectives;

// An operation with everything it refers to, so that operations can move.
struct Loose {
    std::size_t id = 0;
    Operation operation;
    std::vector<Source> sources;
    std::vector<Rank> peers;
    std::vector<RemoteSlice> remotes;  // beside the peers, in plans that put
    std::vector<std::size_t> hazards;  // ids
};

std::vector<Loose> loosen(const Plan& plan) {
    std::vector<Loose> loose;
    for (std::size_t id = 0; id < plan.operations.size(); ++id) {
        const Operation& operation = plan.operations[id];
        const auto sources = plan.sources.begin() + operation.first_source;
        const auto peers = plan.peers.begin() + operation.first_peer;
        const auto hazards = plan.hazards.begin() + operation.first_hazard;
        loose.push_back({id, operation, {sources, sources + operation.source_count}, {peers, peers + operation.peer_count}, {}, {}});
        if (!plan.remotes.empty()) {
            const auto remotes = plan.remotes.begin() + operation.first_peer;
            loose.back().remotes.assign(remotes, remotes + operation.peer_count);
        }
        loose.back().hazards.assign(hazards, hazards + operation.hazard_count);
    }
    return loose;
}

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& part, std::uint32_t& first, std::uint32_t& count) {
    first = static_cast<std::uint32_t>(all.size());
    count = static_cast<std::uint32_t>(part.size());
    all.insert(all.end(), part.begin(), part.end());
}

// A length decides the protocol as ever, but a message that goes straight does so in its own way.
Protocol protocol_of(const CompileOptions& options, const Operation& operation) {
    if (operation.length <= options.inline_bytes) return Protocol::inline_message;
    return is_direct(operation.protocol) ? operation.protocol : Protocol::staged;
}

// Hazards on operations that are gone vanish with them.
Plan tighten(const Plan& frame, std::vector<Loose> loose) {
    Plan plan = frame;
    plan.operations.clear();
    plan.sources.clear();
    plan.peers.clear();
    plan.remotes.clear();
    plan.hazards.clear();
    std::ranges::stable_sort(loose, {}, [](const Loose& item) { return item.operation.channel; });
    for (const Loose& item : loose) {
        Operation operation = item.operation;
        operation.protocol = protocol_of(plan.options, operation);
        plan.remotes.insert(plan.remotes.end(), item.remotes.begin(), item.remotes.end());
        append(plan.sources, item.sources, operation.first_source, operation.source_count);
        append(plan.peers, item.peers, operation.first_peer, operation.peer_count);
        std::vector<std::uint32_t> hazards;
        for (const std::size_t id : item.hazards) {
            const auto place = std::ranges::find(loose, id, &Loose::id);
            if (place != loose.end()) hazards.push_back(static_cast<std::uint32_t>(place - loose.begin()));
        }
        std::ranges::sort(hazards);
        append(plan.hazards, hazards, operation.first_hazard, operation.hazard_count);
        plan.operations.push_back(operation);
        plan.channels = std::max(plan.channels, operation.channel + 1);
    }
    for (std::size_t channel = 0; channel <= static_cast<std::size_t>(max_channels); ++channel) {
        const auto begin = std::ranges::find_if(loose, [&](const Loose& item) { return item.operation.channel >= channel; });
        plan.channel_begin[channel] = static_cast<std::uint32_t>(begin - loose.begin());
    }
    return plan;
}

class PlanMutations {
public:
    explicit PlanMutations(const Plan& plan) : plan_(plan), loose_(loosen(plan)), size_(core::size_of(plan.problem.dtype)) {}

    std::vector<Mutant<Plan>> run() {
        for (std::size_t index = 0; index < loose_.size(); ++index) {
            change_numbers(index);
            change_order(index);
            change_peers(index);
            change_sources(index);
            change_direct(index);
            for (std::size_t i = 0; i < loose_[index].hazards.size(); ++i)
                add(index, "hazard left out", [&](auto& all) { all[index].hazards.erase(all[index].hazards.begin() + static_cast<std::ptrdiff_t>(i)); });
        }
        for (std::size_t post = 0; post < plan_.posts.size(); ++post) {
            mutants_.push_back({"post " + std::to_string(post), "post left out", plan_});
            mutants_.back().program.posts.erase(mutants_.back().program.posts.begin() + static_cast<std::ptrdiff_t>(post));
        }
        return std::move(mutants_);
    }

private:
    using Change = std::function<void(std::vector<Loose>&)>;

    void add(std::size_t index, const std::string& what, const Change& change) {
        std::vector<Loose> changed = loose_;
        change(changed);
        const char* kind = plan_.operations[index].kind == OperationKind::send ? "send" : "fold";
        mutants_.push_back({"operation " + std::to_string(index) + " (" + kind + ")", what, tighten(plan_, std::move(changed))});
    }

    void change_numbers(std::size_t index) {
        for (const std::uint64_t by : {size_, std::uint64_t{0} - size_}) {
            const std::string sign = by == size_ ? " + 1" : " - 1";
            add(index, "offset" + sign, [&](auto& all) { all[index].operation.offset += by; });
            if (by == size_ || loose_[index].operation.length > 0) add(index, "length" + sign, [&](auto& all) { all[index].operation.length += by; });
        }
    }

    void change_order(std::size_t index) {
        const auto at = static_cast<std::ptrdiff_t>(index);
        add(index, "dropped", [&](auto& all) { all.erase(all.begin() + at); });
        add(index, "repeated", [&](auto& all) {
            all.insert(all.begin() + at, Loose(all[index]));
            all[index + 1].id = all.size();  // hazards mean the first
        });
        if (index + 1 < loose_.size()) add(index, "exchanged with the next", [&](auto& all) { std::swap(all[index], all[index + 1]); });
        add(index, "other channel", [&](auto& all) { all[index].operation.channel = all[index].operation.channel == 0 ? 1 : 0; });
    }

    void change_peers(std::size_t index) {
        const int ranks = plan_.problem.ranks;
        for (std::size_t i = 0; i < loose_[index].peers.size(); ++i) {
            for (const int by : {-1, 1})
                add(index, by > 0 ? "peer + 1" : "peer - 1", [&](auto& all) { all[index].peers[i] = (all[index].peers[i] + by + ranks) % ranks; });
            if (loose_[index].peers.size() > 1)
                add(index, "peer left out", [&](auto& all) { all[index].peers.erase(all[index].peers.begin() + static_cast<std::ptrdiff_t>(i)); });
        }
    }

    void change_sources(std::size_t index) {
        const std::vector<Source>& sources = loose_[index].sources;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (sources[i].message) {
                change_message(index, i);
            } else {
                change_local(index, i);
            }
            if (i + 1 < sources.size())
                add(index, "operand exchanged with the next", [&](auto& all) { std::swap(all[index].sources[i], all[index].sources[i + 1]); });
            if (sources.size() > 1)
                add(index, "operand left out", [&](auto& all) { all[index].sources.erase(all[index].sources.begin() + static_cast<std::ptrdiff_t>(i)); });
        }
    }

    void change_direct(std::size_t index) {
        const Protocol own = loose_[index].operation.protocol;
        if (!is_direct(own)) return;
        for (const Protocol other : {Protocol::cma_get, Protocol::cma_put, Protocol::mixed}) {
            if (other != own) add(index, "other protocol", [&](auto& all) { all[index].operation.protocol = other; });
        }
        if (own != Protocol::cma_put || loose_[index].operation.kind != OperationKind::send) return;
        for (const std::uint64_t by : {size_, std::uint64_t{0} - size_})
            add(index, by == size_ ? "remote + 1" : "remote - 1", [&](auto& all) { all[index].remotes[0].offset += by; });
        add(index, "lands in another memory", [&](auto& all) {
            Memory& memory = all[index].remotes[0].memory;
            memory = memory == Memory::scratch ? Memory::output : Memory::scratch;
        });
    }

    void change_message(std::size_t index, std::size_t i) {
        const int ranks = plan_.problem.ranks;
        for (const int by : {-1, 1}) {
            add(index, by > 0 ? "source peer + 1" : "source peer - 1", [&](auto& all) {
                Source& source = all[index].sources[i];
                source.peer = (source.peer + by + ranks) % ranks;
            });
        }
        add(index, "reads its destination instead of the message", [&](auto& all) {
            const Operation& operation = all[index].operation;
            all[index].sources[i] = {false, operation.memory, -1, operation.offset};
        });
    }

    void change_local(std::size_t index, std::size_t i) {
        for (const std::uint64_t by : {size_, std::uint64_t{0} - size_})
            add(index, by == size_ ? "source + 1" : "source - 1", [&](auto& all) { all[index].sources[i].offset += by; });
        for (const Memory memory : {Memory::input, Memory::output, Memory::scratch}) {
            if (memory != loose_[index].sources[i].memory) add(index, "reads another memory", [&](auto& all) { all[index].sources[i].memory = memory; });
        }
    }

    const Plan& plan_;
    std::vector<Loose> loose_;
    std::uint64_t size_;
    std::vector<Mutant<Plan>> mutants_;
};

}  // namespace

std::vector<Mutant<Plan>> mutants_of(const Plan& plan) {
    return PlanMutations(plan).run();
}

}  // namespace attune::test

// Operations to actions. A plan is checked as it stands: its indices, its slices, its protocols and its hazards are not trusted.
#include "collectives/amounts.hpp"
#include "collectives/verify/program_set.hpp"

#include "libcore/dtypes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attune::collectives::verify {

namespace {

Layout layout_of(const Problem& problem, const Plan& plan) {
    Layout layout;
    layout.size = {problem.input_elements(plan.rank), problem.output_elements(plan.rank), plan.scratch_bytes / core::size_of(problem.dtype)};
    layout.base = {0, layout.size[0], layout.size[0] + layout.size[1]};
    if (problem.in_place) {
        // One buffer, whatever the plan calls it.
        const std::uint64_t larger = problem.in_place_elements();
        layout.size = {larger, larger, layout.size[2]};
        layout.base = {0, 0, larger};
    }
    layout.total = layout.base[2] + std::min(layout.size[2], std::uint64_t{1} << 40);
    return layout;
}

Refutation check_frame(const Problem& problem, const Plan& plan, const Plan& first, Rank rank) {
    if (plan.rank != rank) return fmt::format("the plan at place {} belongs to rank {}", rank, plan.rank);
    if (!(plan.problem == problem) && !(plan.problem == view_of(problem, rank))) return fmt::format("the plan of rank {} is for another problem", rank);
    if (plan.options.inline_bytes != first.options.inline_bytes || plan.options.fragment_bytes != first.options.fragment_bytes)
        return fmt::format("the plan of rank {} has other inline or fragment sizes than rank 0", rank);
    if (plan.options.protocol != first.options.protocol) return fmt::format("the plan of rank {} has another protocol than rank 0", rank);
    if (plan.channels < 1 || plan.channels > max_channels) return fmt::format("the plan of rank {} has {} channels", rank, plan.channels);
    if (plan.channel_begin[0] != 0 || plan.channel_begin[static_cast<std::size_t>(plan.channels)] != plan.operations.size() ||
        plan.channel_begin.back() != plan.operations.size() || !std::ranges::is_sorted(plan.channel_begin))
        return fmt::format("the plan of rank {} does not divide its operations into channels", rank);
    return {};
}

class Lowering {
public:
    Lowering(ProgramSet& set) : set_(set), size_(core::size_of(set.problem.dtype)) {}

    Refutation run() {
        for (const Plan& plan : set_.plans) {
            plan_ = &plan;
            layout_ = &set_.layouts[static_cast<std::size_t>(plan.rank)];
            for (int channel = 0; channel < set_.channels; ++channel) {
                if (Refutation refutation = lower_program(channel)) return refutation;
            }
        }
        set_.program_begin.push_back(static_cast<std::uint32_t>(set_.actions.size()));
        return {};
    }

private:
    Refutation wrong(std::uint32_t index, std::string_view why) const {
        return fmt::format("rank {} operation {} of channel {} {}", plan_->rank, index, plan_->operations[index].channel, why);
    }

    static bool inside(std::uint32_t first, std::uint32_t count, std::size_t size) { return first <= size && count <= size - first; }

    Refutation lower_program(int channel) {
        const auto base = static_cast<std::uint32_t>(set_.actions.size());
        set_.program_begin.push_back(base);
        const std::uint32_t begin = plan_->channel_begin[static_cast<std::size_t>(channel)];
        const std::uint32_t end = plan_->channel_begin[static_cast<std::size_t>(channel) + 1];
        for (std::uint32_t index = begin; index < end; ++index) {
            if (Refutation refutation = lower_operation(channel, index)) return refutation;
            if (Refutation refutation = lower_hazards(index, begin)) return refutation;
        }
        return {};
    }

    std::uint32_t address_of(Memory memory, std::uint64_t offset, std::uint64_t length) const { return address_in(*layout_, memory, offset, length); }

    std::uint32_t address_in(const Layout& layout, Memory memory, std::uint64_t offset, std::uint64_t length) const {
        const auto index = static_cast<std::size_t>(memory);
        if (index >= layout.size.size() || offset % size_ != 0 || length % size_ != 0) return none;
        const std::uint64_t size = layout.size[index] * size_;
        if (offset > size || length > size - offset) return none;
        return static_cast<std::uint32_t>(layout.base[index] + offset / size_);
    }

    Refutation lower_operation(int channel, std::uint32_t index) {
        const Operation& operation = plan_->operations[index];
        if (operation.channel != channel) return wrong(index, "stands among the operations of another channel");
        const bool is_send = operation.kind == OperationKind::send;
        const std::uint32_t address = address_of(operation.memory, operation.offset, operation.length);
        if (address == none) return wrong(index, "has a slice outside its buffer or off its elements");
        if (!is_send && operation.memory == Memory::input && !set_.problem.in_place) return wrong(index, "writes the input of a call that is not in place");
        if (!may_have(operation, operation.protocol)) return wrong(index, "has another protocol than its length says");
        Action action;
        action.protocol = operation.protocol;
        action.is_send = is_send;
        action.scale = operation.scale;
        action.program = set_.program_of(plan_->rank, channel);
        action.address = address;
        action.length = static_cast<std::uint32_t>(operation.length / size_);
        action.first = static_cast<std::uint32_t>(is_send ? set_.messages.size() : set_.sources.size());
        action.count = is_send ? operation.peer_count : operation.source_count;
        action.origin = index;
        set_.actions.push_back(action);
        if (Refutation refutation = is_send ? add_peers(index, operation) : add_sources(index, operation)) return refutation;
        return is_direct(operation.protocol) ? check_direct(index, operation) : Refutation{};
    }

    bool takes_messages(const Operation& operation) const {
        for (std::uint32_t i = operation.first_source; i < operation.first_source + operation.source_count && i < plan_->sources.size(); ++i) {
            if (plan_->sources[i].message) return true;
        }
        return false;
    }

    // Length and config decide, but for what the receiver's schedule makes a put: both ends must agree on that later.
    bool may_have(const Operation& operation, Protocol protocol) const {
        const CompileOptions& options = plan_->options;
        if (operation.length <= options.inline_bytes) return protocol == Protocol::inline_message;
        const bool local = operation.kind == OperationKind::fold && !takes_messages(operation);
        if (local || !is_direct(options.protocol)) return protocol == Protocol::staged;
        return protocol == options.protocol || (options.protocol == Protocol::cma_put && protocol == Protocol::cma_get);
    }

    Refutation check_direct(std::uint32_t index, const Operation& operation) {
        if (!plan_->direct) return wrong(index, "goes straight in a plan that denies it");
        if (operation.kind == OperationKind::send) {
            if (operation.peer_count != 1) return wrong(index, "goes straight to several peers");
            if (operation.protocol != Protocol::cma_put) return {};
            if (operation.first_peer >= plan_->remotes.size()) return wrong(index, "is put nowhere");
            const RemoteSlice& slice = plan_->remotes[operation.first_peer];
            const Layout& there = set_.layouts[static_cast<std::size_t>(plan_->peers[operation.first_peer])];
            set_.actions.back().remote = address_in(there, slice.memory, slice.offset, operation.length);
            return {};
        }
        if (operation.source_count < 2) return {};
        std::uint64_t messages = 0;
        for (std::uint32_t i = operation.first_source; i < operation.first_source + operation.source_count; ++i)
            messages += plan_->sources[i].message ? 1 : 0;
        const bool fits = plan_->piece_bytes > 0 && plan_->piece_bytes % cut_unit == 0 && messages * plan_->piece_bytes <= plan_->bounce_bytes;
        return fits ? Refutation{} : wrong(index, "has no room for the pieces of its messages");
    }

    Refutation add_peers(std::uint32_t index, const Operation& operation) {
        if (operation.peer_count == 0 || !inside(operation.first_peer, operation.peer_count, plan_->peers.size())) return wrong(index, "has no peers");
        const auto peers = std::span(plan_->peers).subspan(operation.first_peer, operation.peer_count);
        for (std::size_t i = 0; i < peers.size(); ++i) {
            if (Refutation refutation = check_peer(set_, plan_->rank, peers[i], "")) return wrong(index, *refutation);
            if (std::ranges::find(peers.first(i), peers[i]) != peers.begin() + static_cast<std::ptrdiff_t>(i)) return wrong(index, "sends twice to one peer");
            set_.messages.push_back({peers[i], static_cast<std::uint32_t>(set_.actions.size() - 1), none, none});
        }
        return {};
    }

    Refutation add_sources(std::uint32_t index, const Operation& operation) {
        if (operation.source_count == 0 || !inside(operation.first_source, operation.source_count, plan_->sources.size()))
            return wrong(index, "has no sources");
        const Action fold = set_.actions.back();
        for (std::uint32_t i = 0; i < operation.source_count; ++i) {
            const collectives::Source& source = plan_->sources[operation.first_source + i];
            if (source.message) {
                if (Refutation refutation = check_peer(set_, plan_->rank, source.peer, "")) return wrong(index, *refutation);
                set_.sources.push_back({source.peer, 0, none});
                continue;
            }
            const std::uint32_t address = address_of(source.memory, source.offset, operation.length);
            if (address == none) return wrong(index, "reads outside its buffer or off its elements");
            const bool apart = address >= fold.address + fold.length || fold.address >= address + fold.length;
            if (!apart && address != fold.address) return wrong(index, "reads a slice that overlaps its destination in part");
            set_.sources.push_back({-1, address, none});
        }
        return {};
    }

    Refutation lower_hazards(std::uint32_t index, std::uint32_t begin) {
        const Operation& operation = plan_->operations[index];
        Action& action = set_.actions.back();
        action.first_hazard = static_cast<std::uint32_t>(set_.hazards.size());
        if (operation.hazard_count == 0) return {};
        if (action.is_send || !inside(operation.first_hazard, operation.hazard_count, plan_->hazards.size())) return wrong(index, "has hazards out of range");
        for (std::uint32_t i = 0; i < operation.hazard_count; ++i) {
            const std::uint32_t hazard = plan_->hazards[operation.first_hazard + i];
            const bool ascending = i == 0 || plan_->hazards[operation.first_hazard + i - 1] < hazard;
            if (hazard < begin || hazard >= index || !ascending || plan_->operations[hazard].kind != OperationKind::send)
                return wrong(index, fmt::format("lists operation {}, which is no earlier send of its channel in ascending order", hazard));
            set_.hazards.push_back(set_.program_begin.back() + hazard - begin);
        }
        action.hazard_count = operation.hazard_count;
        return {};
    }

    static constexpr std::uint64_t cut_unit = 8;  // pieces end between elements of any type

    ProgramSet& set_;
    const Plan* plan_ = nullptr;
    const Layout* layout_ = nullptr;
    std::uint64_t size_;
};

}  // namespace

Refutation lower(const Problem& problem, std::span<const Plan> plans, ProgramSet& set) {
    set.clear();
    if (Refutation refutation = check_problem(problem, plans.size())) return refutation;
    set.problem = problem;
    set.plans = plans;
    set.hazards_listed = true;
    set.channels = 1;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        if (Refutation refutation = check_frame(problem, plans[rank], plans[0], static_cast<Rank>(rank))) return refutation;
        set.channels = std::max(set.channels, plans[rank].channels);
        set.layouts.push_back(layout_of(problem, plans[rank]));
    }
    check_size(set);
    return Lowering(set).run();
}

}  // namespace attune::collectives::verify

// Steps to operations: slices resolved to bytes of one memory, sends of one slice merged, joined steps folded, hazards listed.
#include "collectives/plan.hpp"

#include "collectives/hazards.hpp"
#include "collectives/landings.hpp"
#include "libcore/dtypes.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace attune::collectives {

namespace {

struct Slice {
    Memory memory;
    std::uint64_t offset;  // bytes
    bool operator==(const Slice&) const = default;
};

constexpr std::array protocol_names = {"inline", "staged", "cma_get", "cma_put", "mixed"};

// Folds of several messages read them through pieces that stay in a second-level cache together.
constexpr std::uint64_t largest_piece = std::uint64_t{64} << 10, smallest_piece = std::uint64_t{8} << 10, all_pieces = std::uint64_t{256} << 10;

class Compiler {
public:
    Compiler(const Problem& problem, const Schedule& schedule, const CompileOptions& options, const ScheduleOf& schedule_of)
        : schedule_(schedule),
          places_(placements(problem, schedule)),
          size_(core::size_of(problem.dtype)),
          last_send_(static_cast<std::size_t>(problem.ranks), none),
          last_taken_(static_cast<std::size_t>(problem.ranks), none) {
        plan_.problem = problem;
        plan_.rank = schedule.rank;
        plan_.options = options;
        plan_.scratch_bytes = schedule.scratch_elements * size_;
        if (options.protocol == Protocol::cma_put && schedule_of) puts_.emplace(problem, schedule, schedule_of);
    }

    Plan run() {
        plan_.channels = count_channels();
        plan_.operations.reserve(schedule_.steps.size());
        plan_.sources.reserve(schedule_.steps.size());
        for (int channel = 0; channel < max_channels; ++channel) {
            if (channel < plan_.channels) compile_channel(static_cast<std::uint8_t>(channel));
            plan_.channel_begin[static_cast<std::size_t>(channel) + 1] = static_cast<std::uint32_t>(plan_.operations.size());
            if (channel < plan_.channels) list_hazards(plan_, channel);
        }
        size_bounce();
        return std::move(plan_);
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    [[noreturn]] void refuse(std::size_t index, const std::string& why) const {
        throw core::Error(core::ErrorCode::failure, "step " + std::to_string(index) + " of rank " + std::to_string(schedule_.rank) + " of " +
                                                        std::string(name_of(plan_.problem.collective)) + " " + why +
                                                        "; its generator breaks the step contract");
    }

    int count_channels() const {
        int channels = 1;
        for (std::size_t index = 0; index < schedule_.steps.size(); ++index) {
            const Step& step = schedule_.steps[index];
            if (step.channel >= max_channels)
                refuse(index, "uses channel " + std::to_string(step.channel) + ", the last is " + std::to_string(max_channels - 1));
            channels = std::max(channels, step.channel + 1);
            if (step.joined && (index == 0 || schedule_.steps[index - 1].channel != step.channel)) refuse(index, "joins a step of another channel");
        }
        return channels;
    }

    void compile_channel(std::uint8_t channel) {
        const std::vector<Step>& steps = schedule_.steps;
        for (std::size_t index = 0; index < steps.size();) {
            if (steps[index].channel != channel) {
                ++index;
                continue;
            }
            if (steps[index].joined) refuse(index, "joins a step that is no fold");
            if (steps[index].kind == StepKind::send) {
                append_send(index++);
                continue;
            }
            std::size_t end = index + 1;
            while (end < steps.size() && steps[end].joined)
                ++end;
            append_fold(index, end);
            index = end;
        }
    }

    Slice resolve(std::size_t index, BufferId buffer, std::uint64_t offset) const {
        const Placement& place = places_[static_cast<std::size_t>(buffer)];
        const std::uint64_t length = schedule_.steps[index].length;
        if (offset > place.elements || length > place.elements - offset) {
            refuse(index, "touches elements " + std::to_string(offset) + " to " + std::to_string(offset + length) + " of a buffer of " +
                              std::to_string(place.elements));
        }
        return {place.memory, place.base + offset * size_};
    }

    void check_peer(std::size_t index) const {
        const Rank peer = schedule_.steps[index].peer;
        if (peer < 0 || peer >= plan_.problem.ranks || peer == schedule_.rank) {
            refuse(index, "names peer " + std::to_string(peer) + " of " + std::to_string(plan_.problem.ranks) + " ranks");
        }
    }

    Operation operation_for(const Step& step, OperationKind kind, const Slice& slice) const {
        Operation operation;
        operation.kind = kind;
        operation.channel = step.channel;
        operation.memory = slice.memory;
        operation.offset = slice.offset;
        operation.length = step.length * size_;
        operation.protocol = protocol_for(operation.length);
        return operation;
    }

    // A put is decided later.
    Protocol protocol_for(std::uint64_t length) const noexcept {
        if (length <= plan_.options.inline_bytes) return Protocol::inline_message;
        switch (plan_.options.protocol) {
            case Protocol::inline_message:
            case Protocol::staged:
                return Protocol::staged;
            case Protocol::cma_get:
            case Protocol::cma_put:
                return Protocol::cma_get;
            case Protocol::mixed:
                return Protocol::mixed;
        }
        return Protocol::staged;
    }

    // A send right after a send of the same slice to other peers joins it: one staging copy for all of them.
    void append_send(std::size_t index) {
        const Step& step = schedule_.steps[index];
        check_peer(index);
        const Slice slice = resolve(index, step.source, step.source_offset);
        const Landing landing = puts_ ? puts_->next_sent(step) : Landing{};
        const bool direct = is_direct(protocol_for(step.length * size_));
        const auto current = static_cast<std::uint32_t>(plan_.operations.size());
        std::uint32_t& last = last_send_[static_cast<std::size_t>(step.peer)];
        if (!direct && current > plan_.channel_begin[step.channel] && last != current - 1) {
            Operation& before = plan_.operations.back();
            const bool same = before.kind == OperationKind::send && Slice{before.memory, before.offset} == slice && before.length == step.length * size_;
            if (same) {
                add_peer(step.peer, {});
                ++before.peer_count;
                last = current - 1;
                return;
            }
        }
        Operation operation = operation_for(step, OperationKind::send, slice);
        operation.first_peer = static_cast<std::uint32_t>(plan_.peers.size());
        operation.peer_count = 1;
        if (direct && landing.free) operation.protocol = Protocol::cma_put;
        add_peer(step.peer, landing);
        plan_.operations.push_back(operation);
        last = current;
    }

    void add_peer(Rank peer, const Landing& landing) {
        plan_.peers.push_back(peer);
        if (puts_) plan_.remotes.push_back(landing.free ? RemoteSlice{landing.memory, landing.offset} : RemoteSlice{});
    }

    // Makes the fold a put when its one message may be, and posts its lane.
    void decide_put(Operation& fold, std::size_t begin, std::size_t end) {
        bool free = false;
        for (std::size_t index = begin; index < end; ++index) {
            const Step& step = schedule_.steps[index];
            if (step.kind == StepKind::recv) free = puts_->next_received(step).free;
        }
        if (!free || !is_direct(fold.protocol)) return;
        fold.protocol = Protocol::cma_put;
        const Post post{schedule_.steps[begin].peer, fold.channel};
        if (std::ranges::find(plan_.posts, post) == plan_.posts.end()) plan_.posts.push_back(post);
    }

    void size_bounce() {
        std::uint64_t messages = 0;
        for (const Operation& operation : plan_.operations) {
            if (!is_direct(operation.protocol)) continue;
            plan_.direct = true;
            if (operation.kind == OperationKind::send || operation.source_count < 2) continue;
            const std::span sources(plan_.sources.begin() + operation.first_source, operation.source_count);
            messages = std::max(messages, static_cast<std::uint64_t>(std::ranges::count_if(sources, &Source::message)));
        }
        if (messages == 0) return;
        plan_.piece_bytes = std::clamp(std::bit_floor(all_pieces / messages), smallest_piece, largest_piece);
        plan_.bounce_bytes = messages * plan_.piece_bytes;
    }

    void append_fold(std::size_t begin, std::size_t end) {
        const Step& first = schedule_.steps[begin];
        const Slice slice = resolve(begin, first.destination, first.destination_offset);
        if (first.destination == BufferId::input && !plan_.problem.in_place) refuse(begin, "writes the input of a call that is not in place");
        Operation fold = operation_for(first, OperationKind::fold, slice);
        fold.first_source = static_cast<std::uint32_t>(plan_.sources.size());
        for (std::size_t index = begin; index < end; ++index)
            add_to_fold(fold, index, index == begin, index + 1 == end);
        fold.source_count = static_cast<std::uint32_t>(plan_.sources.size()) - fold.first_source;
        if (takes_nothing(fold) && is_direct(fold.protocol)) fold.protocol = Protocol::staged;  // only a length to be cut
        if (puts_) decide_put(fold, begin, end);
        if (!is_idle(fold)) {
            plan_.operations.push_back(fold);
        } else {
            plan_.sources.resize(fold.first_source);
        }
    }

    void add_to_fold(Operation& fold, std::size_t index, bool is_first, bool is_last) {
        const Step& step = schedule_.steps[index];
        const Slice target = resolve(index, step.destination, step.destination_offset);
        if (target != Slice{fold.memory, fold.offset} || step.length * size_ != fold.length) refuse(index, "joins a fold of another slice");
        switch (step.kind) {
            case StepKind::send:
                refuse(index, "is a send that joins a fold");
            case StepKind::recv:
                add_message(index);
                break;
            case StepKind::copy:
                if (!is_first) refuse(index, "is a copy inside a fold");
                add_local(fold, index, resolve(index, step.source, step.source_offset));
                break;
            case StepKind::reduce:
                if (is_first) refuse(index, "is a reduce that joins nothing");
                add_local(fold, index, resolve(index, step.source, step.source_offset));
                break;
            case StepKind::scale:
                if (!is_last) refuse(index, "is a scale that is not the last of its fold");
                if (!core::is_floating(plan_.problem.dtype)) refuse(index, "scales integers");
                if (is_first) add_local(fold, index, target);
                fold.scale = true;
        }
    }

    void add_message(std::size_t index) {
        const Rank peer = schedule_.steps[index].peer;
        check_peer(index);
        // Fragments of two messages of one peer come one after the other, a fold needs them side by side.
        std::uint32_t& last = last_taken_[static_cast<std::size_t>(peer)];
        if (last == plan_.operations.size()) refuse(index, "takes a second message of peer " + std::to_string(peer) + " into one fold");
        last = static_cast<std::uint32_t>(plan_.operations.size());
        plan_.sources.push_back({true, Memory::input, peer, 0});
    }

    void add_local(const Operation& fold, std::size_t index, const Slice& slice) {
        const bool overlaps = slice.memory == fold.memory && slice.offset < fold.offset + fold.length && fold.offset < slice.offset + fold.length;
        if (overlaps && slice.offset != fold.offset) refuse(index, "reads a slice that overlaps its destination in part");
        plan_.sources.push_back({false, slice.memory, -1, slice.offset});
    }

    // Nothing to move and nobody to wait for: an empty local fold, or a copy onto itself (the own slice of an in-place call).
    bool is_idle(const Operation& fold) const {
        if (!takes_nothing(fold)) return false;
        if (fold.length == 0) return true;
        const Source& first = plan_.sources[fold.first_source];
        return fold.source_count == 1 && !fold.scale && Slice{first.memory, first.offset} == Slice{fold.memory, fold.offset};
    }

    // No message.
    bool takes_nothing(const Operation& fold) const {
        return std::ranges::none_of(std::span(plan_.sources.begin() + fold.first_source, fold.source_count), &Source::message);
    }

    const Schedule& schedule_;
    std::array<Placement, 3> places_;
    std::uint64_t size_;
    std::vector<std::uint32_t> last_send_;   // per peer: the last operation that sends to it
    std::vector<std::uint32_t> last_taken_;  // and the last fold with a message of it
    std::optional<Puts> puts_;
    Plan plan_;
};

}  // namespace

std::string_view name_of(Protocol protocol) noexcept {
    return protocol_names[static_cast<std::size_t>(protocol)];
}

CompileOptions compile_options(const core::Config& config, std::uint64_t fragment_bytes) {
    CompileOptions options;
    options.inline_bytes = config.number("inline_bytes", options.inline_bytes);
    options.fragment_bytes = fragment_bytes;
    options.link.channels = static_cast<int>(config.number("channels", 1));
    options.link.socket_buffer_bytes = config.number("socket_buffer_bytes", 0);
    options.link.congestion_control = config.get("congestion_control").value_or("");
    options.streaming_stores = config.get("staging_stores") == "streaming";
    options.nontemporal_bytes = config.number("nontemporal_bytes", 0);
    const auto named = std::ranges::find(protocol_names, config.get("protocol").value_or("staged"));
    if (named != protocol_names.end()) options.protocol = static_cast<Protocol>(named - protocol_names.begin());
    return options;
}

Plan compile(const Problem& problem, const Schedule& schedule, const CompileOptions& options, const ScheduleOf& schedule_of) {
    return Compiler(problem, schedule, options, schedule_of).run();
}

}  // namespace attune::collectives

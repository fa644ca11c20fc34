// The folds whose messages pass no staging: one message goes straight to its place, several are read piece by piece beside each other.
#include "collectives/execution/call.hpp"
#include "collectives/execution/sharing.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace attune::collectives {

namespace {

Descriptor descriptor_of(const Incoming& incoming) noexcept {
    Descriptor descriptor;
    std::memcpy(&descriptor, incoming.payload, sizeof(descriptor));
    return descriptor;
}

}  // namespace

void Call::post_buffers() noexcept {
    for (const Post& post : plan_->posts) {
        DirectLine& line = direct_->line_from({post.peer, frame_.slot, post.channel});
        line.digest.store(frame_.digest, std::memory_order_relaxed);
        for (std::size_t memory = 0; memory < line.memory.size(); ++memory)
            line.memory[memory].store(reinterpret_cast<std::uint64_t>(frame_.memory[memory]), std::memory_order_relaxed);
        line.call.store(frame_.call, std::memory_order_release);  // pairs with the load in SendQueues::push_put()
    }
}

bool Call::reads(Rank peer, std::uint64_t address, std::span<std::byte> into) noexcept {
    const int error = direct_->read_memory(peer, address, into);
    if (error != 0) loss_ = {peer, error};
    return error == 0;
}

bool Call::direct_piece(Program& program, const Operation& operation) noexcept {
    if (operation.source_count == 1) {
        if (!take_message(program, operation)) return false;
        if (program.offset != operation.length) return true;
        void* const place = frame_.at(operation.memory, operation.offset);
        const void* const source = place;
        if (operation.scale) average_(place, {&source, 1, frame_.plan->problem.ranks}, operation.length / element_bytes_);
        release_sources(operation);
        return true;
    }
    const std::uint64_t length = std::min(operation.length - program.offset, frame_.plan->piece_bytes);
    if (!bounce_messages(program, operation, length)) return false;
    begin_step();
    combine(operation, program.offset, length);
    program.ready = 0;
    program.offset += length;
    if (program.offset == operation.length) release_sources(operation);
    return true;
}

// A piece of the one message, or all of one that was put.
bool Call::take_message(Program& program, const Operation& operation) noexcept {
    const Rank peer = frame_.plan->sources[operation.first_source].peer;
    const bool put = operation.protocol == Protocol::cma_put;
    Incoming incoming;
    if (!transport_.peek({peer, frame_.slot, operation.channel}, put ? 0 : sizeof(Descriptor), true, incoming) || !agrees(incoming, peer)) return false;
    if (put) {
        begin_step();
        program.offset = operation.length;
        return true;
    }
    const Descriptor descriptor = descriptor_of(incoming);
    if (operation.protocol == Protocol::mixed) return take_shared(program, operation, descriptor);
    const std::uint64_t length = std::min(operation.length - program.offset, direct_step_bytes);
    begin_step();
    if (!reads(peer, descriptor.address + program.offset, {frame_.at(operation.memory, operation.offset + program.offset), length})) return false;
    program.offset += length;
    return true;
}

bool Call::take_shared(Program& program, const Operation& operation, const Descriptor& descriptor) noexcept {
    const Rank peer = frame_.plan->sources[operation.first_source].peer;
    const Pieces pieces(operation.length);
    std::byte* const destination = frame_.at(operation.memory, operation.offset);
    Sharing sharing(direct_->line_from({peer, frame_.slot, operation.channel}), descriptor.number, pieces);
    if (!program.sharing) sharing.open(reinterpret_cast<std::uint64_t>(destination));
    program.sharing = true;
    if (const std::optional<std::uint64_t> piece = sharing.claim_front()) {
        begin_step();
        const std::uint64_t begin = pieces.begin(*piece);
        return reads(peer, descriptor.address + begin, {destination + begin, pieces.size(*piece)});
    }
    if (!sharing.complete()) return false;
    begin_step();
    program.sharing = false;
    program.offset = operation.length;
    return true;
}

bool Call::bounce_messages(Program& program, const Operation& operation, std::uint64_t length) noexcept {
    const std::span sources(frame_.plan->sources.data() + operation.first_source, operation.source_count);
    std::byte* place = bounce_.data() + operation.channel * frame_.plan->bounce_bytes;
    for (std::uint32_t number = 0; number < sources.size(); ++number) {
        const Source& source = sources[number];
        std::byte* const own_place = place;
        if (source.message) place += frame_.plan->piece_bytes;
        if (number < program.ready) continue;
        const void*& pointer = pointers_[operation.first_source + number];
        pointer = source.message ? own_place : frame_.at(source.memory, source.offset + program.offset);
        if (source.message) {
            Incoming incoming;
            if (!transport_.peek({source.peer, frame_.slot, operation.channel}, sizeof(Descriptor), true, incoming)) return false;
            if (!agrees(incoming, source.peer)) return false;
            begin_step();
            if (!reads(source.peer, descriptor_of(incoming).address + program.offset, {own_place, length})) return false;
        }
        program.ready = number + 1;
    }
    return true;
}

}  // namespace attune::collectives

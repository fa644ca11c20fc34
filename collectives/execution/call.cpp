#include "collectives/execution/call.hpp"

#include "libcore/dtypes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attune::collectives {

Call::Call(Transport& transport, std::uint8_t slot, core::StepTrace* steps)
    : transport_(transport), sends_(transport), direct_(transport.direct()), steps_(steps) {
    frame_.slot = slot;
}

void Call::start(CallArguments arguments, const CallRecord& record, std::uint32_t text) {
    if (steps_ != nullptr) begun_ = steps_->begin_step();
    text_ = text;
    const Plan& plan = *arguments.plan;
    if (plan_ != arguments.plan) {
        sends_.prepare(plan);
        if (pointers_.size() < plan.sources.size()) pointers_.resize(plan.sources.size());
        if (scratch_.size() < plan.scratch_bytes) scratch_ = core::Buffer(plan.scratch_bytes);
        const std::uint64_t bounce_bytes = plan.bounce_bytes * static_cast<std::uint64_t>(plan.channels);
        if (bounce_.size() < bounce_bytes) bounce_ = core::Buffer(bounce_bytes);
        kernel_ = fold_kernel(plan.problem.dtype, plan.problem.op);
        average_ = average_kernel(plan.problem.dtype);
        element_bytes_ = core::size_of(plan.problem.dtype);
        plan_ = std::move(arguments.plan);
    }
    frame_.plan = plan_.get();
    // Out of place, `input` is never a destination, so the cast is never written through.
    frame_.memory = {static_cast<std::byte*>(const_cast<void*>(arguments.input)), static_cast<std::byte*>(arguments.output), scratch_.data()};
    frame_.call = record.call;
    frame_.digest = record.digest;
    // With more ranks than CPUs the reader often runs on the writer's own CPU: streaming never helped there and cost up to 1.7x.
    frame_.streaming = plan.options.streaming_stores && !transport_.oversubscribed();
    for (std::size_t channel = 0; channel < programs_.size(); ++channel) {
        programs_[channel] = {plan.channel_begin[channel], plan.channel_begin[channel + 1], 0, 0, 0, false, false};
    }
    record_ = record;
    active_ = true;
    if (!plan.posts.empty()) post_buffers();
}

bool Call::advance() noexcept {
    if (mismatch_ >= 0 || loss().peer >= 0) return false;
    bool moved = !sends_.idle() && push_sends();
    bool finished = true;
    for (int channel = 0; channel < frame_.plan->channels; ++channel) {
        Program& program = programs_[static_cast<std::size_t>(channel)];
        moved |= run(program);
        finished = finished && program.next == program.end;
    }
    if (finished && sends_.idle() && transport_.flush()) {
        active_ = false;
        moved = true;
        if (steps_ != nullptr) note_end();
    }
    return moved;
}

bool Call::push_sends() noexcept {
    if (steps_ == nullptr) return sends_.push(frame_);
    const std::uint64_t begin = core::ticks();
    const bool moved = sends_.push(frame_);
    if (!moved) return false;
    steps_->end_wait(begin);
    note(core::TraceKind::post, begin, nullptr, 0);  // a part of sends that are noted already
    return true;
}

// The peer of a send to one, or of a message that is all of a fold.
void Call::note(core::TraceKind kind, std::uint64_t begin, const Operation* operation, std::uint64_t bytes) noexcept {
    core::StepRecord record;
    record.begin = begin;
    record.bytes = bytes;
    record.call = static_cast<std::uint32_t>(record_.number);
    record.kind = static_cast<std::uint8_t>(kind);
    if (operation != nullptr) {
        record.channel = operation->channel;
        if (operation->peer_count == 1) record.subject = frame_.plan->peers[operation->first_peer];
        if (operation->source_count == 1) record.subject = frame_.plan->sources[operation->first_source].peer;
    }
    record.end = core::ticks();
    steps_->add(record);
}

void Call::note_end() noexcept {
    const std::uint64_t end = steps_->end_steps();
    core::StepRecord record;
    record.begin = begun_;
    record.end = end;
    record.bytes = frame_.plan->problem.bytes();
    record.call = static_cast<std::uint32_t>(record_.number);
    record.kind = static_cast<std::uint8_t>(core::TraceKind::call);
    record.subject = static_cast<std::int32_t>(text_);
    steps_->add(record);
}

std::uint32_t Call::position() const noexcept {
    for (const Program& program : programs_) {
        if (program.next != program.end) return program.next;
    }
    return frame_.plan->channel_begin.back();
}

// Until the program waits, or one piece of a long message is done: then queued sends and other channels have their turn.
bool Call::run(Program& program) noexcept {
    bool moved = false;
    while (program.next != program.end) {
        const Operation& operation = frame_.plan->operations[program.next];
        if (operation.kind == OperationKind::send) {
            begin_step();
            sends_.send(frame_, program.next++);
            if (steps_ != nullptr) note(core::TraceKind::post, steps_->mark(), &operation, operation.length * operation.peer_count);
            moved = true;
            continue;
        }
        const std::uint64_t before = program.offset;
        if (!fold_piece(program, operation)) return moved;
        if (steps_ != nullptr)
            note(operation.source_count > 1 ? core::TraceKind::reduce : core::TraceKind::transfer, steps_->mark(), &operation, program.offset - before);
        moved = true;
        if (program.offset == operation.length) {
            ++program.next;
            program.offset = 0;
            program.hazard = 0;
            program.offered = false;
        }
        if (operation.protocol != Protocol::inline_message) return true;
    }
    return moved;
}

bool Call::fold_piece(Program& program, const Operation& operation) noexcept {
    if (!hazards_over(program, operation)) return false;
    if (is_direct(operation.protocol)) return direct_piece(program, operation);
    if (!program.offered) offer_destination(program, operation);
    const bool whole = operation.protocol == Protocol::inline_message;
    const std::uint64_t length = whole ? operation.length : std::min(operation.length - program.offset, frame_.plan->options.fragment_bytes);
    if (!gather_sources(program, operation, length)) return false;
    begin_step();
    if (length != 0) combine(operation, program.offset, length);
    release_sources(operation);
    program.ready = 0;
    program.offset += length;
    return true;
}

// A message that is nothing but received may land in its place.
void Call::offer_destination(Program& program, const Operation& operation) noexcept {
    program.offered = true;
    const Source& source = frame_.plan->sources[operation.first_source];
    if (operation.source_count != 1 || !source.message || operation.scale || operation.length <= frame_.plan->options.inline_bytes) return;
    std::byte* const destination = frame_.at(operation.memory, operation.offset);
    transport_.offer({source.peer, frame_.slot, operation.channel},
                     {{destination, static_cast<std::size_t>(operation.length)}, frame_.plan->options.fragment_bytes, frame_.digest});
}

bool Call::hazards_over(Program& program, const Operation& operation) noexcept {
    for (; program.hazard < operation.hazard_count; ++program.hazard) {
        if (!sends_.sent(frame_.plan->hazards[operation.first_hazard + program.hazard])) return false;
    }
    return true;
}

bool Call::gather_sources(Program& program, const Operation& operation, std::uint64_t length) noexcept {
    for (; program.ready < operation.source_count; ++program.ready) {
        const std::uint32_t index = operation.first_source + program.ready;
        const Source& source = frame_.plan->sources[index];
        if (!source.message) {
            pointers_[index] = frame_.at(source.memory, source.offset + program.offset);
            continue;
        }
        Incoming incoming;
        const Lane lane{source.peer, frame_.slot, operation.channel};
        if (!transport_.peek(lane, length, operation.protocol == Protocol::inline_message, incoming)) return false;
        if (!agrees(incoming, source.peer)) return false;
        pointers_[index] = incoming.payload;
    }
    return true;
}

bool Call::agrees(const Incoming& incoming, Rank peer) noexcept {
    if (incoming.digest == frame_.digest) return true;
    mismatch_ = peer;
    mismatch_digest_ = incoming.digest;
    return false;
}

void Call::combine(const Operation& operation, std::uint64_t offset, std::uint64_t length) noexcept {
    std::byte* const destination = frame_.at(operation.memory, operation.offset + offset);
    const void* const* const sources = &pointers_[operation.first_source];
    const CompileOptions& options = frame_.plan->options;
    if (operation.scale) {
        average_(destination, {sources, operation.source_count, frame_.plan->problem.ranks}, length / element_bytes_);
    } else if (operation.source_count > 1) {
        kernel_(destination, sources, operation.source_count, length / element_bytes_);
    } else if (options.nontemporal_bytes != 0 && operation.length >= options.nontemporal_bytes && destination != sources[0]) {
        copy_streaming(destination, sources[0], length);
    } else if (destination != sources[0]) {
        std::memcpy(destination, sources[0], length);
    }
}

void Call::release_sources(const Operation& operation) noexcept {
    const Source* const sources = &frame_.plan->sources[operation.first_source];
    for (std::uint32_t index = 0; index < operation.source_count; ++index) {
        if (sources[index].message) transport_.release({sources[index].peer, frame_.slot, operation.channel});
    }
}

}  // namespace attune::collectives

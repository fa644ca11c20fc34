// One call in flight: the programs of its channels and its sends.
#pragma once

#include "collectives/execution/frame.hpp"
#include "collectives/execution/send_queues.hpp"
#include "collectives/kernels/fold.hpp"
#include "libcore/buffers.hpp"
#include "libcore/step_trace.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace attune::collectives {

// What a user passes to start a call.
struct CallArguments {
    std::shared_ptr<const Plan> plan;
    const void* input = nullptr;
    void* output = nullptr;
};

class Call {
public:
    Call(Transport& transport, std::uint8_t slot, core::StepTrace* steps);

    // Allocates only for a plan larger than all before. `text` is the number of its text in the trace.
    void start(CallArguments arguments, const CallRecord& record, std::uint32_t text);
    // Runs every channel until it must wait and pushes queued sends. True when anything moved. After a mismatch nothing moves any more.
    bool advance() noexcept;

    bool active() const noexcept { return active_; }
    const CallRecord& record() const noexcept { return record_; }
    // The peer whose message carried another call's digest, or -1.
    Rank mismatch() const noexcept { return mismatch_; }
    std::uint64_t mismatch_digest() const noexcept { return mismatch_digest_; }  // of that message
    // The peer whose memory could not be reached, or none: after that nothing moves either.
    const Loss& loss() const noexcept { return sends_.loss().peer >= 0 ? sends_.loss() : loss_; }
    // Operation the first unfinished channel is at, for messages.
    std::uint32_t position() const noexcept;
    // Peers that this call waits for; a peer may come more than once.
    template <typename Visit>
    void for_each_awaited(Visit visit) const {
        sends_.for_each_awaited(visit);
        for (const Program& program : programs_) {
            if (program.next == program.end) continue;
            const Operation& operation = frame_.plan->operations[program.next];
            if (operation.kind != OperationKind::fold || program.ready >= operation.source_count) continue;
            const Source& source = frame_.plan->sources[operation.first_source + program.ready];
            if (source.message) visit(source.peer);
        }
    }

private:
    // A channel: operations [next, end) are to do; the fold at `next` has `offset` bytes done and `ready` sources of the current piece present.
    struct Program {
        std::uint32_t next = 0, end = 0;
        std::uint32_t hazard = 0;
        std::uint32_t ready = 0;
        std::uint64_t offset = 0;
        bool sharing = false;  // the message of a mixed fold is open to its sender
        bool offered = false;  // the transport knows where the message of the present operation goes
    };

    bool run(Program& program) noexcept;
    bool push_sends() noexcept;
    // When steps are traced: what happens now begins now, or where the last event ended.
    void begin_step() noexcept {
        if (steps_ != nullptr) steps_->begin_step();
    }
    void note(core::TraceKind kind, std::uint64_t begin, const Operation* operation, std::uint64_t bytes) noexcept;
    void note_end() noexcept;
    bool fold_piece(Program& program, const Operation& operation) noexcept;
    bool hazards_over(Program& program, const Operation& operation) noexcept;
    bool gather_sources(Program& program, const Operation& operation, std::uint64_t length) noexcept;
    void offer_destination(Program& program, const Operation& operation) noexcept;
    bool agrees(const Incoming& incoming, Rank peer) noexcept;
    bool reads(Rank peer, std::uint64_t address, std::span<std::byte> into) noexcept;
    void post_buffers() noexcept;
    bool direct_piece(Program& program, const Operation& operation) noexcept;
    bool take_message(Program& program, const Operation& operation) noexcept;
    bool take_shared(Program& program, const Operation& operation, const Descriptor& descriptor) noexcept;
    bool bounce_messages(Program& program, const Operation& operation, std::uint64_t length) noexcept;
    void combine(const Operation& operation, std::uint64_t offset, std::uint64_t length) noexcept;
    void release_sources(const Operation& operation) noexcept;

    Transport& transport_;
    Frame frame_;
    SendQueues sends_;
    std::shared_ptr<const Plan> plan_;
    FoldKernel kernel_ = nullptr;
    AverageKernel average_ = nullptr;
    std::size_t element_bytes_ = 1;
    std::array<Program, max_channels> programs_{};
    std::vector<const void*> pointers_;  // by source of the plan: where the current piece lies
    core::Buffer scratch_;
    core::Buffer bounce_;  // pieces of messages that are folded, channel after channel
    DirectAccess* direct_;
    Loss loss_;
    CallRecord record_;
    core::StepTrace* steps_;
    std::uint32_t text_ = 0;
    std::uint64_t begun_ = 0;  // ticks
    Rank mismatch_ = -1;
    std::uint64_t mismatch_digest_ = 0;
    bool active_ = false;
};

}  // namespace attune::collectives

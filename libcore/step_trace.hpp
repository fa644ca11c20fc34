// What happens inside calls, step by step. Events follow each other without gaps, so that most cost one clock read and one store.
#pragma once

#include "libcore/trace_words.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace attune::core {

// Takes the records of several communicators; safe from several threads.
class StepSink {
public:
    virtual ~StepSink() = default;
    // The number of a text, the same for equal ones. Never 0.
    virtual std::uint32_t number_of(std::string_view text) = 0;
    // Room for records of one communicator; null when there is none.
    virtual TraceStage* open_stage(const StepSource& source) = 0;
    // Writes what the stage holds and empties it. False when it cannot; the stage then stays as it is.
    virtual bool write(TraceStage& stage) noexcept = 0;
    virtual void close_stage(TraceStage& stage) noexcept = 0;
    // Notes a moment on both clocks.
    virtual void see_clock() noexcept = 0;
};

// One communicator's steps. Not thread-safe. The sink must outlive it.
class StepTrace {
public:
    StepTrace(StepSink& sink, const StepSource& source);
    ~StepTrace();
    StepTrace(const StepTrace&) = delete;
    StepTrace& operator=(const StepTrace&) = delete;

    // The number of a call's text. Allocates only for a text it has not seen yet.
    std::uint32_t number_of(std::string_view text);

    // The user's program ran: the next event does not begin where the last one ended.
    void leave() noexcept { mark_ = 0; }
    // Where the event that happens now begins; ends a wait.
    std::uint64_t begin_step() noexcept {
        if (waiting_) end_wait(ticks());
        if (mark_ == 0) mark_ = ticks();
        return mark_;
    }
    // Where the last event ended; ends a wait.
    std::uint64_t end_steps() noexcept {
        if (waiting_ || mark_ == 0) mark_ = ticks();
        end_wait(mark_);
        return mark_;
    }
    // Where the last event ended, or begin_step() was.
    std::uint64_t mark() const noexcept { return mark_; }
    void add(const StepRecord& record) noexcept {
        mark_ = record.end;
        if (stage_ == nullptr) return;
        count_ += pack(record, before_, &stage_->words[count_]);
        before_ = {record.end, record.call};
        // The count follows the words, for who reads the file of a killed process.
        std::atomic_ref(stage_->header.count).store(count_, std::memory_order_release);
        if (count_ + most_words > TraceStage::capacity) flush();
    }

    bool waiting() const noexcept { return waiting_; }
    // `wait` has everything but its times. Nothing moves from the end of the last event on.
    void begin_wait(const StepRecord& wait) noexcept {
        wait_ = wait;
        wait_.begin = mark_ == 0 ? ticks() : mark_;
        waiting_ = true;
    }
    // At a moment; no wait when there was none.
    void end_wait(std::uint64_t moment) noexcept {
        if (!waiting_) return;
        waiting_ = false;
        wait_.end = moment;
        add(wait_);
    }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };
    // A text that came lately, found by where it lies: comparing it is cheaper than hashing it.
    struct Recent {
        std::string_view text;
        std::uint32_t number = 0;
    };

    void flush() noexcept;

    StepSink& sink_;
    TraceStage* stage_;
    std::size_t count_ = 0;
    TraceBase before_;        // nothing at the start of a block
    std::uint64_t mark_ = 0;  // ticks; 0 = none
    bool waiting_ = false;
    StepRecord wait_;
    std::uint64_t calls_ = 0;
    std::array<Recent, 64> recent_{};
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace attune::core

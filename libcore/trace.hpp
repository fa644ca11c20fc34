// Where measured events go. Near free when off: a null sink pointer is one branch.
#pragma once

#include "libcore/step_trace.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attune::core {

struct TraceEvent {
    std::string_view name;    // "all_reduce"
    std::string_view detail;  // config text
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t bytes = 0;
};

// How far a clock is from that of rank 0: what to add to it, and how wrong that may be.
struct ClockOffset {
    std::int64_t ns = 0;
    std::int64_t error_ns = 0;
};

// Implementations must be safe to call from several threads.
class TraceSink {
public:
    virtual ~TraceSink() = default;
    virtual void record(const TraceEvent& event) = 0;
    virtual bool wants_calls() const noexcept { return true; }  // record() does something
    // For the steps of one communicator; null when this sink keeps none. The sink must outlive it.
    virtual std::unique_ptr<StepTrace> open_steps(const StepSource& source);
    virtual void set_clock(const ClockOffset&) noexcept {}  // of this process
};

// A JSON string with its quotes, always plain ASCII: names are ASCII by contract, other bytes are written as if they were Latin-1.
std::string json_quoted(std::string_view text);

// Chrome/Perfetto JSON, one file per process, created O_EXCL 0600; events are buffered, at most 1 MiB, and complete after destruction.
// Throws Error(failure) when the file exists or cannot be made.
std::unique_ptr<TraceSink> open_trace_file(const std::string& path, int process_id);

// A folder gets a binary file of steps per rank, a file name gets the calls as JSON.
bool is_trace_folder(const std::string& path) noexcept;
// The file `path` of one rank (docs/profile.md): created O_EXCL 0600, complete after destruction. Throws like open_trace_file().
std::unique_ptr<TraceSink> open_trace_in_folder(const std::string& path, int rank, int process_id);

}  // namespace attune::core

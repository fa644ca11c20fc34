// Where measured events go. Near free when off: a null sink pointer is one branch.
#pragma once

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

// Implementations must be safe to call from several threads.
class TraceSink {
public:
    virtual ~TraceSink() = default;
    virtual void record(const TraceEvent& event) = 0;
};

// A JSON string with its quotes, always plain ASCII: names are ASCII by contract, other bytes are written as if they were Latin-1.
std::string json_quoted(std::string_view text);

// Chrome/Perfetto JSON, one file per process, created O_EXCL 0600; events are buffered, at most 1 MiB, and complete after destruction.
// Throws Error(failure) when the file exists or cannot be made.
std::unique_ptr<TraceSink> open_trace_file(const std::string& path, int process_id);

}  // namespace attune::core

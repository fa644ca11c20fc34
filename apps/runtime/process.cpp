#include "apps/runtime/process.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

#include <unistd.h>

namespace attune::detail {

namespace {

struct Trace {
    std::weak_ptr<core::TraceSink> sink;
    int times = 0;
};

// The one object that the library's interface forces: its communicators know nothing of each other.
struct Process {
    std::mutex mutex;
    std::shared_ptr<collectives::ProgressFamily> family = std::make_shared<collectives::ProgressFamily>();
    std::set<std::string> said;
    std::map<std::string, Trace> traces;
};

// Never destroyed: communicators of static storage may end after it.
Process& this_process() {
    static Process* const process = new Process;
    return *process;
}

}  // namespace

std::shared_ptr<collectives::ProgressFamily> process_family() {
    return this_process().family;
}

void warn_once(const core::Log& log, const std::string& line) {
    Process& process = this_process();
    {
        const std::scoped_lock lock(process.mutex);
        if (!process.said.insert(line).second) return;
    }
    log.warn(line);
}

std::shared_ptr<core::TraceSink> open_trace(const std::optional<std::string>& path, int rank) {
    if (!path) return nullptr;
    Process& process = this_process();
    const bool folder = core::is_trace_folder(*path);
    const std::string name = folder ? fmt::format("{}/rank-{}.steps", *path, rank) : fmt::format("{}.{}", *path, rank);
    const std::scoped_lock lock(process.mutex);
    Trace& trace = process.traces[name];
    if (std::shared_ptr<core::TraceSink> sink = trace.sink.lock()) return sink;
    const std::string suffix = trace.times == 0 ? "" : fmt::format(".{}", trace.times);
    const int id = static_cast<int>(::getpid());
    std::shared_ptr<core::TraceSink> sink = folder ? core::open_trace_in_folder(name + suffix, rank, id) : core::open_trace_file(name + suffix, id);
    trace.sink = sink;
    ++trace.times;
    return sink;
}

}  // namespace attune::detail

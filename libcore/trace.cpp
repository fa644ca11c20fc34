#include "libcore/trace.hpp"

#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <mutex>
#include <unistd.h>

namespace attune::core {

namespace {

constexpr std::size_t buffer_limit = 1U << 20;  // a long job's memory stays bounded

// The formats count in microseconds; nanoseconds stay as decimals.
void append_microseconds(std::string& out, std::int64_t ns) {
    const std::int64_t clipped = std::max<std::int64_t>(ns, 0);
    fmt::format_to(std::back_inserter(out), "{}.{:03}", clipped / 1000, clipped % 1000);
}

// Writes the array form of the Chrome format: readers accept it without the closing bracket, so the trace of a killed process opens too.
class FileTrace final : public TraceSink {
public:
    FileTrace(UniqueFd file, std::string path, int process_id) : file_(std::move(file)), path_(std::move(path)), process_id_(process_id) {}
    ~FileTrace() override {
        buffer_ += first_ ? "[]\n" : "\n]\n";
        flush();
    }
    FileTrace(const FileTrace&) = delete;
    FileTrace& operator=(const FileTrace&) = delete;

    void record(const TraceEvent& event) override {
        const auto thread = static_cast<int>(::gettid());
        const std::scoped_lock lock(mutex_);
        buffer_ += first_ ? "[\n" : ",\n";
        first_ = false;
        append_event(event, thread);
        if (buffer_.size() >= buffer_limit) flush();
    }

private:
    void append_event(const TraceEvent& event, int thread) {
        buffer_ += "{\"name\":" + json_quoted(event.name);
        fmt::format_to(std::back_inserter(buffer_), ",\"cat\":\"attune\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", process_id_, thread);
        append_microseconds(buffer_, event.begin_ns);
        buffer_ += ",\"dur\":";
        append_microseconds(buffer_, event.end_ns - event.begin_ns);
        buffer_ += ",\"args\":{\"detail\":" + json_quoted(event.detail);
        fmt::format_to(std::back_inserter(buffer_), ",\"bytes\":{}}}}}", event.bytes);
    }

    // A full disk costs the trace, never the job: after the first failure nothing more is written.
    void flush() noexcept {
        try {
            if (!failed_) write_all(file_.get(), std::as_bytes(std::span(buffer_)), path_);
        } catch (const Error&) {
            failed_ = true;
        }
        buffer_.clear();
    }

    UniqueFd file_;
    std::string path_;
    int process_id_;
    std::mutex mutex_;
    std::string buffer_;
    bool first_ = true;
    bool failed_ = false;
};

}  // namespace

std::unique_ptr<StepTrace> TraceSink::open_steps(const StepSource&) {
    return nullptr;
}

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (code < 0x20 || code >= 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned int>(code));
        } else {
            out += c;
        }
    }
    out += '"';
    return out;
}

std::unique_ptr<TraceSink> open_trace_file(const std::string& path, int process_id) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) {
        const int number = errno;
        const char* remedy = number == EEXIST ? "; remove it or name another" : "";
        throw Error(ErrorCode::failure, fmt::format("cannot create the trace file '{}': {}{}", printable(path, 4096), std::strerror(number), remedy));
    }
    return std::make_unique<FileTrace>(std::move(file), path, process_id);
}

}  // namespace attune::core

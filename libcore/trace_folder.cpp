// The file of one rank in a folder of traces: binary records of steps, written when a buffer is full.
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>

namespace attune::core {

namespace {

class FolderTrace final : public TraceSink, public StepSink {
public:
    FolderTrace(UniqueFd file, std::string path, int rank, int process_id) : file_(std::move(file)), path_(std::move(path)) {
        TraceFileHeader header;
        header.magic = trace_magic;
        header.version = trace_version;
        header.record_bytes = sizeof(StepRecord);
        header.rank = static_cast<std::uint32_t>(rank);
        header.process = static_cast<std::uint32_t>(process_id);
        header.start = read_clocks();
        put(header);
    }
    ~FolderTrace() override {
        const TraceFileEnd end{read_clocks(), records_};
        block(TraceBlock::end, {}, std::as_bytes(std::span(&end, 1)));
    }
    FolderTrace(const FolderTrace&) = delete;
    FolderTrace& operator=(const FolderTrace&) = delete;

    void record(const TraceEvent&) override {}  // calls come with the steps
    bool wants_calls() const noexcept override { return false; }
    std::unique_ptr<StepTrace> open_steps(const StepSource& source) override { return std::make_unique<StepTrace>(*this, source); }

    std::uint32_t number_of(std::string_view text) override {
        const std::scoped_lock lock(mutex_);
        const auto [place, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(numbers_.size() + 1));
        if (is_new) {
            std::string payload(reinterpret_cast<const char*>(&place->second), sizeof(place->second));
            payload += text;
            block(TraceBlock::text, {}, std::as_bytes(std::span(payload)));
        }
        return place->second;
    }

    void write(const StepSource& source, const StepRecord* records, std::size_t count) noexcept override {
        const std::scoped_lock lock(mutex_);
        records_ += count;
        block(TraceBlock::records, source, std::as_bytes(std::span(records, count)));
    }

private:
    template <class Thing>
    void put(const Thing& thing) noexcept {
        put(std::as_bytes(std::span(&thing, 1)));
    }
    // A full disk costs the trace, never the job: after the first failure nothing more is written, so the file has no end.
    void put(std::span<const std::byte> bytes) noexcept {
        try {
            if (!failed_) write_all(file_.get(), bytes, path_);
        } catch (const std::exception&) {
            failed_ = true;
        }
    }
    void block(TraceBlock kind, const StepSource& source, std::span<const std::byte> bytes) noexcept {
        put(TraceBlockHeader{trace_block_magic, kind, bytes.size(), source});
        put(bytes);
    }

    UniqueFd file_;
    std::string path_;
    std::mutex mutex_;
    std::map<std::string, std::uint32_t> numbers_;
    std::uint64_t records_ = 0;
    bool failed_ = false;
};

}  // namespace

bool is_trace_folder(const std::string& path) noexcept {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::unique_ptr<TraceSink> open_trace_in_folder(const std::string& path, int rank, int process_id) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file) return std::make_unique<FolderTrace>(std::move(file), path, rank, process_id);
    const int number = errno;
    const char* remedy = number == EEXIST ? "; empty the folder or name another" : "";
    throw Error(ErrorCode::failure, fmt::format("cannot create the trace file '{}': {}{}", printable(path, 4096), std::strerror(number), remedy));
}

}  // namespace attune::core

// The file of one rank in a folder of traces (libcore/trace_format.hpp).
#include "libcore/error.hpp"
#include "libcore/file.hpp"
#include "libcore/text.hpp"
#include "libcore/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace attune::core {

namespace {

constexpr std::uint64_t page_bytes = 4096;  // that files are mapped by; a larger page makes open_stage() fail, which costs the trace

TraceBlockHeader block_header(TraceBlock kind, std::uint64_t bytes) {
    TraceBlockHeader header;
    header.magic = trace_block_magic;
    header.kind = kind;
    header.bytes = bytes;
    return header;
}

// Room for all of it, so that a store never finds a full disk. Null, with errno, when there is none.
void* map_room(int file, std::uint64_t offset, std::size_t bytes) noexcept {
    errno = ::posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (errno != 0) return nullptr;
    void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, static_cast<off_t>(offset));
    return place == MAP_FAILED ? nullptr : place;
}

class FolderTrace final : public TraceSink, public StepSink {
public:
    FolderTrace(UniqueFd file, const std::string& path, int rank, int process_id)
        : file_(std::move(file)), header_(static_cast<TraceFileHeader*>(map_room(file_.get(), 0, trace_header_bytes))) {
        if (header_ == nullptr)
            throw Error(ErrorCode::failure,
                        fmt::format("cannot write the trace file '{}': {}; name another folder", printable(path, 4096), std::strerror(errno)));
        TraceFileHeader header;
        header.magic = trace_magic;
        header.version = trace_version;
        header.word_bytes = sizeof(std::uint64_t);
        header.rank = static_cast<std::uint32_t>(rank);
        header.process = static_cast<std::uint32_t>(process_id);
        header.start = header.latest = read_clocks();
        *header_ = header;
    }
    ~FolderTrace() override {
        header_->latest = read_clocks();
        header_->words = words_;
        if (header_->state == TraceState::open) header_->state = TraceState::closed;
        header_->digest = digest_of(*header_);
        ::munmap(header_, trace_header_bytes);
    }
    FolderTrace(const FolderTrace&) = delete;
    FolderTrace& operator=(const FolderTrace&) = delete;

    void record(const TraceEvent&) override {}  // calls come with the steps
    bool wants_calls() const noexcept override { return false; }
    std::unique_ptr<StepTrace> open_steps(const StepSource& source) override { return std::make_unique<StepTrace>(*this, source); }
    void set_clock(const ClockOffset& offset) noexcept override {
        const std::scoped_lock lock(mutex_);
        header_->clock_offset_ns = offset.ns;
        header_->clock_error_ns = offset.error_ns;
    }

    std::uint32_t number_of(std::string_view text) override {
        const std::scoped_lock lock(mutex_);
        const auto [place, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(numbers_.size() + 1));
        if (is_new) {
            std::string payload(reinterpret_cast<const char*>(&place->second), sizeof(place->second));
            payload += text;
            append(block_header(TraceBlock::text, payload.size()), std::as_bytes(std::span(payload)));
        }
        return place->second;
    }

    TraceStage* open_stage(const StepSource& source) override {
        const std::scoped_lock lock(mutex_);
        if (header_->state != TraceState::open) return nullptr;
        TraceStage* const stage = free_.empty() ? new_stage() : free_.back();
        if (stage == nullptr) return nullptr;
        if (!free_.empty()) free_.pop_back();
        stage->header = block_header(TraceBlock::stage, TraceStage::bytes - sizeof(TraceBlockHeader));
        stage->header.source = source;
        return stage;
    }

    bool write(TraceStage& stage) noexcept override {
        const std::scoped_lock lock(mutex_);
        header_->latest = read_clocks();
        const std::span<const std::byte> payload = std::as_bytes(std::span(stage.words.data(), stage.header.count));
        TraceBlockHeader header = stage.header;
        header.kind = TraceBlock::records;
        header.bytes = payload.size();
        words_ += header.count;
        if (!append(header, payload)) return false;
        // In this order: a process killed in between leaves an empty stage, not words that count twice.
        std::atomic_ref(stage.header.count).store(0, std::memory_order_relaxed);
        std::atomic_ref(stage.header.first).store(stage.header.first + header.count, std::memory_order_release);
        return true;
    }

    void close_stage(TraceStage& stage) noexcept override {
        const std::scoped_lock lock(mutex_);
        free_.push_back(&stage);
    }

    void see_clock() noexcept override {
        const std::scoped_lock lock(mutex_);
        header_->latest = read_clocks();
    }

private:
    // A full disk costs the trace, never the job: after the first failure nothing more is written.
    bool append(std::span<const std::byte> bytes) noexcept {
        while (!bytes.empty() && header_->state == TraceState::open) {
            const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) header_->state = TraceState::cut;
            if (written <= 0) break;
            size_ += static_cast<std::uint64_t>(written);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return header_->state == TraceState::open;
    }

    bool append(TraceBlockHeader header, std::span<const std::byte> payload) noexcept {
        header.digest = digest_of(header, payload);
        return append(std::as_bytes(std::span(&header, 1))) && append(payload);
    }

    TraceStage* new_stage() {
        const std::uint64_t behind = size_ + sizeof(TraceBlockHeader);  // of a block of padding
        const std::uint64_t place = (behind + page_bytes - 1) / page_bytes * page_bytes;
        const std::string zeros(place - behind, '\0');
        if (!append(block_header(TraceBlock::padding, zeros.size()), std::as_bytes(std::span(zeros)))) return nullptr;
        void* const room = map_room(file_.get(), place, TraceStage::bytes);
        if (room == nullptr) {
            header_->state = TraceState::cut;
            return nullptr;
        }
        size_ += TraceStage::bytes;
        stages_.emplace_back(static_cast<TraceStage*>(room));
        free_.reserve(stages_.size() + 1);
        return stages_.back().get();
    }

    struct Unmap {
        void operator()(TraceStage* stage) const noexcept { ::munmap(stage, TraceStage::bytes); }
    };

    UniqueFd file_;
    TraceFileHeader* header_;  // in the file
    std::mutex mutex_;
    std::map<std::string, std::uint32_t, std::less<>> numbers_;
    std::vector<std::unique_ptr<TraceStage, Unmap>> stages_;
    std::vector<TraceStage*> free_;
    std::uint64_t size_ = trace_header_bytes;
    std::uint64_t words_ = 0;
};

}  // namespace

bool is_trace_folder(const std::string& path) noexcept {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::unique_ptr<TraceSink> open_trace_in_folder(const std::string& path, int rank, int process_id) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file) return std::make_unique<FolderTrace>(std::move(file), path, rank, process_id);
    const int number = errno;
    const char* remedy = number == EEXIST ? "; empty the folder or name another" : "";
    throw Error(ErrorCode::failure, fmt::format("cannot create the trace file '{}': {}{}", printable(path, 4096), std::strerror(number), remedy));
}

}  // namespace attune::core

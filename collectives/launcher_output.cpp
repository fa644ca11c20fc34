#include "collectives/launcher_output.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace attune::collectives {

TaggedOutput::TaggedOutput(int rank, core::UniqueFd source, int target) : tag_(fmt::format("[{}] ", rank)), source_(std::move(source)), target_(target) {}

void TaggedOutput::forward() {
    std::array<char, 16384> chunk;
    while (source_) {
        const ssize_t got = ::read(source_.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return source_.reset();
        print({chunk.data(), static_cast<std::size_t>(got)});
    }
}

void TaggedOutput::finish() {
    forward();
    source_.reset();
    if (!pending_.empty()) print("\n");
}

void TaggedOutput::print(std::string_view text) {
    if (write_error_ != 0) return pending_.clear();
    std::string lines;
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
        lines.append(tag_).append(pending_).append(text.substr(0, end + 1));
        pending_.clear();
    }
    pending_.append(text);
    if (pending_.size() > line_limit) {
        lines.append(tag_).append(pending_).append("\n");
        pending_.clear();
    }
    write_all(lines);
}

void TaggedOutput::write_all(std::string_view text) {
    while (!text.empty() && write_error_ == 0) {
        const ssize_t written = ::write(target_, text.data(), text.size());
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
        if (written >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN) write_error_ = errno;
        pollfd entry{target_, POLLOUT, 0};
        if (write_error_ == 0) ::poll(&entry, 1, 1000);
    }
}

OutputPipe make_output_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw core::Error(core::ErrorCode::failure, fmt::format("cannot make a pipe for a rank's output: {}", std::strerror(errno)));
    OutputPipe result{core::UniqueFd(ends[0]), core::UniqueFd(ends[1])};
    ::fcntl(result.read.get(), F_SETFL, O_NONBLOCK);
    return result;
}

}  // namespace attune::collectives

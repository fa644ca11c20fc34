#include "collectives/transport/process_memory.hpp"

#include "libcore/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::collectives {

namespace {

constexpr std::int32_t off = -1;

using Move = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// One call moves at most about 2 GiB, and less when a page is missing in the middle.
int move_all(Move move, std::int64_t process, std::uint64_t address, std::span<std::byte> here) noexcept {
    while (!here.empty()) {
        const iovec local{here.data(), here.size()};
        const iovec remote{reinterpret_cast<void*>(address), here.size()};
        const ssize_t moved = move(static_cast<pid_t>(process), &local, 1, &remote, 1, 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return errno;
        if (moved == 0) return EFAULT;
        here = here.subspan(static_cast<std::size_t>(moved));
        address += static_cast<std::uint64_t>(moved);
    }
    return 0;
}

std::string explain(Rank rank, const ProbeResult& result) {
    if (result.error == off) return fmt::format("direct copies are switched off on rank {}", rank);
    return fmt::format("rank {} cannot {} the memory of rank {}: {} (see kernel.yama.ptrace_scope and the container's seccomp profile)", rank,
                       result.reads != 0 ? "read" : "write", result.peer, std::strerror(result.error));
}

}  // namespace

int read_memory(std::int64_t process, std::uint64_t address, std::span<std::byte> into) noexcept {
    return move_all(process_vm_readv, process, address, into);
}

int write_memory(std::int64_t process, std::uint64_t address, std::span<const std::byte> from) noexcept {
    return move_all(process_vm_writev, process, address, {const_cast<std::byte*>(from.data()), from.size()});  // only read
}

ProbeResult ProbeResult::switched_off() noexcept {
    return {off, -1, 0};
}

ProbeResult probe_memories(Rank rank, std::span<const std::int64_t> processes, std::span<const std::uint64_t> targets) noexcept {
    for (std::size_t peer = 0; peer < processes.size(); ++peer) {
        if (static_cast<Rank>(peer) == rank) continue;
        std::uint64_t word = 0;
        int error = read_memory(processes[peer], targets[peer], std::as_writable_bytes(std::span(&word, 1)));
        if (error == 0 && word != known_word) error = ESRCH;  // the number means another process here: other namespaces
        if (error != 0) return {error, static_cast<Rank>(peer), 1};
    }
    // Writing asks for the same permission as reading; only a seccomp profile tells them apart, and it shows on the own memory.
    std::uint64_t word = 0;
    const std::uint64_t value = known_word;
    const int error = write_memory(getpid(), reinterpret_cast<std::uint64_t>(&word), std::as_bytes(std::span(&value, 1)));
    return {error, rank, 0};
}

std::string agree_on_probes(Bootstrap& bootstrap, const ProbeResult& own) {
    Rank rank = 0;
    for (const Contribution& contribution : bootstrap.all_gather(std::as_bytes(std::span(&own, 1)), {})) {
        ProbeResult result;
        if (contribution.bytes.size() != sizeof(result))
            throw core::Error(core::ErrorCode::failure,
                              fmt::format("rank {} did not pass what it found of direct copies; run the same build on every rank", rank));
        std::memcpy(&result, contribution.bytes.data(), sizeof(result));
        if (result.error != 0) return explain(rank, result);
        ++rank;
    }
    return {};
}

std::string direct_refusal_here() {
    const ProbeTarget target;
    const std::int64_t self = getpid();
    // The child is to its parent what a rank is to another: no ancestor, which some systems would allow more. It only makes system calls.
    const pid_t child = fork();
    if (child < 0) return fmt::format("direct copies cannot be tried: {}", std::strerror(errno));
    if (child == 0) {
        std::uint64_t word = 0;
        const int error = move_all(process_vm_readv, self, target.address(), std::as_writable_bytes(std::span(&word, 1)));
        _exit(error == 0 && word != known_word ? ESRCH : error);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;  // a seccomp profile may also kill
    return error == 0 ? std::string{} : explain(1, {error, 0, 1});
}

}  // namespace attune::collectives

#include "tests/support/process_team.hpp"

#include "collectives/bootstrap_hub.hpp"
#include "libcore/file.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>
#include <stdexcept>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::test {

namespace {

using namespace collectives;

constexpr std::size_t text_bytes = 4096;  // per rank, in memory shared with the children

struct Child {
    pid_t pid = 0;
    core::UniqueFd socket;
    bool running = true;
};

[[noreturn]] void run_child(Rank rank, int ranks, int socket, std::span<char> text, const std::function<std::string(Bootstrap&)>& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string result;
    int status = 0;
    try {
        const auto bootstrap = make_launcher_bootstrap(rank, ranks, socket);
        result = body(*bootstrap);
    } catch (const std::exception& error) {
        result = error.what();
        status = 1;
    }
    std::memcpy(text.data(), result.data(), std::min(result.size(), text.size() - 1));
    _exit(status);
}

void serve(Hub& hub, std::span<Child> children) {
    std::vector<pollfd> watched;
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
        const short interest = children[rank].running ? hub.interest(static_cast<Rank>(rank)) : short{0};
        watched.push_back({interest != 0 ? children[rank].socket.get() : -1, interest, 0});
    }
    constexpr int patience_ms = 5;
    if (hub.crowded()) hub.retry();
    if (poll(watched.data(), watched.size(), patience_ms) <= 0) return;
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
        if (watched[rank].revents != 0) hub.ready(static_cast<Rank>(rank), watched[rank].revents);
    }
}

// True when the child ended.
bool reap(Child& child, RankResult& result) {
    int status = 0;
    if (!child.running || waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
    child.running = false;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

}  // namespace

std::vector<RankResult> run_processes(int ranks, const std::function<std::string(Bootstrap&)>& body) {
    const auto count = static_cast<std::size_t>(ranks);
    void* const memory = mmap(nullptr, count * text_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map the texts of the ranks");
    auto* const texts = static_cast<char*>(memory);
    std::vector<Child> children(count);
    std::vector<int> sockets;
    for (std::size_t rank = 0; rank < count; ++rank) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("cannot make a socket pair");
        core::UniqueFd theirs(ends[1]);
        children[rank].socket.reset(ends[0]);
        sockets.push_back(ends[0]);
        children[rank].pid = fork();
        if (children[rank].pid == 0) run_child(static_cast<Rank>(rank), ranks, theirs.get(), {texts + rank * text_bytes, text_bytes}, body);
    }
    Hub hub(sockets);
    std::vector<RankResult> results(count);
    while (std::ranges::any_of(children, &Child::running)) {
        serve(hub, children);
        for (std::size_t rank = 0; rank < count; ++rank) {
            if (reap(children[rank], results[rank])) hub.ended(static_cast<Rank>(rank), "rank " + std::to_string(rank) + " ended");
        }
    }
    for (std::size_t rank = 0; rank < count; ++rank)
        results[rank].text = texts + rank * text_bytes;
    munmap(memory, count * text_bytes);
    return results;
}

}  // namespace attune::test

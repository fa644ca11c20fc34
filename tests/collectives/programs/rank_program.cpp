// A rank as the launcher's tests start it: `rank_program MODE [RANK]`. Exit 0 = as expected; the modes are listed in modes().
#include "collectives/bootstrap.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "libcore/topology.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace attune;
using collectives::Bootstrap;
using collectives::Contribution;

struct Context {
    std::unique_ptr<Bootstrap> bootstrap;
    int chosen = -1;  // the rank that misbehaves
    bool is_chosen() const { return bootstrap->rank() == chosen; }
};

std::vector<std::byte> pattern(int rank, int round) {
    // Rank- and round-dependent sizes, from nothing to the limit.
    const std::size_t size = (static_cast<std::size_t>(rank) * 7919 + static_cast<std::size_t>(round) * 10007) % ((32U << 10) + 1);
    return std::vector<std::byte>(round == 0 ? 0 : size, static_cast<std::byte>(rank + round));
}

std::string text_of_memory(int descriptor) {
    char text[32] = {};
    if (::pread(descriptor, text, sizeof text - 1, 0) <= 0) return "unreadable";
    return text;
}

bool as_expected(const Contribution& got, int rank, int round) {
    if (got.bytes != pattern(rank, round)) return false;
    if (got.descriptors.size() != static_cast<std::size_t>(rank % 3)) return false;
    for (const int descriptor : got.descriptors) {
        if (text_of_memory(descriptor) != "memory of " + std::to_string(rank)) return false;
        if ((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) return false;
        ::close(descriptor);
    }
    return true;
}

// Rank r shares r % 3 descriptors of one memfd, over five exchanges.
int exchange(Context& context) {
    Bootstrap& bootstrap = *context.bootstrap;
    const int memory = ::memfd_create("rank", MFD_CLOEXEC);
    const std::string text = "memory of " + std::to_string(bootstrap.rank());
    if (::write(memory, text.data(), text.size()) < 0) return 10;
    const std::vector<int> shared(static_cast<std::size_t>(bootstrap.rank() % 3), memory);
    for (int round = 0; round < 5; ++round) {
        const std::vector<Contribution> all = bootstrap.all_gather(pattern(bootstrap.rank(), round), shared);
        if (all.size() != static_cast<std::size_t>(bootstrap.size())) return 11;
        for (int rank = 0; rank < bootstrap.size(); ++rank)
            if (!as_expected(all[static_cast<std::size_t>(rank)], rank, round)) return 12;
    }
    return 0;
}

// Two bootstraps after each other over one socket, as two communicators need them.
int twice(Context& context) {
    const int first = exchange(context);
    const core::Environment environment = core::read_environment();
    context.bootstrap = collectives::make_launcher_bootstrap(context.bootstrap->rank(), context.bootstrap->size(), *environment.launch_fd);
    return first != 0 ? first : exchange(context);
}

// The chosen rank dies before the second exchange; the others must hear it within a second.
int death(Context& context) {
    context.bootstrap->all_gather({}, {});
    if (context.is_chosen()) ::raise(SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    try {
        context.bootstrap->all_gather({}, {});
    } catch (const core::Error& error) {
        const bool named = std::strstr(error.what(), ("rank " + std::to_string(context.chosen) + " was killed by signal 9").c_str()) != nullptr;
        const bool quick = std::chrono::steady_clock::now() - begin < std::chrono::seconds(1);
        if (!named) std::fprintf(stderr, "%s\n", error.what());
        return named && quick ? 0 : 13;
    }
    return 14;
}

// The chosen rank lives on without its socket.
int close_socket(Context& context) {
    context.bootstrap->all_gather({}, {});
    if (context.is_chosen()) ::close(*core::read_environment().launch_fd);
    while (context.is_chosen())
        ::pause();
    try {
        context.bootstrap->all_gather({}, {});
    } catch (const core::Error& error) {
        const std::string expected = "rank " + std::to_string(context.chosen) + " closed its launch descriptor";
        return std::strstr(error.what(), expected.c_str()) != nullptr ? 0 : 20;
    }
    return 21;
}

// The chosen rank believes in another team size.
int disagree(Context& context) {
    if (context.is_chosen()) {
        const core::Environment environment = core::read_environment();
        context.bootstrap = collectives::make_launcher_bootstrap(context.bootstrap->rank(), context.bootstrap->size() + 1, *environment.launch_fd);
    }
    try {
        context.bootstrap->all_gather({}, {});
    } catch (const core::Error& error) {
        return std::strstr(error.what(), "introduced itself as rank") != nullptr ? 0 : 15;
    }
    return 16;
}

int fail_with(Context& context) {
    return context.is_chosen() ? 9 : 0;
}

int kill_self(Context& context) {
    if (context.is_chosen()) ::raise(SIGUSR2);
    return 0;
}

// The chosen rank fails; the others would wait for ever.
int stubborn(Context& context) {
    if (context.is_chosen()) return 5;
    while (true)
        ::pause();
}

int wait_for_signal(Context& context) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    context.bootstrap->all_gather({}, {});
    if (::write(*core::read_environment().launch_fd, "ready", 5) != 5) return 18;
    int number = 0;
    ::sigwait(&set, &number);
    return number == SIGUSR1 ? 0 : 17;
}

// Speaks its own record over the launch descriptor after the bootstrap, as an arena rank does, and waits for the answer.
int converse(Context& context) {
    context.bootstrap->all_gather({}, {});
    const int socket = *core::read_environment().launch_fd;
    if (::write(socket, "ready", 5) != 5) return 18;
    char answer[16] = {};
    if (::read(socket, answer, sizeof answer) != 4 || std::strcmp(answer, "quit") != 0) return 19;
    context.bootstrap->all_gather({}, {});
    return 0;
}

// Prints the CPUs it may use, what the launcher had, and its open descriptors beyond the standard ones.
int show(Context& context) {
    int open = 0;
    for (int descriptor = 3; descriptor < 1024; ++descriptor)
        open += ::fcntl(descriptor, F_GETFD) >= 0 ? 1 : 0;
    std::printf("rank %d cpus %s launcher %s descriptors %d\n", context.bootstrap->rank(), core::allowed_cpus().text().c_str(),
                core::read_environment().launch_cpus.value_or("?").c_str(), open);
    return 0;
}

int run(const std::string& mode, Context& context) {
    const std::map<std::string, int (*)(Context&)> modes = {
        {"exchange", exchange},
        {"twice", twice},
        {"death", death},
        {"disagree", disagree},
        {"fail", fail_with},
        {"kill_self", kill_self},
        {"stubborn", stubborn},
        {"converse", converse},
        {"wait_for_signal", wait_for_signal},
        {"show", show},
        {"close_socket", close_socket},
    };
    const auto found = modes.find(mode);
    return found == modes.end() ? 2 : found->second(context);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const core::Environment environment = core::read_environment();
        if (argc < 2 || !environment.rank || !environment.ranks || !environment.launch_fd) return 2;
        Context context;
        context.bootstrap = collectives::make_launcher_bootstrap(*environment.rank, *environment.ranks, *environment.launch_fd);
        if (argc > 2) context.chosen = std::atoi(argv[2]);
        return run(argv[1], context);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank_program: %s\n", error.what());
        return 1;
    }
}

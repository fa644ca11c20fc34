// A rank of a communicator of processes: `communicator_program MODE [ARGUMENT]`. Exit 0 = as expected.
#include "collectives/bootstrap_job.hpp"
#include "collectives/communicator.hpp"
#include "libcore/environment.hpp"
#include "libcore/error.hpp"
#include "tests/support/communicator_cases.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Counts what this program allocates, to show that repeated calls do not. Not inlined: g++ 12 then sees only one half of a pair and warns.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace attune;
using collectives::Collective;
using collectives::Communicator;
using collectives::Problem;

struct Context {
    Communicator& team;
    std::string argument;
};

int complain(const std::string& what, int code) {
    std::fprintf(stderr, "%s\n", what.c_str());
    return code;
}

int cases(Context& context) {
    const auto p = static_cast<std::uint64_t>(context.team.size());
    const std::vector<std::uint64_t> counts = {0, 1, p + 1, 4099};
    const std::string wrong = test::run_cases(context.team, counts);
    return wrong.empty() ? 0 : complain(wrong, 10);
}

// The argument is the hash that threads computed.
int hash(Context& context) {
    const std::string ours = std::to_string(test::hash_of_rounding_results(context.team));
    return ours == context.argument ? 0 : complain("hash " + ours + " instead of " + context.argument, 11);
}

int repeated_calls(Context& context) {
    std::vector<float> input(1000, 1), output(1000);
    Problem small, large;
    small.count = 2;
    large.count = 1000;
    Problem barrier;
    barrier.collective = Collective::barrier;
    const auto once = [&] {
        context.team.run(small, input.data(), output.data());
        context.team.run(large, input.data(), output.data());
        context.team.run(barrier, nullptr, nullptr);
    };
    for (int i = 0; i < 10; ++i)
        once();
    const std::uint64_t before = allocations;
    for (int i = 0; i < 1000; ++i)
        once();
    const std::uint64_t made = allocations - before;
    return made == 0 ? 0 : complain(std::to_string(made) + " allocations in 3000 repeated calls", 12);
}

// Rank `argument` dies; the others must hear it, named, instead of waiting.
int death(Context& context) {
    std::vector<float> input(10, 1), output(10);
    Problem problem;
    problem.count = 10;
    context.team.run(problem, input.data(), output.data());
    const int victim = std::stoi(context.argument);
    if (context.team.rank() == victim) ::raise(SIGKILL);
    try {
        while (true)
            context.team.run(problem, input.data(), output.data());
    } catch (const core::Error& error) {
        return std::strstr(error.what(), ("rank " + context.argument).c_str()) != nullptr ? 0 : complain(error.what(), 13);
    }
}

// The argument is the expected "TRANSPORT NODES".
int shape(Context& context) {
    const collectives::ChooserFacts& facts = context.team.chooser().facts();
    const std::string ours = facts.transport + " " + facts.node_map;
    const bool named = context.team.size() == 1 || context.team.transport().name() == facts.transport;
    return ours == context.argument && named ? 0 : complain(ours, 15);
}

// 64 KiB, the size at which one exchange for each node instead of one for each rank matters.
int two_level(Context& context) {
    Problem problem;
    problem.collective = Collective::all_reduce;
    problem.ranks = context.team.size();
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{16384}, std::uint64_t{16411}}) {
        problem.count = count;
        const std::string wrong = test::run_case(context.team, {problem}, core::Config::parse("algorithm=two_level"));
        if (!wrong.empty()) return complain(wrong, 16);
    }
    return 0;
}

int bound(Context& context) {
    return context.team.chooser().facts().binding == context.argument ? 0 : 14;
}

int run(const std::string& mode, Context& context) {
    const std::map<std::string, int (*)(Context&)> modes = {
        {"cases", cases}, {"hash", hash}, {"repeated_calls", repeated_calls}, {"death", death}, {"bound", bound}, {"shape", shape}, {"two_level", two_level}};
    const auto found = modes.find(mode);
    return found == modes.end() ? 2 : found->second(context);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const collectives::JobStart start = collectives::read_job_start();
        if (argc < 2 || !collectives::started_as_rank(start)) return 2;
        const auto bootstrap = collectives::make_job_bootstrap(start, collectives::bootstrap_patience, {});
        collectives::CommunicatorOptions options;
        options.transport = start.environment.transport.value_or("");
        options.node_map = start.environment.launch_nodes.value_or("");
        Communicator team(*bootstrap, options);
        Context context{team, argc > 2 ? argv[2] : ""};
        return run(argv[1], context);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "communicator_program: %s\n", error.what());
        return 1;
    }
}

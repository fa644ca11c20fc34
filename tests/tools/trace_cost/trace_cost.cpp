// What tracing costs: attune-run -n 2 -- trace_cost [FOLDER]. All ranks hold three communicators, two without a trace and one with, and time blocks of
// calls of each in turn, so that whatever else the machine does meets all three alike. Where their memory happens to lie matters at large sizes, so all are
// made anew several times. Traces go to a new folder in FOLDER (default /tmp).
#include "collectives/bootstrap_job.hpp"
#include "collectives/communicator.hpp"
#include "libcore/clock.hpp"
#include "libcore/error.hpp"
#include "libcore/samples.hpp"
#include "profiler/trace_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

namespace {

using namespace attune;
using collectives::Communicator;

constexpr std::size_t teams = 12;
constexpr int blocks = 42;  // of one team: each order as often
constexpr double confidence = 0.99;
constexpr std::int64_t block_ns = 1'000'000;
enum Kind : std::uint8_t { off, control, on };
constexpr std::size_t kinds = 3;

struct Team {
    std::unique_ptr<core::TraceSink> sink;  // outlives the communicators
    std::array<std::unique_ptr<Communicator>, kinds> communicators;
};

struct Buffers {
    std::vector<float> input, output;
};

// Team `index` makes its communicators in another order than the one before.
Team make_team(collectives::Bootstrap& bootstrap, const collectives::JobStart& start, const std::string& trace, std::size_t index) {
    Team team;
    team.sink = core::open_trace_in_folder(trace, bootstrap.rank(), static_cast<int>(::getpid()));
    for (std::size_t i = 0; i < kinds; ++i) {
        const std::size_t kind = (index + i) % kinds;
        collectives::CommunicatorOptions options;
        options.transport = start.environment.transport.value_or("");
        options.node_map = start.environment.launch_nodes.value_or("");
        if (kind == on) options.trace = team.sink.get();
        team.communicators[kind] = std::make_unique<Communicator>(bootstrap, options);
    }
    return team;
}

collectives::Problem all_reduce_of(std::uint64_t count) {
    collectives::Problem problem;
    problem.count = count;
    return problem;
}

// Of a call, in nanoseconds.
double time_block(Communicator& team, Buffers& buffers, int calls) {
    const collectives::Problem problem = all_reduce_of(buffers.input.size());
    team.run(problem, buffers.input.data(), buffers.output.data());  // a common start, and its plan is at hand
    const std::int64_t begin = core::now_ns();
    for (int call = 0; call < calls; ++call)
        team.run(problem, buffers.input.data(), buffers.output.data());
    return static_cast<double>(core::now_ns() - begin) / calls;
}

// Rank 0 decides, so that all ranks make as many calls.
int calls_in_a_block(Team& team, Buffers& buffers) {
    Communicator& first = *team.communicators[off];
    time_block(first, buffers, 20);
    auto calls = static_cast<std::int32_t>(static_cast<double>(block_ns) / time_block(first, buffers, 20)) + 1;
    collectives::Problem problem = all_reduce_of(1);
    problem.collective = collectives::Collective::broadcast;
    problem.dtype = core::DType::int32;
    problem.in_place = true;
    first.run(problem, &calls, &calls);
    return calls;
}

struct Result {
    std::vector<double> call_ns;     // without a trace
    std::vector<double> off_to_off;  // ratios, block by block
    std::vector<double> on_to_off;
    std::vector<double> added_ns;  // to a call
    std::vector<double> events;    // a call, by team
};

void measure(Team& team, Buffers& buffers, Result& result) {
    const int calls = calls_in_a_block(team, buffers);
    for (int block = 0; block < blocks; ++block) {
        std::array<double, kinds> times{};
        for (std::size_t turn = 0; turn < kinds; ++turn) {  // all six orders, one after the other
            const std::size_t first = static_cast<std::size_t>(block) % kinds;
            const std::size_t kind = (block / 3) % 2 == 0 ? (first + turn) % kinds : (first + kinds - turn) % kinds;
            times[kind] = time_block(*team.communicators[kind], buffers, calls);
        }
        const double usual = (times[off] + times[control]) / 2;
        result.call_ns.push_back(usual);
        result.off_to_off.push_back(times[control] / times[off]);
        result.on_to_off.push_back(times[on] / usual);
        result.added_ns.push_back(times[on] - usual);
    }
}

// Of one user's call.
double events_in(const std::string& trace) {
    double events = 0, calls = 0;
    for (const profiler::TeamEvents& team : profiler::read_trace(trace).teams) {
        for (const profiler::Event& event : team.events) {
            if (event.call == 0) continue;
            ++events;
            if (event.kind == core::TraceKind::call) ++calls;
        }
    }
    return calls == 0 ? 0 : events / calls;
}

void run(collectives::Bootstrap& bootstrap, const collectives::JobStart& start, const std::string& folder) {
    if (bootstrap.rank() == 0) std::puts("    bytes   us a call  off/off  on/off  events a call  ns a call  ns an event  (99 % interval)");
    for (const std::uint64_t bytes : {8U, 1024U, 32768U, 262144U, 4194304U}) {
        Buffers buffers;
        buffers.input.assign(bytes / sizeof(float), 1.0F);
        buffers.output.assign(bytes / sizeof(float), 0.0F);
        Result result;
        for (std::size_t i = 0; i < teams; ++i) {
            const std::string trace = fmt::format("{}/{}-{}.steps", folder, bytes, i);
            {
                Team team = make_team(bootstrap, start, trace, i);
                measure(team, buffers, result);
            }
            result.events.push_back(events_in(trace));
            std::filesystem::remove(trace);
        }
        const double events = core::median(result.events);
        const core::MedianInterval added = core::median_interval(result.added_ns, confidence);
        if (bootstrap.rank() == 0)
            fmt::print("{:9} {:11.2f} {:8.3f} {:7.3f} {:14.2f} {:10.1f} {:12.1f}  [{:.1f},{:.1f}]\n", bytes, core::median(result.call_ns) / 1e3,
                       core::median(result.off_to_off), core::median(result.on_to_off), events, added.median, added.median / events, added.low / events,
                       added.high / events);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const collectives::JobStart start = collectives::read_job_start();
        const auto bootstrap = collectives::make_job_bootstrap(start, collectives::bootstrap_patience, {});
        std::string folder = std::string(argc > 1 ? argv[1] : "/tmp") + "/trace_cost.XXXXXX";
        if (::mkdtemp(folder.data()) == nullptr) throw core::Error(core::ErrorCode::failure, fmt::format("cannot make a folder like '{}'", folder));
        run(*bootstrap, start, folder);
        std::filesystem::remove_all(folder);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "trace_cost: %s\n", error.what());
        return 1;
    }
}

#include "tests/support/executor_cases.hpp"

#include "collectives/amounts.hpp"
#include "collectives/plan.hpp"
#include "collectives/proof_sweep.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/element.hpp"
#include "libcore/error.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

namespace attune::test {

namespace {

using namespace collectives;

template <typename T>
T random_value(std::mt19937& random) {
    const auto value = static_cast<std::int32_t>(random());
    if constexpr (!core::is_floating_type<T>) {
        return static_cast<T>(value);
    } else {
        using Wide = core::Accumulator<T>;
        const std::uint32_t special = random() % 200;
        if (special == 0) return static_cast<T>(std::numeric_limits<Wide>::signaling_NaN());
        if (special == 1) return static_cast<T>(std::numeric_limits<Wide>::infinity());
        if (special == 2) return static_cast<T>(-Wide{0});
        if (special == 3) return static_cast<T>(std::numeric_limits<Wide>::denorm_min());
        return static_cast<T>(static_cast<Wide>(value) / (Wide{1 << 20} * Wide{3}));
    }
}

void fill(core::DType dtype, std::span<std::byte> bytes, std::mt19937& random) {
    core::with_element_type(dtype, [&]<class T>(T) {
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
            const T value = random_value<T>(random);
            std::memcpy(bytes.data() + at, &value, sizeof(T));
        }
    });
}

// A started case and the buffers it works on.
struct Flight {
    const ExecutorCase* test = nullptr;
    UserBuffers buffers;
    Ticket ticket;
};

std::string difference(const Flight& flight, std::size_t rank) {
    const UserBuffers& expected = flight.test->after[rank];
    if (flight.buffers.output == expected.output && flight.buffers.input == expected.input) return {};
    const auto [ours, theirs] = std::ranges::mismatch(flight.buffers.output, expected.output);
    return flight.test->name + ": rank " + std::to_string(rank) + " differs at byte " + std::to_string(ours - flight.buffers.output.begin());
}

}  // namespace

ExecutorCase make_case(const Problem& problem, const Algorithm& algorithm, const Cut& cut, std::uint32_t seed) {
    ExecutorCase made;
    made.problem = problem;
    made.name = std::string(name_of(problem.collective)) + " " + std::string(algorithm.name) + " ranks " + std::to_string(problem.ranks) + " count " +
                std::to_string(problem.count) + " " + std::string(core::name_of(problem.dtype)) + " " + std::string(core::name_of(problem.op)) +
                (problem.amounts ? " amounts" : "") + (problem.in_place ? " in place" : "") + " segment " + std::to_string(cut.segment_elements) +
                " channels " + std::to_string(cut.channels);
    made.before = make_buffers(problem);
    std::mt19937 random(seed);
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        made.schedules.push_back(generate(problem, algorithm, cut, rank));
        fill(problem.dtype, input_of(problem, rank, made.before[static_cast<std::size_t>(rank)]), random);
    }
    made.after = made.before;
    walk(problem, made.schedules, made.after);
    return made;
}

std::vector<ExecutorCase> make_cases(const CaseRange& range) {
    std::vector<ExecutorCase> cases;
    const auto add = [&](const Algorithm& algorithm, std::uint64_t count, const Cut& cut, bool in_place) {
        const auto turn = static_cast<std::uint32_t>(cases.size());
        Problem problem;
        problem.collective = algorithm.collective;
        problem.ranks = range.ranks;
        problem = with_sample_amounts(problem, all_amounts_shapes()[turn % all_amounts_shapes().size()], count);
        if (algorithm.constraints.uses_nodes) problem.node_map = sweep_node_maps(range.ranks)[turn % sweep_node_maps(range.ranks).size()];
        problem.dtype = core::all_dtypes()[turn % core::all_dtypes().size()];
        problem.op = core::all_ops()[turn / 4 % core::all_ops().size()];
        const bool divides_nowhere = problem.op == core::Op::avg && reduces(problem.collective) && !can_average(problem.collective);
        if (core::unsupported(problem.dtype, problem.op) || divides_nowhere) problem.op = core::Op::sum;
        problem.root = is_rooted(algorithm.collective) ? static_cast<int>(turn) % range.ranks : 0;
        problem.in_place = in_place;
        cases.push_back(make_case(problem, algorithm, cut, turn));
    };
    for (const Algorithm& algorithm : catalogue()) {
        const Constraints& limits = algorithm.constraints;
        const bool power_of_two = (range.ranks & (range.ranks - 1)) == 0;
        if (range.ranks < limits.minimum_ranks || (limits.power_of_two_ranks && !power_of_two) || (limits.even_ranks && range.ranks % 2 != 0)) continue;
        for (const std::uint64_t count : range.counts) {
            for (const Cut& cut : range.cuts) {
                if ((cut.segment_elements != 0 && !limits.segmentable) || (cut.channels != 1 && !limits.splittable)) continue;
                add(algorithm, count, cut, false);
                if (limits.in_place) add(algorithm, count, cut, true);
            }
        }
    }
    return cases;
}

std::string run_cases(Transport& transport, std::span<const ExecutorCase> cases, const RunOptions& options) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    Executor executor(transport, {});
    std::vector<Flight> flights;
    std::string first;
    const auto finish_oldest = [&] {
        options.between();
        executor.wait(flights.front().ticket);
        if (first.empty()) first = difference(flights.front(), rank);
        flights.erase(flights.begin());
    };
    for (const ExecutorCase& test : cases) {
        if (flights.size() == static_cast<std::size_t>(options.in_flight)) finish_oldest();
        Flight& flight = flights.emplace_back(Flight{&test, test.before[rank], {}});
        const auto peers = [&](Rank peer) { return test.schedules[static_cast<std::size_t>(peer)]; };
        const Problem view = view_of(test.problem, transport.rank());
        const ScheduleOf schedule_of = schedules_known_to_all(view) ? ScheduleOf(peers) : ScheduleOf{};
        const auto plan = std::make_shared<const Plan>(compile(view, test.schedules[rank], options.compile, schedule_of));
        const void* const input = test.problem.in_place ? flight.buffers.output.data() : flight.buffers.input.data();
        options.between();
        flight.ticket = executor.start(plan, input, flight.buffers.output.data(), std::hash<std::string>{}(test.name), test.name);
    }
    while (!flights.empty())
        finish_oldest();
    return first;
}

std::string run_cases_on_threads(std::span<const ExecutorCase> cases, const TransportOptions& lanes, const RunOptions& options) {
    const int ranks = cases.front().problem.ranks;
    const auto transports = make_local_transports(ranks, lanes);
    std::vector<std::string> results(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
        threads.emplace_back([&, rank] {
            try {
                results[rank] = run_cases(*transports[rank], cases, options);
            } catch (const std::exception& error) {
                results[rank] = error.what();
                transports[rank]->abort(error.what());
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    const auto wrong = std::ranges::find_if(results, [](const std::string& result) { return !result.empty(); });
    return wrong == results.end() ? std::string{} : *wrong;
}

}  // namespace attune::test

#include "tests/support/nested_rounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace attune::test {

namespace {

using collectives::Collective;
using collectives::Communicator;
using collectives::Problem;
using collectives::Ticket;

constexpr int calls_per_round = 3;

std::int64_t value_of(std::uint64_t salt, int rank, std::uint64_t i) {
    return static_cast<std::int64_t>((salt * 31 + static_cast<std::uint64_t>(rank) * 7 + i * 3) % 1009);
}

// One call and what must come out of it.
struct Flight {
    Communicator* team = nullptr;
    Problem problem;
    std::uint64_t salt = 0;
    std::vector<std::int64_t> input, output;
    Ticket ticket;

    // The same on all ranks of the communicator, different from one communicator, round and call to the next.
    void prepare(Communicator& communicator, std::uint64_t round, int call) {
        constexpr std::array kinds = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast};
        constexpr std::array<std::uint64_t, 6> counts = {1, 0, 17, 257, 3, 1500};
        team = &communicator;
        salt = communicator.number() * 1000003 + round * 17 + static_cast<std::uint64_t>(call);
        problem = {};
        problem.collective = kinds[salt % kinds.size()];
        problem.count = counts[(salt / 4) % counts.size()];
        problem.dtype = core::DType::int64;
        problem.ranks = communicator.size();
        problem.root = static_cast<int>(salt % static_cast<std::uint64_t>(communicator.size()));
        input.resize(problem.input_elements());
        for (std::uint64_t i = 0; i < input.size(); ++i)
            input[i] = value_of(salt, communicator.rank(), i);
        output.assign(problem.output_elements(), -1);
    }

    std::int64_t sum(std::uint64_t i) const {
        std::int64_t total = 0;
        for (int rank = 0; rank < problem.ranks; ++rank)
            total += value_of(salt, rank, i);
        return total;
    }
    std::int64_t expected(std::uint64_t i) const {
        const auto rank = static_cast<std::uint64_t>(team->rank());
        if (problem.collective == Collective::all_reduce) return sum(i);
        if (problem.collective == Collective::reduce_scatter) return sum(rank * problem.count + i);
        if (problem.collective == Collective::broadcast) return value_of(salt, problem.root, i);
        return value_of(salt, static_cast<int>(i / problem.count), i % problem.count);
    }
    std::string wrong() const {
        for (std::uint64_t i = 0; i < output.size(); ++i)
            if (output[i] != expected(i))
                return team->label() + ": " + std::string(name_of(problem.collective)) + " of " + std::to_string(problem.count) + ": element " +
                       std::to_string(i) + " is " + std::to_string(output[i]) + ", not " + std::to_string(expected(i));
        return {};
    }
};

using Owned = std::unique_ptr<Communicator>;

// This rank's communicators beside the team itself.
struct Teams {
    Owned copy, half, reversed, quarter;

    explicit Teams(Communicator& team)
        : copy(team.dup()),
          half(team.split(team.rank() < team.size() / 2 ? 7 : 3, team.rank())),
          reversed(team.split(team.rank() % 3 == 2 ? -1 : team.rank() % 3, -team.rank())),
          quarter(half->split(half->rank() % 2, 0)) {}

    std::vector<Communicator*> all(Communicator& team) const {
        std::vector<Communicator*> result = {&team, copy.get(), half.get(), quarter.get()};
        if (reversed) result.push_back(reversed.get());
        return result;
    }
    // The old one ends before or after the new one is made, as the rank likes.
    void remake_quarter(bool end_first) {
        if (end_first) quarter.reset();
        Owned made = half->split(half->rank() % 2, 0);
        quarter = std::move(made);
    }
};

// The order of the calls of one communicator is the same on all its ranks; how the communicators take turns is not.
void start_all(std::vector<std::vector<Flight>>& flights, std::mt19937& random) {
    std::vector<std::size_t> turns;
    for (std::size_t team = 0; team < flights.size(); ++team)
        turns.insert(turns.end(), calls_per_round, team);
    std::ranges::shuffle(turns, random);
    std::vector<std::size_t> next(flights.size());
    for (const std::size_t team : turns) {
        Flight& flight = flights[team][next[team]++];
        flight.ticket = flight.team->start(flight.problem, flight.input.data(), flight.output.data());
    }
}

std::string finish_all(std::vector<std::vector<Flight>>& flights, std::mt19937& random) {
    std::vector<Flight*> order;
    for (auto& of_team : flights)
        for (Flight& flight : of_team)
            order.push_back(&flight);
    std::ranges::shuffle(order, random);
    std::string first;
    for (Flight* flight : order) {
        if (!flight->team->done(flight->ticket)) flight->team->wait(flight->ticket);
        if (first.empty()) first = flight->wrong();
    }
    return first;
}

}  // namespace

std::string run_nested_rounds(Communicator& team, int rounds) {
    Teams teams(team);
    std::mt19937 random(static_cast<std::uint32_t>(team.rank()) * 7919U + 1U);
    std::string first;
    for (int round = 0; round < rounds; ++round) {
        if (round % 100 == 50) teams.remake_quarter(team.rank() % 2 == 0);
        std::vector<std::vector<Flight>> flights;
        for (Communicator* communicator : teams.all(team)) {
            flights.emplace_back(calls_per_round);
            for (int call = 0; call < calls_per_round; ++call)
                flights.back()[static_cast<std::size_t>(call)].prepare(*communicator, static_cast<std::uint64_t>(round), call);
        }
        start_all(flights, random);
        const std::string wrong = finish_all(flights, random);
        if (first.empty() && !wrong.empty()) first = "round " + std::to_string(round) + ": " + wrong;
    }
    return first;
}

}  // namespace attune::test

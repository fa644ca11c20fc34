// Schedules of two or three ranks, small enough to read, for tests that break them.
#pragma once

#include "collectives/builder.hpp"
#include "collectives/composition.hpp"

#include <array>
#include <functional>
#include <vector>

namespace attune::collectives::small {

inline Problem problem_of(Collective collective, int ranks, std::uint64_t count, bool in_place = false) {
    Problem problem;
    problem.collective = collective;
    problem.ranks = ranks;
    problem.count = count;
    problem.in_place = in_place;
    return problem;
}

inline constexpr std::uint64_t n = 4;
inline constexpr Slice input{BufferId::input, 0, n};
inline constexpr Slice output{BufferId::output, 0, n};

// One builder per rank; `write` adds the steps of all of them.
inline std::vector<Schedule> schedules_of(int ranks, const std::function<void(std::vector<Builder>&)>& write) {
    std::vector<Builder> builders;
    for (Rank rank = 0; rank < ranks; ++rank)
        builders.emplace_back(rank, Builder::Empty::keep);
    write(builders);
    std::vector<Schedule> schedules;
    for (Builder& builder : builders) {
        builder.end_round();
        const std::array programs = {builder.finish()};
        schedules.push_back(split(programs));
    }
    return schedules;
}

// all_reduce of two ranks by exchange.
inline std::vector<Schedule> exchange() {
    return schedules_of(2, [](std::vector<Builder>& rank) {
        for (const Rank r : {0, 1}) {
            rank[static_cast<std::size_t>(r)].send(1 - r, input);
            rank[static_cast<std::size_t>(r)].recv_reduce(1 - r, input, output);
        }
    });
}

}  // namespace attune::collectives::small

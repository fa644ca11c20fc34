#include "collectives/placement.hpp"

#include "libcore/dtypes.hpp"

namespace attune::collectives {

std::array<Placement, 3> placements(const Problem& problem, const Schedule& schedule) {
    const std::uint64_t size = core::size_of(problem.dtype);
    Placement input{Memory::input, 0, problem.input_elements(schedule.rank)};
    Placement output{Memory::output, 0, problem.output_elements(schedule.rank)};
    if (problem.in_place) {
        const Memory larger = in_place_is_input(problem.collective) ? Memory::input : Memory::output;
        input.memory = output.memory = larger;
        input.base = in_place_input_offset(problem, schedule.rank) * size;
        output.base = in_place_output_offset(problem, schedule.rank) * size;
    }
    return {input, output, Placement{Memory::scratch, 0, schedule.scratch_elements}};
}

}  // namespace attune::collectives

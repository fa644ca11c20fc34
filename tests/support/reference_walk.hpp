// Executes the schedules of all ranks on real data in one thread, step by step and without plans, kernels or transports: the oracle that executors
// are compared with bit by bit.
#pragma once

#include "collectives/schedule.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace attune::test {

// What the caller of one rank passes. In place, `output` is the one larger buffer and `input` is empty.
struct UserBuffers {
    std::vector<std::byte> input;
    std::vector<std::byte> output;
};

// Buffers as each rank passes them, zeroed. `problem` knows the amounts of all ranks.
std::vector<UserBuffers> make_buffers(const collectives::Problem& problem);
// Where rank r's contribution lies (its input, or its slice of the one buffer), and its result.
std::span<std::byte> input_of(const collectives::Problem& problem, int rank, UserBuffers& buffers);
std::span<std::byte> output_of(const collectives::Problem& problem, int rank, UserBuffers& buffers);

// Runs to completion; sends never wait. Folds accumulate in program order, 16-bit floats in float32; min, max and NaN as the kernels promise. Throws
// std::runtime_error naming rank and step when a receive finds no message, a length differs or a message is left over.
void walk(const collectives::Problem& problem, std::span<const collectives::Schedule> schedules, std::span<UserBuffers> buffers);

}  // namespace attune::test

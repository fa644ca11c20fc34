// What every rank's output of a collective must hold, written from the definition of the collective and from nothing else.
#pragma once

#include "collectives/amounts.hpp"

#include <cstdint>
#include <vector>

namespace attune::tuner::engine {

// Output elements at .. at + count - 1 are the reduction over ranks first .. last - 1 of their input elements from `position` on. With one rank it is a copy.
struct Piece {
    std::uint64_t at = 0, count = 0;
    int first = 0, last = 1;
    std::uint64_t position = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
};

// `problem` is the global one (collectives::view_of gives each rank's own). Elements of the output that no piece covers must not be written.
std::vector<Piece> expected_pieces(const collectives::Problem& problem, int rank);
// Whether the rank's input is to be found unchanged after the call. False only in place, where the result takes its place.
bool input_survives(const collectives::Problem& problem, int rank);
// Whether elements outside input and result may be written: in place, a rank's other blocks of reduce_scatter are room for partial results.
bool may_write_elsewhere(const collectives::Problem& problem);
// Whether the rank brings elements into the call.
bool has_input(const collectives::Problem& problem, int rank);

}  // namespace attune::tuner::engine

// Copies straight between the buffers of two ranks, for the protocols cma_get, cma_put and mixed. Descriptors and flags of such messages travel as
// ordinary inline messages; what else the two ends of a lane need to know of each other stands in one line of shared memory.
#pragma once

#include "collectives/schedule.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attune::collectives {

struct Lane;

// What an inline message says of bytes that stay with the sender until they are acknowledged (cma_get, mixed).
struct Descriptor {
    std::uint64_t address = 0;
    std::uint64_t number = 0;  // of the message on its lane, from 1
};

// Zero at first. `call`, `digest` and `memory` are the receiver's: its buffers of that call, written once per call before `call`. The rest serves the one
// message that both ends are moving (see execution/sharing.hpp).
struct alignas(64) DirectLine {
    std::atomic<std::uint64_t> call;
    std::atomic<std::uint64_t> digest;
    std::array<std::atomic<std::uint64_t>, 3> memory;  // addresses of input, output, scratch
    std::atomic<std::uint64_t> claims;                 // written by both
    std::atomic<std::uint64_t> destination;            // written by the receiver
    std::atomic<std::uint64_t> pushed;                 // pieces the sender has written
};
static_assert(sizeof(DirectLine) == 64);

class DirectAccess {
public:
    virtual ~DirectAccess() = default;
    // The line of our lane to a peer, and of the peer's lane to us.
    virtual DirectLine& line_to(const Lane& lane) noexcept = 0;
    virtual DirectLine& line_from(const Lane& lane) noexcept = 0;
    // Messages posted to the lane so far, and whether its receiver has released so many.
    virtual std::uint64_t posted(const Lane& lane) const noexcept = 0;
    virtual bool acknowledged(const Lane& lane, std::uint64_t count) noexcept = 0;
    // All bytes are moved: 0. Else errno, and some may be. ESRCH and EFAULT mostly mean that the other is gone.
    virtual int read_memory(Rank rank, std::uint64_t address, std::span<std::byte> into) noexcept = 0;
    virtual int write_memory(Rank rank, std::uint64_t address, std::span<const std::byte> from) noexcept = 0;
};

}  // namespace attune::collectives

// A message that both ends move at once (protocol=mixed): it is cut into pieces; the receiver claims them from the front and reads, the sender claims
// them from the back and writes, until they meet. Whoever has time does more; the bytes are the same.
#pragma once

#include "collectives/transport/direct.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace attune::collectives {

// How a message of `length` bytes is cut, equal at both ends. At least eight pieces balance the two; below 16 KiB a system call costs more than it moves.
struct Pieces {
    explicit Pieces(std::uint64_t message_length) noexcept : length(message_length) {
        constexpr std::uint64_t page = 4096, smallest = 4 * page, largest = 64 * page, most = 1 << 15;
        bytes = std::max(std::clamp((length / 8 + page - 1) / page * page, smallest, largest), (length / most + page - 1) / page * page);
        count = (length + bytes - 1) / bytes;
    }
    std::uint64_t begin(std::uint64_t piece) const noexcept { return piece * bytes; }
    std::uint64_t size(std::uint64_t piece) const noexcept { return std::min(bytes, length - begin(piece)); }

    std::uint64_t length, bytes = 0, count = 0;
};

// Word `claims` of the line: number of the message (low 32 bits), pieces claimed from the front, pieces claimed from the back (16 bits each).
class Sharing {
public:
    Sharing(DirectLine& line, std::uint64_t number, const Pieces& pieces) noexcept : line_(line), tag_((number & 0xffffffff) << 32), count_(pieces.count) {}

    // Receiver: the message may be moved, to this address. Nobody touches the line for the message before it.
    void open(std::uint64_t destination) noexcept {
        line_.destination.store(destination, std::memory_order_relaxed);
        line_.pushed.store(0, std::memory_order_relaxed);
        line_.claims.store(tag_, std::memory_order_release);  // pairs with the load in claim(): destination and count are there
    }
    // The next piece for this end, or nothing when all are claimed or the receiver has not come to this message.
    std::optional<std::uint64_t> claim_front() noexcept { return claim(front_one); }
    std::optional<std::uint64_t> claim_back() noexcept { return claim(back_one); }
    // Sender: where the message goes, and one more piece is there.
    std::uint64_t destination() const noexcept { return line_.destination.load(std::memory_order_relaxed); }
    void wrote() noexcept { line_.pushed.fetch_add(1, std::memory_order_release); }  // pairs with complete()
    // Receiver, when nothing is left to claim: all that the sender claimed has come.
    bool complete() const noexcept {
        const std::uint64_t back = line_.claims.load(std::memory_order_relaxed) & 0xffff;
        return line_.pushed.load(std::memory_order_acquire) == back;  // pairs with wrote()
    }

private:
    static constexpr std::uint64_t front_one = 1 << 16, back_one = 1;

    std::optional<std::uint64_t> claim(std::uint64_t one) noexcept {
        std::uint64_t seen = line_.claims.load(std::memory_order_acquire);  // pairs with open()
        while (seen >> 32 == tag_ >> 32) {
            const std::uint64_t front = seen >> 16 & 0xffff, back = seen & 0xffff;
            if (front + back == count_) return {};
            // Only the numbers are agreed on here; the bytes follow with wrote() and the acknowledgement.
            if (!line_.claims.compare_exchange_weak(seen, seen + one, std::memory_order_acquire)) continue;
            return one == front_one ? front : count_ - 1 - back;
        }
        return {};
    }

    DirectLine& line_;
    std::uint64_t tag_;
    std::uint64_t count_;
};

}  // namespace attune::collectives

#include "tuner/engine/check_data.hpp"

#include "tuner/engine/check_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace attune::tuner::engine {

namespace {

constexpr std::byte poison_byte{0xA5};

template <class T>
std::string text_of(T value) {
    if constexpr (is_float<T>) {
        return fmt::format("{:.9g}", decode(value));
    } else {
        return fmt::format("{}", +value);
    }
}

template <class T>
T load(std::span<const std::byte> memory, std::uint64_t index) noexcept {
    T value;
    std::memcpy(&value, memory.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void note(Difference& difference, std::uint64_t index, T got, T expected) {
    if (std::memcmp(&got, &expected, sizeof(T)) == 0) return;
    if (difference.wrong++ == 0) difference.first = fmt::format("element {} is {}, expected {}", index, text_of(got), text_of(expected));
}

template <class T>
void compare_copied(const Values<T>& values, const Piece& piece, std::span<const std::byte> memory, Difference& difference) {
    Lattice::Walk walk = values.walk(piece.first, piece.position);
    for (std::uint64_t i = piece.at; i < piece.at + piece.count; ++i)
        note(difference, i, load<T>(memory, i), values.element(walk));
}

template <class T>
void compare_reduced(const Values<T>& values, const Piece& piece, std::span<const std::byte> memory, Difference& difference) {
    std::vector<Lattice::Walk> walks;
    for (int rank = piece.first; rank < piece.last; ++rank)
        walks.push_back(values.walk(rank, piece.position));
    for (std::uint64_t i = piece.at; i < piece.at + piece.count; ++i) {
        Exact<T> exact = widen<T>(values.element(walks[0]));
        for (std::size_t rank = 1; rank < walks.size(); ++rank)
            exact = values.combined(exact, widen<T>(values.element(walks[rank])));
        note(difference, i, load<T>(memory, i), narrow<T>(values.finished(exact)));
    }
}

// Elements that the memory is too short for are missing, all of them.
bool fits(const Piece& piece, std::size_t elements, Difference& difference) {
    if (piece.at + piece.count <= elements) return true;
    if (difference.wrong == 0) difference.first = fmt::format("the buffer ends at element {}, before {}", elements, piece.at + piece.count);
    difference.wrong += piece.count;
    return false;
}

}  // namespace

void write_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<std::byte> memory) {
    with_type(problem.dtype, [&]<class T>(T) {
        const Values<T> values(problem, round);
        Lattice::Walk walk = values.walk(rank, 0);
        for (std::size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T)) {
            const T value = values.element(walk);
            std::memcpy(memory.data() + at, &value, sizeof(T));
        }
    });
}

Difference compare_output(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> output) {
    return with_type(problem.dtype, [&]<class T>(T) {
        const Values<T> values(problem, round);
        Difference difference;
        for (const Piece& piece : expected_pieces(problem, rank)) {
            if (piece.count == 0 || !fits(piece, output.size() / sizeof(T), difference)) continue;
            if (use_of(problem) == Use::copied) {
                compare_copied<T>(values, piece, output, difference);
            } else {
                compare_reduced<T>(values, piece, output, difference);
            }
        }
        return difference;
    });
}

Difference compare_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> input) {
    return with_type(problem.dtype, [&]<class T>(T) {
        Difference difference;
        compare_copied<T>(Values<T>(problem, round), {0, input.size() / sizeof(T), rank, rank + 1, 0}, input, difference);
        return difference;
    });
}

void poison(std::span<std::byte> memory) noexcept {
    std::ranges::fill(memory, poison_byte);
}

Difference compare_poison(std::span<const std::byte> memory, std::vector<Range> written, std::size_t element_bytes) {
    Difference difference;
    written.push_back({memory.size(), memory.size()});
    std::ranges::sort(written, {}, &Range::begin);
    std::size_t from = 0;
    for (const Range& range : written) {
        for (std::size_t at = from; at < range.begin; at += element_bytes) {
            const auto element = memory.subspan(at, std::min(element_bytes, range.begin - at));
            if (std::ranges::all_of(element, [](std::byte byte) { return byte == poison_byte; })) continue;
            if (difference.wrong++ == 0) difference.first = fmt::format("element {} was written", at / element_bytes);
        }
        from = std::max(from, range.end);
    }
    return difference;
}

std::uint64_t content_digest(std::span<const std::byte> memory) noexcept {
    std::uint64_t digest = 0xcbf29ce484222325;
    const auto mix = [&](std::uint64_t word) { digest = (digest ^ word) * 0x9E3779B97F4A7C15 + (digest >> 29); };
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= memory.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory.data() + at, sizeof(word));
        mix(word);
    }
    for (; at < memory.size(); ++at)
        mix(std::to_integer<std::uint64_t>(memory[at]));
    return digest;
}

}  // namespace attune::tuner::engine

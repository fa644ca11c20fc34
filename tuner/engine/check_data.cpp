#include "tuner/engine/check_data.hpp"

#include "libcore/element.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

namespace attune::tuner::engine {

namespace {

// u(rank, position) walks through 0 .. modulus-1 with a step that shares no factor with the modulus, so neighbours within `modulus` positions are
// distinct, and equal positions of different ranks differ. p values of magnitude < modulus / 2 add up exactly in the significand.
class Lattice {
public:
    explicit Lattice(const collectives::Problem& problem)
        : modulus_(std::max<std::uint64_t>(exact_integers(problem.dtype) / static_cast<std::uint64_t>(problem.ranks), 3)), step_(0x9E3779B1 % modulus_) {
        while (std::gcd(step_, modulus_) != 1)
            ++step_;
    }
    std::uint64_t modulus() const noexcept { return modulus_; }
    std::uint64_t step() const noexcept { return step_; }
    std::uint64_t at(int rank, std::uint64_t position, std::uint64_t round) const noexcept {
        const std::uint64_t along = (position % modulus_) * step_ % modulus_;
        const std::uint64_t shift = (static_cast<std::uint64_t>(rank) * 7919 + round * 104729) % modulus_;
        return (along + shift) % modulus_;
    }

private:
    // Up to there every integer is exact: the significand of 16-bit floats, else of float32, so that all wider types have the same values.
    static std::uint64_t exact_integers(core::DType dtype) noexcept {
        if (dtype == core::DType::float16) return std::uint64_t{1} << 11;
        if (dtype == core::DType::bfloat16) return std::uint64_t{1} << 8;
        return std::uint64_t{1} << 24;
    }
    std::uint64_t modulus_;
    std::uint64_t step_;
};

// Walks one rank's lattice values without a division per element.
class Walk {
public:
    Walk(const Lattice& lattice, int rank, std::uint64_t position, std::uint64_t round)
        : modulus_(lattice.modulus()), step_(lattice.step()), now_(lattice.at(rank, position, round)) {}
    std::uint64_t next() noexcept {
        const std::uint64_t value = now_;
        now_ += step_;
        if (now_ >= modulus_) now_ -= modulus_;
        return value;
    }

private:
    std::uint64_t modulus_, step_, now_;
};

// Products of floats stay exact as powers of two: exponents -1, 0, 1 and a sign. Everything else takes the centred integer.
template <class T>
T element_of(std::uint64_t u, std::uint64_t modulus, bool product) noexcept {
    const std::int64_t centred = static_cast<std::int64_t>(u) - static_cast<std::int64_t>(modulus / 2);
    if (!product) return static_cast<T>(centred);
    if constexpr (core::is_floating_type<T>) {
        constexpr std::array<float, 6> powers = {0.5F, 1, 2, -0.5F, -1, -2};
        return static_cast<T>(powers[u % powers.size()]);
    } else {
        return static_cast<T>(2 * centred + 1);
    }
}

// The oracle's arithmetic is another one than the kernels': long double for floats, unsigned 64-bit wrapping for integers.
template <class T>
using Exact = std::conditional_t<core::is_floating_type<T>, long double, std::uint64_t>;

template <class T>
Exact<T> widen(T value) noexcept {
    if constexpr (core::is_floating_type<T>) return static_cast<core::Accumulator<T>>(value);
    if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(value);
}

template <class T>
Exact<T> combine(Exact<T> a, Exact<T> b, core::Op op) noexcept {
    const auto less = [](Exact<T> x, Exact<T> y) {
        if constexpr (core::is_floating_type<T>) return x < y;
        if constexpr (std::is_integral_v<T>) return static_cast<T>(x) < static_cast<T>(y);
    };
    if constexpr (std::is_integral_v<T>) {
        if (op == core::Op::band) return a & b;
        if (op == core::Op::bor) return a | b;
        if (op == core::Op::bxor) return a ^ b;
    }
    switch (op) {
        case core::Op::sum:
        case core::Op::avg:
            return a + b;
        case core::Op::prod:
            return a * b;
        case core::Op::min:
            return less(b, a) ? b : a;
        case core::Op::max:
            return less(a, b) ? b : a;
        default:
            return a;
    }
}

template <class T>
struct Inputs {
    explicit Inputs(const collectives::Problem& problem, std::uint64_t in_round)
        : lattice(problem), round(in_round), product(collectives::reduces(problem.collective) && problem.op == core::Op::prod) {}
    Walk walk(int rank, std::uint64_t position) const { return Walk(lattice, rank, position, round); }
    T element(Walk& walk) const noexcept { return element_of<T>(walk.next(), lattice.modulus(), product); }

    Lattice lattice;
    std::uint64_t round;
    bool product;
};

template <class T>
void note(Difference& difference, std::uint64_t index, T got, T expected) {
    if (std::memcmp(&got, &expected, sizeof(T)) == 0) return;
    if (difference.wrong++ == 0) {
        difference.first = "element " + std::to_string(index) + " is " + std::to_string(static_cast<core::Accumulator<T>>(got)) + ", expected " +
                           std::to_string(static_cast<core::Accumulator<T>>(expected));
    }
}

template <class T>
T load(std::span<const std::byte> memory, std::uint64_t index) noexcept {
    T value;
    std::memcpy(&value, memory.data() + index * sizeof(T), sizeof(T));
    return value;
}

// `count` elements of `memory` from element `at` on must equal rank's whole input or its start.
template <class T>
void compare_copied(const Inputs<T>& inputs, int rank, std::uint64_t at, std::uint64_t count, std::span<const std::byte> memory, Difference& difference) {
    Walk walk = inputs.walk(rank, 0);
    for (std::uint64_t i = at; i < at + count; ++i)
        note(difference, i, load<T>(memory, i), inputs.element(walk));
}

template <class T>
void compare_reduced(const collectives::Problem& problem, const Inputs<T>& inputs, std::uint64_t position, std::span<const std::byte> output,
                     Difference& difference) {
    std::vector<Walk> walks;
    for (int rank = 0; rank < problem.ranks; ++rank)
        walks.push_back(inputs.walk(rank, position));
    for (std::uint64_t i = 0; i < problem.count; ++i) {
        Exact<T> exact = widen<T>(inputs.element(walks[0]));
        for (std::size_t rank = 1; rank < walks.size(); ++rank)
            exact = combine<T>(exact, widen<T>(inputs.element(walks[rank])), problem.op);
        if (problem.op == core::Op::avg) exact /= static_cast<Exact<T>>(problem.ranks);
        note(difference, i, load<T>(output, i), static_cast<T>(exact));
    }
}

template <class T>
Difference output_difference(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> output) {
    const Inputs<T> inputs(problem, round);
    Difference difference;
    switch (problem.collective) {
        case collectives::Collective::all_reduce:
            compare_reduced<T>(problem, inputs, 0, output, difference);
            break;
        case collectives::Collective::reduce_scatter:
            compare_reduced<T>(problem, inputs, problem.count * static_cast<std::uint64_t>(rank), output, difference);
            break;
        case collectives::Collective::all_gather:
            for (int peer = 0; peer < problem.ranks; ++peer) {
                compare_copied<T>(inputs, peer, problem.count * static_cast<std::uint64_t>(peer), problem.count, output, difference);
            }
            break;
        case collectives::Collective::broadcast:
            compare_copied<T>(inputs, problem.root, 0, problem.count, output, difference);
            break;
        default:
            break;
    }
    return difference;
}

}  // namespace

void write_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<std::byte> memory) {
    core::with_element_type(problem.dtype, [&]<class T>(T) {
        const Inputs<T> inputs(problem, round);
        Walk walk = inputs.walk(rank, 0);
        for (std::uint64_t i = 0; i < problem.input_elements(); ++i) {
            const T value = inputs.element(walk);
            std::memcpy(memory.data() + i * sizeof(T), &value, sizeof(T));
        }
    });
}

Difference compare_output(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> output) {
    return core::with_element_type(problem.dtype, [&]<class T>(T) { return output_difference<T>(problem, rank, round, output); });
}

Difference compare_input(const collectives::Problem& problem, int rank, std::uint64_t round, std::span<const std::byte> input) {
    return core::with_element_type(problem.dtype, [&]<class T>(T) {
        Difference difference;
        compare_copied<T>(Inputs<T>(problem, round), rank, 0, problem.input_elements(), input, difference);
        return difference;
    });
}

void poison(std::span<std::byte> memory) noexcept {
    std::ranges::fill(memory, std::byte{0xA5});
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

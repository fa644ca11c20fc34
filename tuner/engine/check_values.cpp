#include "tuner/engine/check_values.hpp"

#include <algorithm>

namespace attune::tuner::engine {

namespace {

constexpr std::uint64_t largest_modulus = 4294967291;  // prime; products of two residues fit 64 bits

std::uint64_t prime_up_to(std::uint64_t limit) noexcept {
    const auto prime = [](std::uint64_t n) {
        for (std::uint64_t divisor = 2; divisor * divisor <= n; ++divisor) {
            if (n % divisor == 0) return false;
        }
        return true;
    };
    std::uint64_t n = std::clamp<std::uint64_t>(limit, 3, largest_modulus);
    while (!prime(n))
        --n;
    return n;
}

constexpr std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) noexcept {
    return (a + b - 1) / b;
}

// All bit patterns that are finite numbers.
template <class T>
std::uint64_t patterns() noexcept {
    if constexpr (std::is_same_v<T, double>)
        return largest_modulus;
    else if constexpr (std::is_same_v<T, float>)
        return 2 * std::uint64_t{0x7F800000};
    else
        return 2 * static_cast<std::uint64_t>(0x7FFF & ~((1u << T::significand_bits) - 1));
}

template <class T>
Limits float_limits(Use use, std::uint64_t ranks) noexcept {
    const auto exact = std::uint64_t{1} << precision<T>();  // no partial sum may have a larger magnitude
    Limits limits;
    if (use == Use::summed) {
        limits.period = quotient_up(ranks, exact);
        limits.modulus = prime_up_to(2 * (exact / quotient_up(ranks, limits.period)) + 1);
    } else if (use == Use::multiplied) {
        const auto most = static_cast<std::uint64_t>(exponent_limit<T>());
        limits.period = quotient_up(ranks, most);
        limits.magnitude = static_cast<std::int64_t>(most / quotient_up(ranks, limits.period));
        limits.modulus = prime_up_to(65536);
    } else if (use == Use::averaged) {
        limits.period = ranks;
        limits.magnitude = static_cast<std::int64_t>(std::min<std::uint64_t>(exact / 2 / ranks, 1 << 20));
        limits.mean_limit = limits.magnitude != 0 ? limits.magnitude : ranks + 2 <= exact ? 1 : 0;
        limits.modulus = is_short<T> ? prime_up_to(65536) : largest_modulus;
    } else {
        limits.modulus = prime_up_to(patterns<T>());
    }
    return limits;
}

// Sums and products of integers wrap, so every value may be used; odd factors keep products from becoming 0.
template <class T>
Limits integer_limits(Use use) noexcept {
    const std::uint64_t values = sizeof(T) >= 4 ? largest_modulus : std::uint64_t{1} << (8 * sizeof(T));
    Limits limits;
    limits.modulus = prime_up_to(use == Use::multiplied && sizeof(T) < 8 ? values / 2 : values);
    return limits;
}

}  // namespace

Use use_of(const collectives::Problem& problem) noexcept {
    if (!collectives::reduces(problem.collective)) return Use::copied;
    switch (problem.op) {
        case core::Op::prod:
            return Use::multiplied;
        case core::Op::min:
        case core::Op::max:
            return Use::compared;
        case core::Op::avg:
            return Use::averaged;
        case core::Op::band:
            return Use::anded;
        case core::Op::bor:
            return Use::ored;
        case core::Op::bxor:
            return Use::xored;
        case core::Op::sum:
            break;
    }
    return Use::summed;
}

Limits limits_of(const collectives::Problem& problem) {
    const Use use = use_of(problem);
    const auto ranks = static_cast<std::uint64_t>(problem.ranks);
    return with_type(problem.dtype, [&]<class T>(T) {
        if constexpr (is_float<T>)
            return float_limits<T>(use, ranks);
        else
            return integer_limits<T>(use);
    });
}

Lattice::Lattice(std::uint64_t modulus, std::uint64_t period, std::uint64_t round, bool same_on_ranks)
    : modulus_(modulus), step_(std::max<std::uint64_t>(0x9E3779B1 % modulus, 1)), period_(period), round_(round), same_on_ranks_(same_on_ranks) {}

Lattice::Walk::Walk(const Lattice& lattice, int rank, std::uint64_t position)
    : lattice_(&lattice),
      rank_(lattice.same_on_ranks_ ? 0 : static_cast<std::uint64_t>(rank)),
      turn_((static_cast<std::uint64_t>(rank) + position) % lattice.period_) {
    begin(position / lattice.modulus_, position % lattice.modulus_);
}

// Ranks are a multiple of a hash apart that is not 0 modulo the prime, so no two of the first `modulus` ranks agree anywhere.
void Lattice::Walk::begin(std::uint64_t block, std::uint64_t within) noexcept {
    const std::uint64_t modulus = lattice_->modulus_;
    const std::uint64_t apart = 1 + mixed(4 * block + 1) % (modulus - 1);
    const std::uint64_t further = mixed(4 * block + 2) % modulus;
    const std::uint64_t of_rank = (rank_ % modulus * apart % modulus + rank_ / modulus * further % modulus) % modulus;
    const std::uint64_t of_block = (mixed(4 * block + 3) % modulus + lattice_->round_ * 104729 % modulus) % modulus;
    u_ = (within * lattice_->step_ % modulus + of_rank + of_block) % modulus;
    block_ = block;
    left_ = modulus - within;
}

}  // namespace attune::tuner::engine

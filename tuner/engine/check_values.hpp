// The numbers that exact validation puts into buffers: every result of every operator is representable in the type, in any order of reduction, and
// elements differ by position, rank and round as far as the type allows.
#pragma once

#include "collectives/problem.hpp"
#include "tuner/engine/exact_types.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace attune::tuner::engine {

// What becomes of an input element.
enum class Use : std::uint8_t { copied, summed, multiplied, compared, anded, ored, xored, averaged };
Use use_of(const collectives::Problem& problem) noexcept;

// Draws of one rank: u walks through 0 .. modulus-1 with a step, so neighbours differ. Each run of `modulus` elements starts elsewhere, by a hash: no two
// blocks of a buffer look alike, also for types with few values. Equal positions of different ranks (modulo the modulus) and rounds differ.
struct Draw {
    std::uint64_t u;
    std::uint64_t turn;  // (rank + position) modulo the period
};

class Lattice {
public:
    // `modulus` is prime. Averages take the same u on all ranks.
    Lattice(std::uint64_t modulus, std::uint64_t period, std::uint64_t round, bool same_on_ranks);
    std::uint64_t modulus() const noexcept { return modulus_; }
    std::uint64_t period() const noexcept { return period_; }

    class Walk {
    public:
        Walk(const Lattice& lattice, int rank, std::uint64_t position);
        Draw next() noexcept {
            const Draw draw{u_, turn_};
            u_ += lattice_->step_;
            if (u_ >= lattice_->modulus_) u_ -= lattice_->modulus_;
            if (++turn_ == lattice_->period_) turn_ = 0;
            if (--left_ == 0) begin(block_ + 1, 0);
            return draw;
        }

    private:
        void begin(std::uint64_t block, std::uint64_t within) noexcept;
        const Lattice* lattice_;
        std::uint64_t rank_;
        std::uint64_t u_ = 0, turn_ = 0, block_ = 0, left_ = 0;
    };

private:
    std::uint64_t modulus_, step_, period_, round_;
    bool same_on_ranks_;
};

// How many values, exponents or terms a type and an operator leave to so many ranks.
struct Limits {
    std::uint64_t modulus = 3;    // prime
    std::int64_t magnitude = 1;   // largest |exponent| of a factor; largest deviation from an average, 0 = two ranks deviate by 1
    std::uint64_t period = 1;     // of `turn`; in sums and products of very many ranks only those with turn 0 are not neutral
    std::int64_t mean_limit = 0;  // largest |average|
};
Limits limits_of(const collectives::Problem& problem);

// Bijective mixing of 64 bits (splitmix64, Steele et al. 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

// The exact arithmetic of the oracle: double for floats, unsigned 64-bit wrapping for integers.
template <class T>
using Exact = std::conditional_t<is_float<T>, double, std::uint64_t>;

template <class T>
Exact<T> widen(T value) noexcept {
    if constexpr (is_float<T>)
        return decode(value);
    else
        return static_cast<std::uint64_t>(value);  // sign-extends
}

template <class T>
T narrow(Exact<T> value) noexcept {
    if constexpr (is_float<T>)
        return encode<T>(value);
    else
        return static_cast<T>(value);
}

// The elements of one problem and round as values of T.
template <class T>
class Values {
public:
    Values(const collectives::Problem& problem, std::uint64_t round)
        : use_(use_of(problem)),
          maximum_(problem.op == core::Op::max),
          ranks_(static_cast<std::uint64_t>(problem.ranks)),
          limits_(limits_of(problem)),
          lattice_(limits_.modulus, limits_.period, round, use_ == Use::averaged) {}

    Lattice::Walk walk(int rank, std::uint64_t position) const { return {lattice_, rank, position}; }
    T element(Lattice::Walk& walk) const noexcept { return value(walk.next()); }

    Exact<T> combined(Exact<T> a, Exact<T> b) const noexcept {
        switch (use_) {
            case Use::summed:
            case Use::averaged:
                return a + b;
            case Use::multiplied:
                return a * b;
            default:
                break;
        }
        if (use_ == Use::compared) return less(a, b) == maximum_ ? b : a;
        if constexpr (!is_float<T>) return use_ == Use::anded ? (a & b) : use_ == Use::ored ? (a | b) : (a ^ b);
        return a;
    }
    // After all ranks are combined. The sums of averages are multiples of the number of ranks.
    Exact<T> finished(Exact<T> value) const noexcept { return use_ == Use::averaged ? value / static_cast<Exact<T>>(ranks_) : value; }

private:
    T value(Draw draw) const noexcept {
        if constexpr (is_float<T>)
            return float_value(draw);
        else
            return integer_value(draw);
    }

    T integer_value(Draw draw) const noexcept {
        constexpr std::uint64_t odd = sizeof(T) == 8 ? 0x9E3779B97F4A7C15 : 1;  // fills all bytes, one to one
        switch (use_) {
            case Use::multiplied:
                return static_cast<T>((2 * draw.u + 1) * odd);
            case Use::anded:
                return static_cast<T>(~sparse_bits(draw.u));
            case Use::ored:
                return static_cast<T>(sparse_bits(draw.u));
            default:
                return static_cast<T>(draw.u * odd);
        }
    }
    // Each bit is set on about one rank in `ranks`: neither all nor none of the results' bits are.
    std::uint64_t sparse_bits(std::uint64_t u) const noexcept {
        std::uint64_t bits = mixed(u);
        for (std::uint64_t ranks = 2; ranks < ranks_; ranks *= 2)
            bits &= mixed(bits + u);
        return bits;
    }

    T float_value(Draw draw) const noexcept {
        switch (use_) {
            case Use::summed:
                return encode<T>(draw.turn == 0 ? centred(draw.u) : 0.0);
            case Use::multiplied:
                return encode<T>(factor(draw));
            case Use::averaged:
                return encode<T>(averaged(draw));
            default:
                return finite(draw.u);
        }
    }
    double centred(std::uint64_t u) const noexcept { return static_cast<double>(u) - static_cast<double>(limits_.modulus / 2); }
    // A power of two and a sign.
    double factor(Draw draw) const noexcept {
        const auto choices = static_cast<std::uint64_t>(2 * limits_.magnitude + 1);
        const int exponent = draw.turn == 0 ? static_cast<int>(draw.u % choices) - static_cast<int>(limits_.magnitude) : 0;
        return std::ldexp(draw.u / choices % 2 == 0 ? 1.0 : -1.0, exponent);
    }
    // A mean that all ranks share plus deviations that cancel over the ranks.
    double averaged(Draw draw) const noexcept {
        const std::int64_t off_centre = 2 * static_cast<std::int64_t>(draw.turn) - static_cast<std::int64_t>(ranks_ - 1);
        if (limits_.magnitude == 0) return mean(draw.u) + (draw.turn == 0 ? 1 : draw.turn == ranks_ - 1 ? -1 : 0);
        return mean(draw.u) + static_cast<double>(std::clamp(off_centre, -limits_.magnitude, limits_.magnitude));
    }
    // Whole, and the same whether a sum is divided by the ranks or multiplied by the rounded reciprocal.
    double mean(std::uint64_t u) const noexcept {
        const auto span = static_cast<std::uint64_t>(2 * limits_.mean_limit + 1);
        const auto wished = static_cast<double>(static_cast<std::int64_t>(u % span) - limits_.mean_limit);
        using Scale = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const auto ranks = static_cast<Scale>(ranks_);
        return static_cast<Scale>(wished) * ranks * (Scale(1) / ranks) == static_cast<Scale>(wished) ? wished : 0.0;
    }
    // Any finite bit pattern, subnormal numbers and both zeros included.
    static T finite(std::uint64_t u) noexcept {
        if constexpr (std::is_same_v<T, double>) {
            return std::bit_cast<double>(u * 0x9E3779B97F4A7C15 & ~(std::uint64_t{1} << 62));
        } else if constexpr (std::is_same_v<T, float>) {
            constexpr std::uint64_t finite_positive = 0x7F800000;
            return std::bit_cast<float>(static_cast<std::uint32_t>(u < finite_positive ? u : u - finite_positive + 0x80000000));
        } else {
            constexpr std::uint64_t finite_positive = 0x7FFF & ~((1u << T::significand_bits) - 1);
            return {static_cast<std::uint16_t>(u < finite_positive ? u : u - finite_positive + 0x8000)};
        }
    }
    // -0 is below +0.
    static bool less(Exact<T> a, Exact<T> b) noexcept {
        if constexpr (is_float<T>)
            return a < b || (a == b && std::signbit(a) && !std::signbit(b));
        else if constexpr (std::is_signed_v<T>)
            return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
        else
            return a < b;
    }

    Use use_;
    bool maximum_;
    std::uint64_t ranks_;
    Limits limits_;
    Lattice lattice_;
};

}  // namespace attune::tuner::engine

#include "tests/support/reference_walk.hpp"

#include "libcore/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace attune::test {

namespace {

using namespace collectives;
using Bytes = std::vector<std::byte>;

template <typename T>
T combine_floats(core::Op op, T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (op == core::Op::min) return a < b || (a == b && std::signbit(a)) ? a : b;
    if (op == core::Op::max) return a > b || (a == b && !std::signbit(a)) ? a : b;
    const T result = op == core::Op::prod ? a * b : a + b;
    return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
}

// Everything unsigned and 64 bits wide: what is cut off at the end is what wraps.
template <typename T>
T combine_integers(core::Op op, T a, T b) {
    const std::uint64_t x = static_cast<std::make_unsigned_t<T>>(a), y = static_cast<std::make_unsigned_t<T>>(b);
    if (op == core::Op::min) return std::min(a, b);
    if (op == core::Op::max) return std::max(a, b);
    if (op == core::Op::prod) return static_cast<T>(x * y);
    if (op == core::Op::band) return static_cast<T>(x & y);
    if (op == core::Op::bor) return static_cast<T>(x | y);
    if (op == core::Op::bxor) return static_cast<T>(x ^ y);
    return static_cast<T>(x + y);
}

template <typename T>
T element_of(const Bytes& bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

// One element of a fold: accumulated in the wider type, divided for an average, rounded once.
template <typename T>
T fold_element(const Problem& problem, std::span<const Bytes> operands, bool scale, std::size_t at) {
    auto result = static_cast<core::Accumulator<T>>(element_of<T>(operands[0], at));
    for (const Bytes& operand : operands.subspan(1)) {
        const auto next = static_cast<core::Accumulator<T>>(element_of<T>(operand, at));
        if constexpr (core::is_floating_type<T>) {
            result = combine_floats(problem.op, result, next);
        } else {
            result = combine_integers(problem.op, result, next);
        }
    }
    if (!scale) return static_cast<T>(result);
    if constexpr (core::is_floating_type<T>) result /= static_cast<core::Accumulator<T>>(problem.ranks);
    return static_cast<T>(result == result ? result : std::numeric_limits<core::Accumulator<T>>::quiet_NaN());
}

// A single operand that is not scaled is copied bit by bit.
Bytes fold(const Problem& problem, std::span<const Bytes> operands, bool scale) {
    if (operands.size() == 1 && !scale) return operands.front();
    Bytes result(operands.front().size());
    core::with_element_type(problem.dtype, [&]<class T>(T) {
        for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
            const T value = fold_element<T>(problem, operands, scale, at);
            std::memcpy(result.data() + at, &value, sizeof(T));
        }
    });
    return result;
}

// The steps of one rank on one channel, run until one has no message.
class Walk {
public:
    Walk(const Problem& problem, std::span<const Schedule> schedules, std::span<UserBuffers> buffers)
        : problem_(problem), schedules_(schedules), buffers_(buffers), size_(core::size_of(problem.dtype)) {
        for (const Schedule& schedule : schedules) {
            scratch_.emplace_back(schedule.scratch_elements * size_);
            next_.emplace_back(max_channels, 0);
        }
    }

    void run() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
                for (int channel = 0; channel < max_channels; ++channel)
                    moved = run_channel(rank, channel) || moved;
            }
        }
        for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
            for (const std::size_t next : next_[rank]) {
                if (next < schedules_[rank].steps.size()) fail(rank, next, "waits for a message that never comes");
            }
        }
        for (const auto& [lane, queue] : lanes_) {
            if (!queue.empty()) throw std::runtime_error("rank " + std::to_string(std::get<1>(lane)) + " leaves a message unread");
        }
    }

private:
    using Lane = std::tuple<std::size_t, std::size_t, int>;  // from, to, channel

    [[noreturn]] void fail(std::size_t rank, std::size_t step, const std::string& why) const {
        throw std::runtime_error("rank " + std::to_string(rank) + " step " + std::to_string(step) + " (" + describe(schedules_[rank].steps[step]) + ") " + why);
    }

    bool run_channel(std::size_t rank, int channel) {
        const std::vector<Step>& steps = schedules_[rank].steps;
        std::size_t& next = next_[rank][static_cast<std::size_t>(channel)];
        bool moved = false;
        while (next < steps.size()) {
            if (steps[next].channel != channel) {
                ++next;
                continue;
            }
            std::size_t end = next + 1;
            while (end < steps.size() && steps[end].joined)
                ++end;
            if (!run_fold(rank, next, end)) return moved;
            next = end;
            moved = true;
        }
        return moved;
    }

    bool run_fold(std::size_t rank, std::size_t begin, std::size_t end) {
        const std::vector<Step>& steps = schedules_[rank].steps;
        const Step& first = steps[begin];
        if (first.kind == StepKind::send) {
            lanes_[{rank, static_cast<std::size_t>(first.peer), first.channel}].push_back(read(rank, first));
            return true;
        }
        for (std::size_t step = begin; step < end; ++step) {
            if (steps[step].kind != StepKind::recv) continue;
            const auto& queue = lanes_[{static_cast<std::size_t>(steps[step].peer), rank, first.channel}];
            if (queue.empty()) return false;
            if (queue.front().size() != steps[step].length * size_) fail(rank, step, "gets a message of another length");
        }
        std::vector<Bytes> operands;
        for (std::size_t step = begin; step < end; ++step) {
            if (steps[step].kind != StepKind::scale || step == begin) operands.push_back(operand(rank, steps[step]));
        }
        const Bytes value = fold(problem_, operands, steps[end - 1].kind == StepKind::scale);
        const std::span<std::byte> target = slice(rank, first.destination, first.destination_offset, first.length);
        std::copy(value.begin(), value.end(), target.begin());
        return true;
    }

    // What a step brings into its fold; a scale that stands alone brings its destination.
    Bytes operand(std::size_t rank, const Step& step) {
        if (step.kind == StepKind::scale) return to_bytes(slice(rank, step.destination, step.destination_offset, step.length));
        if (step.kind != StepKind::recv) return read(rank, step);
        auto& queue = lanes_[{static_cast<std::size_t>(step.peer), rank, step.channel}];
        Bytes message = std::move(queue.front());
        queue.pop_front();
        return message;
    }

    static Bytes to_bytes(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

    Bytes read(std::size_t rank, const Step& step) { return to_bytes(slice(rank, step.source, step.source_offset, step.length)); }

    std::span<std::byte> slice(std::size_t rank, BufferId buffer, std::uint64_t offset, std::uint64_t length) {
        UserBuffers& user = buffers_[rank];
        const int r = static_cast<int>(rank);
        const std::span<std::byte> all = buffer == BufferId::scratch ? std::span(scratch_[rank])
                                         : buffer == BufferId::input ? input_of(problem_, r, user)
                                                                     : output_of(problem_, r, user);
        return all.subspan(offset * size_, length * size_);
    }

    const Problem& problem_;
    std::span<const Schedule> schedules_;
    std::span<UserBuffers> buffers_;
    std::uint64_t size_;
    std::vector<Bytes> scratch_;
    std::vector<std::vector<std::size_t>> next_;  // [rank][channel], index into steps
    std::map<Lane, std::deque<Bytes>> lanes_;
};

}  // namespace

std::vector<UserBuffers> make_buffers(const Problem& problem) {
    const std::uint64_t size = core::size_of(problem.dtype);
    std::vector<UserBuffers> buffers;
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
        const std::uint64_t input = problem.in_place ? 0 : problem.input_elements(rank);
        const std::uint64_t output = problem.in_place ? problem.in_place_elements() : problem.output_elements(rank);
        buffers.push_back({Bytes(input * size), Bytes(output * size)});
    }
    return buffers;
}

std::span<std::byte> input_of(const Problem& problem, int rank, UserBuffers& buffers) {
    if (!problem.in_place) return buffers.input;
    const std::uint64_t size = core::size_of(problem.dtype);
    return std::span(buffers.output).subspan(in_place_input_offset(problem, rank) * size, problem.input_elements(rank) * size);
}

std::span<std::byte> output_of(const Problem& problem, int rank, UserBuffers& buffers) {
    if (!problem.in_place) return buffers.output;
    const std::uint64_t size = core::size_of(problem.dtype);
    return std::span(buffers.output).subspan(in_place_output_offset(problem, rank) * size, problem.output_elements(rank) * size);
}

void walk(const Problem& problem, std::span<const Schedule> schedules, std::span<UserBuffers> buffers) {
    Walk(problem, schedules, buffers).run();
}

}  // namespace attune::test

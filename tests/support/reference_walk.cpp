#include "tests/support/reference_walk.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

namespace attune::test {

namespace {

using namespace collectives;
using Bytes = std::vector<std::byte>;

template <typename T>
T combine_floats(core::Op op, T a, T b) {
    T result = a;
    switch (op) {
        case core::Op::sum:
            result = a + b;
            break;
        case core::Op::prod:
            result = a * b;
            break;
        case core::Op::min:
            result = std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : (a < b || (a == b && std::signbit(a)) ? a : b);
            break;
        case core::Op::max:
            result = std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : (a > b || (a == b && !std::signbit(a)) ? a : b);
            break;
    }
    return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
}

template <typename T>
T combine(core::Op op, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return combine_floats(op, a, b);
    } else {
        using Wrapping = std::make_unsigned_t<T>;
        if (op == core::Op::sum) return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
        if (op == core::Op::prod) return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
        return op == core::Op::min ? std::min(a, b) : std::max(a, b);
    }
}

template <typename T>
void accumulate(core::Op op, Bytes& into, const Bytes& operand) {
    for (std::size_t at = 0; at < into.size(); at += sizeof(T)) {
        T a, b;
        std::memcpy(&a, into.data() + at, sizeof(T));
        std::memcpy(&b, operand.data() + at, sizeof(T));
        a = combine(op, a, b);
        std::memcpy(into.data() + at, &a, sizeof(T));
    }
}

void accumulate(const Problem& problem, Bytes& into, const Bytes& operand) {
    switch (problem.dtype) {
        case core::DType::float32:
            return accumulate<float>(problem.op, into, operand);
        case core::DType::float64:
            return accumulate<double>(problem.op, into, operand);
        case core::DType::int32:
            return accumulate<std::int32_t>(problem.op, into, operand);
        case core::DType::int64:
            return accumulate<std::int64_t>(problem.op, into, operand);
    }
}

template <typename T>
void divide(Bytes& values, int ranks) {
    for (std::size_t at = 0; at < values.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, values.data() + at, sizeof(T));
        value *= T{1} / static_cast<T>(ranks);
        std::memcpy(values.data() + at, &value, sizeof(T));
    }
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
        Bytes value;
        for (std::size_t step = begin; step < end; ++step)
            add(rank, steps[step], step == begin, value);
        const std::span<std::byte> target = slice(rank, first.destination, first.destination_offset, first.length);
        std::copy(value.begin(), value.end(), target.begin());
        return true;
    }

    void add(std::size_t rank, const Step& step, bool first, Bytes& value) {
        if (step.kind == StepKind::scale) {
            if (first) value = to_bytes(slice(rank, step.destination, step.destination_offset, step.length));
            if (problem_.dtype == core::DType::float32) divide<float>(value, problem_.ranks);
            if (problem_.dtype == core::DType::float64) divide<double>(value, problem_.ranks);
            return;
        }
        Bytes operand;
        if (step.kind == StepKind::recv) {
            auto& queue = lanes_[{static_cast<std::size_t>(step.peer), rank, step.channel}];
            operand = std::move(queue.front());
            queue.pop_front();
        } else {
            operand = read(rank, step);
        }
        if (first) {
            value = std::move(operand);
        } else {
            accumulate(problem_, value, operand);
        }
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
    const std::uint64_t input = problem.in_place ? 0 : problem.input_elements();
    const std::uint64_t output = problem.in_place ? std::max(problem.input_elements(), problem.output_elements()) : problem.output_elements();
    return std::vector<UserBuffers>(static_cast<std::size_t>(problem.ranks), UserBuffers{Bytes(input * size), Bytes(output * size)});
}

std::span<std::byte> input_of(const Problem& problem, int rank, UserBuffers& buffers) {
    if (!problem.in_place) return buffers.input;
    const std::uint64_t size = core::size_of(problem.dtype);
    return std::span(buffers.output).subspan(in_place_input_offset(problem, rank) * size, problem.input_elements() * size);
}

std::span<std::byte> output_of(const Problem& problem, int rank, UserBuffers& buffers) {
    if (!problem.in_place) return buffers.output;
    const std::uint64_t size = core::size_of(problem.dtype);
    return std::span(buffers.output).subspan(in_place_output_offset(problem, rank) * size, problem.output_elements() * size);
}

void walk(const Problem& problem, std::span<const Schedule> schedules, std::span<UserBuffers> buffers) {
    Walk(problem, schedules, buffers).run();
}

}  // namespace attune::test

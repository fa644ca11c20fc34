#include "tests/support/communicator_cases.hpp"

#include "libcore/buffers.hpp"
#include "libcore/element.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <type_traits>

namespace attune::test {

namespace {

using collectives::Collective;
using collectives::Communicator;
using collectives::Problem;

// Small whole numbers: sums, products, minima and maxima of up to 9 ranks are exact in every type, of 16-bit floats too.
template <class T>
T input_value(const Problem& problem, int rank, std::uint64_t i) {
    const auto r = static_cast<std::uint64_t>(rank);
    if (problem.op == core::Op::prod) return static_cast<T>(1 + (i + r) % 2);
    const std::uint64_t range = core::is_half<T> ? 53 : 101;
    return static_cast<T>(static_cast<std::int64_t>((i * 7 + r * 31) % range) - static_cast<std::int64_t>(range / 2));
}

template <class T>
T combine_bits(core::Op op, T a, T b) {
    if (op == core::Op::band) return static_cast<T>(a & b);
    return static_cast<T>(op == core::Op::bor ? a | b : a ^ b);
}

template <class T>
T combine(core::Op op, T a, T b) {
    switch (op) {
        case core::Op::sum:
        case core::Op::avg:
            return static_cast<T>(a + b);
        case core::Op::prod:
            return static_cast<T>(a * b);
        case core::Op::min:
            return std::min(a, b);
        case core::Op::max:
            return std::max(a, b);
        case core::Op::band:
        case core::Op::bor:
        case core::Op::bxor:
            if constexpr (std::is_integral_v<T>) return combine_bits(op, a, b);
    }
    return a;
}

template <class T>
T reduced(const Problem& problem, std::uint64_t i) {
    using Wide = core::Accumulator<T>;
    auto value = static_cast<Wide>(input_value<T>(problem, 0, i));
    for (int rank = 1; rank < problem.ranks; ++rank)
        value = combine(problem.op, value, static_cast<Wide>(input_value<T>(problem, rank, i)));
    if (problem.op == core::Op::avg) value = static_cast<Wide>(value / static_cast<Wide>(problem.ranks));
    return static_cast<T>(value);
}

// Element i of the rank's result.
template <class T>
T expected(const Problem& problem, int rank, std::uint64_t i) {
    switch (problem.collective) {
        case Collective::all_reduce:
            return reduced<T>(problem, i);
        case Collective::reduce_scatter:
            return reduced<T>(problem, static_cast<std::uint64_t>(rank) * problem.count + i);
        case Collective::all_gather:
            return input_value<T>(problem, static_cast<int>(i / problem.count), i % problem.count);
        case Collective::broadcast:
            return input_value<T>(problem, problem.root, i);
        case Collective::barrier:
            break;
    }
    return {};
}

template <class T>
void fill(const Problem& problem, int rank, T* input) {
    for (std::uint64_t i = 0; i < problem.input_elements(); ++i)
        input[i] = input_value<T>(problem, rank, i);
}

void run(Communicator& communicator, const Problem& problem, const core::Config& config, const void* input, void* output) {
    if (config.empty()) return communicator.run(problem, input, output);
    communicator.run(problem, config, input, output);
}

template <class T>
std::string differing(const Problem& problem, int rank, const T* output) {
    using Wide = core::Accumulator<T>;
    for (std::uint64_t i = 0; i < problem.output_elements(); ++i) {
        const auto got = static_cast<Wide>(output[i]), wanted = static_cast<Wide>(expected<T>(problem, rank, i));
        if (got != wanted) return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(wanted);
    }
    return {};
}

template <class T>
const std::byte* as_bytes(const T* elements) {
    return reinterpret_cast<const std::byte*>(elements);
}

template <class T>
std::string run_typed(Communicator& communicator, const Problem& problem, const core::Config& config) {
    const int rank = communicator.rank();
    core::Buffer large(problem.bytes()), separate(problem.in_place ? 0 : problem.input_elements() * sizeof(T));
    T* user = reinterpret_cast<T*>(large.data());
    T* input = problem.in_place ? user + collectives::in_place_input_offset(problem, rank) : reinterpret_cast<T*>(separate.data());
    T* output = problem.in_place ? user + collectives::in_place_output_offset(problem, rank) : user;
    fill(problem, rank, input);
    const std::vector<std::byte> before(as_bytes(input), as_bytes(input + problem.input_elements()));
    run(communicator, problem, config, problem.in_place ? user : input, user);
    if (!large.guards_intact() || !separate.guards_intact()) return "wrote outside the buffers";
    if (!problem.in_place && !std::equal(before.begin(), before.end(), as_bytes(input))) return "changed the input";
    return differing(problem, rank, output);
}

std::vector<core::Op> ops_for(Collective collective, core::DType dtype) {
    if (!collectives::reduces(collective)) return {core::Op::sum};
    std::vector<core::Op> ops;
    for (const core::Op op : core::all_ops())
        if (op != core::Op::avg && !core::unsupported(dtype, op)) ops.push_back(op);  // averages: when the generators end with a scale
    return ops;
}

std::vector<int> roots_for(Collective collective, int ranks) {
    if (!collectives::is_rooted(collective) || ranks == 1) return {0};
    return {0, ranks - 1};
}

std::vector<std::uint64_t> counts_for(Collective collective, std::span<const std::uint64_t> counts) {
    if (collective == Collective::barrier) return {0};
    return {counts.begin(), counts.end()};
}

}  // namespace

std::string Case::text() const {
    return std::string(collectives::name_of(problem.collective)) + " count " + std::to_string(problem.count) + " " + std::string(core::name_of(problem.dtype)) +
           " " + std::string(core::name_of(problem.op)) + " root " + std::to_string(problem.root) + (problem.in_place ? " in place" : "");
}

std::vector<Case> cases_for(int ranks, std::span<const std::uint64_t> counts) {
    std::vector<Case> cases;
    Problem problem;
    problem.ranks = ranks;
    for (const Collective collective : collectives::all_collectives())
        for (const core::DType dtype : core::all_dtypes())
            for (const core::Op op : ops_for(collective, dtype))
                for (const int root : roots_for(collective, ranks))
                    for (const std::uint64_t count : counts_for(collective, counts))
                        for (const bool in_place : {false, true}) {
                            problem.collective = collective;
                            problem.dtype = dtype;
                            problem.op = op;
                            problem.root = root;
                            problem.count = count;
                            problem.in_place = in_place;
                            cases.push_back({problem});
                        }
    return cases;
}

std::string run_case(Communicator& communicator, const Case& one, const core::Config& config) {
    return core::with_element_type(one.problem.dtype, [&]<class T>(T) { return run_typed<T>(communicator, one.problem, config); });
}

std::string run_cases(Communicator& communicator, std::span<const std::uint64_t> counts) {
    std::string first;
    for (const Case& one : cases_for(communicator.size(), counts)) {
        const std::string wrong = run_case(communicator, one);
        if (first.empty() && !wrong.empty()) first = one.text() + ": " + wrong;
    }
    return first;
}

std::uint64_t hash_of_rounding_results(Communicator& communicator) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{1009}, std::uint64_t{100'003}}) {
        Problem problem;
        problem.collective = Collective::all_reduce;
        problem.count = count;
        std::vector<float> input(count), output(count);
        for (std::uint64_t i = 0; i < count; ++i)
            input[i] = 1.0F / static_cast<float>(1 + i * 3 + static_cast<std::uint64_t>(communicator.rank()) * 17);
        communicator.run(problem, input.data(), output.data());
        for (const float value : output) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &value, sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3;
        }
    }
    return hash;
}

std::vector<std::string> on_threads(int ranks, const std::function<void(int)>& body) {
    std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                body(rank);
            } catch (const std::exception& error) {
                thrown[static_cast<std::size_t>(rank)] = error.what();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    return thrown;
}

}  // namespace attune::test

#include "tests/support/communicator_cases.hpp"

#include "collectives/amounts.hpp"
#include "collectives/sample_amounts.hpp"
#include "libcore/buffers.hpp"
#include "libcore/element.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <type_traits>

namespace attune::test {

namespace {

using collectives::Block;
using collectives::Collective;
using collectives::Communicator;
using collectives::Problem;
using collectives::Transfer;

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
T reduced(const Problem& problem, int first, int last, std::uint64_t i) {
    using Wide = core::Accumulator<T>;
    auto value = static_cast<Wide>(input_value<T>(problem, first, i));
    for (int rank = first + 1; rank <= last; ++rank)
        value = combine(problem.op, value, static_cast<Wide>(input_value<T>(problem, rank, i)));
    if (problem.op == core::Op::avg) value = static_cast<Wide>(value / static_cast<Wide>(problem.ranks));
    return static_cast<T>(value);
}

// `after` is the rank's whole output buffer (in place the one buffer), as it must be; `global` knows the amounts of all ranks.
template <class T>
struct Expectation {
    const Problem& global;
    int rank;
    std::vector<T>& after;
    std::uint64_t offset;  // of the output in it

    void folded(int first, int last, std::uint64_t element, std::uint64_t length) {
        for (std::uint64_t i = 0; i < length && first <= last; ++i)
            after[offset + i] = reduced<T>(global, first, last, element + i);
    }
    void copied(int owner, std::uint64_t element, const Block& block) {
        for (std::uint64_t i = 0; i < block.length; ++i)
            after[offset + block.offset + i] = input_value<T>(global, owner, element + i);
    }
    void blocks(std::uint64_t element) {
        for (int q = 0; q < global.ranks; ++q)
            copied(q, element, {static_cast<std::uint64_t>(q) * global.count, global.count});
    }

    void write() {
        const std::uint64_t own = static_cast<std::uint64_t>(rank) * global.count;
        const bool at_root = rank == global.root;
        switch (global.collective) {
            case Collective::all_reduce:
                return folded(0, global.ranks - 1, 0, global.count);
            case Collective::reduce:
                return folded(0, at_root ? global.ranks - 1 : -1, 0, global.count);
            case Collective::reduce_scatter:
                return folded(0, global.ranks - 1, own, global.count);
            case Collective::scan:
                return folded(0, rank, 0, global.count);
            case Collective::exscan:
                return folded(0, rank - 1, 0, global.count);
            case Collective::all_gather:
                return blocks(0);
            case Collective::gather:
                return at_root ? blocks(0) : void();
            case Collective::all_to_all:
                return blocks(own);
            case Collective::broadcast:
                return copied(global.root, 0, {0, global.count});
            case Collective::scatter:
                return copied(global.root, own, {0, global.count});
            case Collective::barrier:
                return;
            default:
                return with_amounts();
        }
    }

    void with_amounts() {
        const auto at = static_cast<std::size_t>(rank);
        const Problem view = view_of(global, rank);
        if (global.collective == Collective::reduce_scatter_v)
            return folded(0, global.ranks - 1, send_blocks(view, rank)[at].offset, send_blocks(view, rank)[at].length);
        if (global.collective == Collective::scatter_v) {
            const Block block = send_blocks(view_of(global, global.root), global.root)[at];
            return copied(global.root, block.offset, {0, block.length});
        }
        if (global.collective == Collective::send_recv || global.collective == Collective::batch_send_recv) return messages();
        const std::vector<Block> received = receive_blocks(view, rank);
        for (int q = 0; q < static_cast<int>(received.size()); ++q) {
            const bool exchanges = global.collective == Collective::all_to_all_v;
            copied(q, exchanges ? send_blocks(global, q)[at].offset : 0, received[static_cast<std::size_t>(q)]);
        }
    }

    // The k-th receive of a peer gets its k-th send to this rank.
    void messages() {
        std::vector<std::vector<Transfer>> sent(static_cast<std::size_t>(global.ranks));
        for (const Transfer& transfer : global.amounts->transfers)
            if (transfer.is_send && transfer.peer == rank) sent[static_cast<std::size_t>(transfer.rank)].push_back(transfer);
        for (const Transfer& transfer : global.amounts->transfers) {
            if (transfer.is_send || transfer.rank != rank) continue;
            std::vector<Transfer>& queue = sent[static_cast<std::size_t>(transfer.peer)];
            copied(transfer.peer, queue.front().offset, {transfer.offset, transfer.count});
            queue.erase(queue.begin());
        }
    }
};

void run(Communicator& communicator, const Problem& problem, const core::Config& config, const void* input, void* output) {
    if (config.empty()) return communicator.run(problem, input, output);
    communicator.run(problem, config, input, output);
}

template <class T>
std::string differing(std::span<const T> output, std::span<const T> expected) {
    using Wide = core::Accumulator<T>;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto got = static_cast<Wide>(output[i]), wanted = static_cast<Wide>(expected[i]);
        if (got != wanted) return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(wanted);
    }
    return {};
}

template <class T>
const std::byte* as_bytes(const T* elements) {
    return reinterpret_cast<const std::byte*>(elements);
}

template <class T>
std::string run_typed(Communicator& communicator, const Problem& global, const core::Config& config) {
    const int rank = communicator.rank();
    const Problem problem = view_of(global, rank);
    const std::uint64_t outputs = problem.in_place ? problem.in_place_elements() : problem.output_elements(rank);
    const std::uint64_t inputs = problem.input_elements(rank);
    core::Buffer large(outputs * sizeof(T)), separate(problem.in_place ? 0 : inputs * sizeof(T));
    T* user = reinterpret_cast<T*>(large.data());
    T* input = problem.in_place ? user + collectives::in_place_input_offset(problem, rank) : reinterpret_cast<T*>(separate.data());
    std::fill_n(user, outputs, static_cast<T>(77));
    for (std::uint64_t i = 0; i < inputs; ++i)
        input[i] = input_value<T>(problem, rank, i);
    const std::vector<std::byte> before(as_bytes(input), as_bytes(input + inputs));
    std::vector<T> after(user, user + outputs);
    Expectation<T>{global, rank, after, problem.in_place ? collectives::in_place_output_offset(problem, rank) : 0}.write();
    run(communicator, problem, config, problem.in_place ? user : input, user);
    if (!large.guards_intact() || !separate.guards_intact()) return "wrote outside the buffers";
    if (!problem.in_place && !std::equal(before.begin(), before.end(), as_bytes(input))) return "changed the input";
    return differing<T>({user, outputs}, after);
}

std::vector<core::Op> ops_for(Collective collective, core::DType dtype) {
    if (!collectives::reduces(collective)) return {core::Op::sum};
    std::vector<core::Op> ops;
    for (const core::Op op : core::all_ops())
        if (!core::unsupported(dtype, op) && (op != core::Op::avg || collectives::can_average(collective))) ops.push_back(op);
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

std::vector<bool> places_for(Collective collective) {
    if (!collectives::has_in_place(collective)) return {false};
    return {false, true};
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
                        for (const bool in_place : places_for(collective)) {
                            problem.collective = collective;
                            problem.dtype = dtype;
                            problem.op = op;
                            problem.root = root;
                            problem.in_place = in_place;
                            const auto shapes = collectives::all_amounts_shapes();
                            cases.push_back({collectives::with_sample_amounts(problem, shapes[cases.size() % shapes.size()], count)});
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

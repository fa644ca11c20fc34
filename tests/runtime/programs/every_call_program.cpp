// Every collective of the public header on real ranks, out of place and in place, with every root, and what wrong use says. Exit 0 = all right.
#include <attune/attune.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace {

using attune::Communicator;
using attune::Op;
using Values = std::vector<std::int64_t>;
using Sizes = std::vector<std::uint64_t>;

constexpr std::uint64_t n = 13;

struct Failure {
    std::string what;
};
void require(bool right, const std::string& what) {
    if (!right) throw Failure{what};
}

// Distinct by rank, block and element.
std::int64_t value(int rank, std::uint64_t block, std::uint64_t i) {
    return rank * 1'000'000 + static_cast<std::int64_t>(block * 1000 + i);
}
Values block_of(int rank, std::uint64_t block, std::uint64_t count = n) {
    Values values(count);
    for (std::uint64_t i = 0; i < count; ++i)
        values[i] = value(rank, block, i);
    return values;
}
void append(Values& all, const Values& more) {
    all.insert(all.end(), more.begin(), more.end());
}
// What a rank sends: a block for each rank.
Values blocks_of(int rank, int ranks) {
    Values all;
    for (int q = 0; q < ranks; ++q)
        append(all, block_of(rank, static_cast<std::uint64_t>(q)));
    return all;
}
Values sum_of_blocks(int first, int last, std::uint64_t block, std::uint64_t count = n) {
    Values sum(count);
    for (int r = first; r < last; ++r)
        for (std::uint64_t i = 0; i < count; ++i)
            sum[i] += value(r, block, i);
    return sum;
}

struct Ranks {
    Communicator& team;
    int rank = team.rank(), size = team.size();
    std::uint64_t blocks = static_cast<std::uint64_t>(size);
    std::ptrdiff_t own = rank * static_cast<std::ptrdiff_t>(n);  // of the rank's block in the larger buffer
};

void check_reductions(const Ranks& r) {
    const Values input = block_of(r.rank, 0), sum = sum_of_blocks(0, r.size, 0);
    Values output(n);
    r.team.all_reduce(input.data(), output.data(), n);
    require(output == sum, "all_reduce");
    for (int root = 0; root < r.size; ++root) {
        const bool is_root = r.rank == root;
        std::fill(output.begin(), output.end(), -1);
        r.team.reduce(input.data(), is_root ? output.data() : nullptr, n, root);
        require(output == (is_root ? sum : Values(n, -1)), "reduce");
        output = input;
        r.team.reduce(output.data(), n, root);
        require(output == (is_root ? sum : input), "reduce in place");
    }
    r.team.scan(input.data(), output.data(), n);
    require(output == sum_of_blocks(0, r.rank + 1, 0), "scan");
    output = input;
    r.team.scan(output.data(), n, Op::max);
    require(output == input, "scan max in place");
    std::fill(output.begin(), output.end(), -1);
    r.team.exscan(input.data(), output.data(), n);
    require(output == (r.rank == 0 ? Values(n, -1) : sum_of_blocks(0, r.rank, 0)), "exscan");
    output = input;
    r.team.exscan(output.data(), n);
    require(output == (r.rank == 0 ? input : sum_of_blocks(0, r.rank, 0)), "exscan in place");
    Values large = blocks_of(r.rank, r.size);
    r.team.reduce_scatter(large.data(), output.data(), n);
    require(output == sum_of_blocks(0, r.size, static_cast<std::uint64_t>(r.rank)), "reduce_scatter");
    r.team.reduce_scatter(large.data(), n);
    require(std::equal(output.begin(), output.end(), large.begin() + r.own), "reduce_scatter in place");
}

void check_rooted_moves(const Ranks& r, int root) {
    const bool is_root = r.rank == root;
    const Values own = block_of(r.rank, 0), sent = blocks_of(root, r.size);
    Values gathered(n * r.blocks, -1), part(n);
    r.team.gather(own.data(), is_root ? gathered.data() : nullptr, n, root);
    for (int q = 0; is_root && q < r.size; ++q)
        require(std::ranges::equal(block_of(q, 0), std::span(gathered).subspan(static_cast<std::uint64_t>(q) * n, n)), "gather");
    Values one(n * r.blocks, -1);
    std::copy(own.begin(), own.end(), one.begin() + r.own);
    r.team.gather(one.data(), n, root);
    require(!is_root || one == gathered, "gather in place");
    r.team.scatter(is_root ? sent.data() : nullptr, part.data(), n, root);
    require(part == block_of(root, static_cast<std::uint64_t>(r.rank)), "scatter");
    one = is_root ? sent : Values(n * r.blocks, -1);
    r.team.scatter(one.data(), n, root);
    require(std::equal(part.begin(), part.end(), one.begin() + r.own), "scatter in place");
    r.team.broadcast(is_root ? own.data() : nullptr, part.data(), n, root);
    require(part == block_of(root, 0), "broadcast");
}

void check_moves(const Ranks& r) {
    for (int root = 0; root < r.size; ++root)
        check_rooted_moves(r, root);
    Values expected, all(n * r.blocks);
    for (int q = 0; q < r.size; ++q)
        append(expected, block_of(q, static_cast<std::uint64_t>(r.rank)));
    Values sent = blocks_of(r.rank, r.size);
    r.team.all_to_all(sent.data(), all.data(), n);
    require(all == expected, "all_to_all");
    r.team.all_to_all(sent.data(), n);
    require(sent == expected, "all_to_all in place");
    expected.clear();
    for (int q = 0; q < r.size; ++q)
        append(expected, block_of(q, 0));
    r.team.all_gather(block_of(r.rank, 0).data(), all.data(), n);
    require(all == expected, "all_gather");
}

// Rank q has q + 1 elements, the last of several ranks none.
Sizes uneven(int ranks) {
    Sizes sizes;
    for (int q = 0; q < ranks; ++q)
        sizes.push_back(q > 0 && q + 1 == ranks ? 0 : static_cast<std::uint64_t>(q) + 1);
    return sizes;
}

void check_equal_counts(const Ranks& r) {
    const Sizes sizes = uneven(r.size);
    const std::uint64_t own = sizes[static_cast<std::size_t>(r.rank)];
    Values expected, summed, input;
    std::uint64_t before = 0;
    for (int q = 0; q < r.size; ++q) {
        const std::uint64_t count = sizes[static_cast<std::size_t>(q)];
        if (q < r.rank) before += count;
        append(expected, block_of(q, 7, count));
        append(summed, sum_of_blocks(0, r.size, static_cast<std::uint64_t>(q), count));
        append(input, block_of(r.rank, static_cast<std::uint64_t>(q), count));
    }
    const Values mine = block_of(r.rank, 7, own);
    Values all(expected.size()), part(own);
    r.team.all_gather_v(mine.data(), all.data(), sizes);
    require(all == expected, "all_gather_v");
    std::fill(all.begin(), all.end(), -1);
    std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(before));
    r.team.all_gather_v(all.data(), sizes);
    require(all == expected, "all_gather_v in place");
    r.team.reduce_scatter_v(input.data(), part.data(), sizes);
    require(std::ranges::equal(part, std::span(summed).subspan(before, own)), "reduce_scatter_v");
    r.team.reduce_scatter_v(input.data(), sizes);
    require(std::ranges::equal(part, std::span(input).subspan(before, own)), "reduce_scatter_v in place");
}

void check_own_counts(const Ranks& r) {
    const Sizes sizes = uneven(r.size);
    const std::uint64_t own = sizes[static_cast<std::size_t>(r.rank)];
    for (int root = 0; root < r.size; ++root) {
        const attune::Counts counts = r.rank == root ? attune::Counts(sizes) : attune::Counts();
        Values all, sent, part(own);
        for (int q = 0; q < r.size; ++q) {
            append(all, block_of(q, 3, sizes[static_cast<std::size_t>(q)]));
            append(sent, block_of(root, static_cast<std::uint64_t>(q), sizes[static_cast<std::size_t>(q)]));
        }
        Values got(all.size());
        r.team.gather_v(block_of(r.rank, 3, own).data(), own, got.data(), counts, root);
        require(got == (r.rank == root ? all : Values(all.size())), "gather_v");
        r.team.scatter_v(sent.data(), counts, part.data(), own, root);
        require(part == block_of(root, static_cast<std::uint64_t>(r.rank), own), "scatter_v");
    }
}

// Rank a sends (a + b) mod 3 elements to rank b, with a gap of one element after each block.
void check_all_to_all_v(const Ranks& r) {
    Sizes send, receive, send_offsets, receive_offsets, matrix;
    Values input, expected, packed, packed_expected;
    for (int q = 0; q < r.size; ++q) {
        const auto count = static_cast<std::uint64_t>((r.rank + q) % 3);
        send.push_back(count);
        receive.push_back(count);
        send_offsets.push_back(input.size());
        receive_offsets.push_back(expected.size());
        append(packed, block_of(r.rank, static_cast<std::uint64_t>(q), count));
        append(input, block_of(r.rank, static_cast<std::uint64_t>(q), count));
        input.push_back(-1);
        append(packed_expected, block_of(q, static_cast<std::uint64_t>(r.rank), count));
        append(expected, block_of(q, static_cast<std::uint64_t>(r.rank), count));
        expected.push_back(-2);
    }
    for (int a = 0; a < r.size; ++a)
        for (int b = 0; b < r.size; ++b)
            matrix.push_back(static_cast<std::uint64_t>((a + b) % 3));
    Values output(expected.size(), -2), tight(packed_expected.size());
    r.team.all_to_all_v(input.data(), send, output.data(), receive, send_offsets, receive_offsets);
    require(output == expected, "all_to_all_v with offsets");
    r.team.all_to_all_v(packed.data(), send, tight.data(), receive);
    require(tight == packed_expected, "all_to_all_v");
    std::fill(tight.begin(), tight.end(), 0);
    r.team.all_to_all_v(packed.data(), tight.data(), matrix);
    require(tight == packed_expected, "all_to_all_v of a known matrix");
}

void check_messages(const Ranks& r) {
    const int next = (r.rank + 1) % r.size, previous = (r.rank + r.size - 1) % r.size;
    const Values input = block_of(r.rank, 5);
    Values output(n, -1);
    if (r.size > 1) {
        r.team.send_recv(input.data(), next, output.data(), previous, n);
        require(output == block_of(previous, 5), "send_recv around the ring");
        std::fill(output.begin(), output.end(), -1);
    }
    const bool sends = r.rank == 0 && r.size > 1, receives = r.rank == r.size - 1 && r.size > 1;
    r.team.send_recv(input.data(), sends ? r.size - 1 : -1, output.data(), receives ? 0 : -1, n);
    require(output == (receives ? block_of(0, 5) : Values(n, -1)), "send_recv of one pair");
    // Everyone to everyone, receives first: element q of the input goes to rank q.
    std::vector<attune::Transfer> transfers;
    for (int q = 0; q < r.size; ++q)
        if (q != r.rank) transfers.push_back({false, q, 1, static_cast<std::uint64_t>(q)});
    for (int q = 0; q < r.size; ++q)
        if (q != r.rank) transfers.push_back({true, q, 1, static_cast<std::uint64_t>(q)});
    Values from(r.blocks, -1), to(r.blocks);
    for (std::uint64_t q = 0; q < r.blocks; ++q)
        to[q] = value(r.rank, q, 0);
    r.team.batch_send_recv(to.data(), from.data(), transfers);
    for (int q = 0; q < r.size; ++q)
        require(from[static_cast<std::size_t>(q)] == (q == r.rank ? -1 : value(q, static_cast<std::uint64_t>(r.rank), 0)), "batch_send_recv");
}

template <class T>
void check_integers(const Ranks& r) {
    T data[3] = {static_cast<T>(r.rank + 1), static_cast<T>(-1), static_cast<T>(1 << (r.rank % 7))};
    T out[3];
    r.team.all_reduce(data, out, 3);
    T sum = 0, bits = 0;
    for (int q = 0; q < r.size; ++q) {
        sum = static_cast<T>(sum + q + 1);
        bits = static_cast<T>(bits | 1 << (q % 7));
    }
    require(out[0] == sum && out[1] == static_cast<T>(-r.size), "all_reduce of integers");
    r.team.all_reduce(data, out, 3, Op::bor);
    require(out[1] == static_cast<T>(-1) && out[2] == bits, "bor");
    r.team.all_reduce(data, out, 3, Op::bxor);
    require(out[1] == static_cast<T>(r.size % 2 == 0 ? 0 : -1), "bxor");
    r.team.all_reduce(data, out, 3, Op::band);
    require(out[1] == static_cast<T>(-1) && (out[2] == bits) == (r.size == 1), "band");
}

// Sums of ones, by their bits.
void check_sixteen_bit_floats(const Ranks& r) {
    constexpr std::array<std::uint16_t, 9> halves = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
    std::vector<attune::float16> half(n, {0x3c00});
    std::vector<attune::bfloat16> brain(n, {0x3f80});
    r.team.all_reduce(half.data(), n);
    r.team.all_reduce(brain.data(), n);
    const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(r.size));
    for (std::uint64_t i = 0; i < n; ++i) {
        require(half[i].bits == halves[static_cast<std::size_t>(r.size)], "float16");
        require(brain[i].bits == wide >> 16, "bfloat16");
    }
}

void check_types(const Ranks& r) {
    check_integers<std::int8_t>(r);
    check_integers<std::uint8_t>(r);
    check_integers<std::int16_t>(r);
    check_integers<std::uint16_t>(r);
    check_integers<std::int32_t>(r);
    check_integers<std::uint32_t>(r);
    check_integers<long>(r);
    check_integers<unsigned long long>(r);
    check_sixteen_bit_floats(r);
    double mean = r.rank, means[2] = {1, 3};
    r.team.all_reduce(&mean, 1, Op::avg);
    require(mean == (r.size - 1) / 2.0, "avg");
    r.team.all_reduce(means, 2, Op::avg);
    require(means[0] == 1 && means[1] == 3, "an average of equal numbers is the number");
}

void check_prepared(const Ranks& r) {
    Values buffer(n), output(n);
    attune::Prepared sum = r.team.prepare(attune::calls::all_reduce(buffer.data(), output.data(), n));
    for (int turn = 0; turn < 5; ++turn) {
        std::fill(buffer.begin(), buffer.end(), turn);
        attune::Request request = sum.start();
        request.wait();
        require(output == Values(n, turn * r.size), "a prepared call");
    }
    sum.run();
    attune::Request scan = r.team.start_scan(buffer.data(), output.data(), n);
    scan.wait();
    require(output == Values(n, 4 * (r.rank + 1)), "start_scan");
}

void expect_usage(const std::string& part, const std::function<void()>& action) {
    try {
        action();
    } catch (const attune::Error& error) {
        require(error.exit_code() == 2, part + ": exit code " + std::to_string(error.exit_code()));
        require(std::string(error.what()).find(part) != std::string::npos, "'" + part + "' is not in: " + error.what());
        require(std::string(error.what()).find('\n') == std::string::npos, "more than one line");
        return;
    }
    throw Failure{"no error that says " + part};
}

// All ranks do the same wrong thing, which is refused before anything is sent.
void check_wrong_use(const Ranks& r) {
    std::int32_t data[4] = {};
    expect_usage("null", [&] { r.team.all_reduce(static_cast<const std::int32_t*>(nullptr), data, 4); });
    expect_usage("root 99", [&] { r.team.broadcast(data, 4, 99); });
    expect_usage("root -1", [&] { r.team.gather(data, data, 1, -1); });
    expect_usage("avg does not work on int32", [&] { r.team.all_reduce(data, 4, Op::avg); });
    expect_usage("dtype 200", [&] { r.team.run({attune::Collective::all_reduce, 4, static_cast<attune::DType>(200), Op::sum, 0, true}, data, data); });
    expect_usage("op 77", [&] { r.team.run({attune::Collective::all_reduce, 4, attune::DType::int32, static_cast<Op>(77), 0, true}, data, data); });
    expect_usage("collective 33", [&] { r.team.run({static_cast<attune::Collective>(33), 4}, data, data); });
    expect_usage("overlap", [&] { r.team.scan(data, data + 1, 3); });
    const Sizes too_many(r.blocks + 1, 1);
    expect_usage("all_gather_v", [&] { r.team.all_gather_v(data, data + 2, too_many); });
    expect_usage("send_recv", [&] { r.team.send_recv(data, r.size, data + 2, -1, 1); });
}

int run() {
    Communicator team;
    const Ranks ranks{team};
    check_reductions(ranks);
    check_moves(ranks);
    check_equal_counts(ranks);
    check_own_counts(ranks);
    check_all_to_all_v(ranks);
    check_messages(ranks);
    check_types(ranks);
    check_prepared(ranks);
    check_wrong_use(ranks);
    team.barrier();
    return 0;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const attune::Error& error) {
        std::fprintf(stderr, "every_call_program: %s\n", error.what());
        return error.exit_code();
    } catch (const Failure& failure) {
        std::fprintf(stderr, "every_call_program: wrong: %s\n", failure.what.c_str());
        return 1;
    }
}

// A program as users write it: every call of the public header, blocking and not, in one buffer and in two. Exit 0 = all right.
#include <attune/attune.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using attune::Communicator;
using attune::Op;
using attune::Request;

struct Failure {
    std::string what;
};
void require(bool right, const char* what) {
    if (!right) throw Failure{what};
}

template <class T>
void check_type(Communicator& team) {
    const auto p = static_cast<std::uint64_t>(team.size());
    const T rank = static_cast<T>(team.rank()), ranks = static_cast<T>(p);
    const T sum = ranks * (ranks + 1) / 2;  // of rank + 1
    constexpr std::uint64_t n = 37;
    std::vector<T> small(n, rank + 1), out(n), large(n * p);

    team.all_reduce(small.data(), out.data(), n);
    require(out == std::vector<T>(n, sum), "all_reduce");
    team.all_reduce(small.data(), out.data(), n, Op::max);
    require(out == std::vector<T>(n, ranks), "all_reduce max");
    out.assign(n, rank + 1);
    team.all_reduce(out.data(), n, Op::min);
    require(out == std::vector<T>(n, 1), "all_reduce min in place");

    team.all_gather(small.data(), large.data(), n);
    for (std::uint64_t i = 0; i < large.size(); ++i)
        require(large[i] == static_cast<T>(i / n + 1), "all_gather");
    std::vector<T> gathered(n * p);
    std::copy(small.begin(), small.end(), gathered.begin() + team.rank() * static_cast<std::ptrdiff_t>(n));
    team.all_gather(gathered.data(), n);
    require(gathered == large, "all_gather in place");

    team.reduce_scatter(large.data(), out.data(), n);
    require(out == std::vector<T>(n, ranks * (rank + 1)), "reduce_scatter");
    team.reduce_scatter(large.data(), n);
    require(large[static_cast<std::uint64_t>(team.rank()) * n] == ranks * (rank + 1), "reduce_scatter in place");

    const int root = team.size() - 1;
    team.broadcast(small.data(), out.data(), n, root);
    require(out == std::vector<T>(n, ranks), "broadcast");
    out.assign(n, rank);
    team.broadcast(out.data(), n, root);
    require(out == std::vector<T>(n, ranks - 1), "broadcast in place");
}

void check_requests(Communicator& team) {
    const auto p = static_cast<std::int64_t>(team.size());
    std::vector<std::int64_t> a(1000, 1), b(1000), c(10, team.rank()), all(10 * static_cast<std::size_t>(p)), share(10), d(10, 3), e(7, team.rank());
    std::vector<std::int64_t> blocks(10 * static_cast<std::size_t>(p), 2);
    {
        Request sum = team.start_all_reduce(a.data(), b.data(), a.size());
        Request gather = team.start_all_gather(c.data(), all.data(), c.size());
        Request scatter = team.start_reduce_scatter(blocks.data(), share.data(), share.size());
        Request copy = team.start_broadcast(e.data(), e.size(), 0);
        Request in_place = team.start_all_reduce(d.data(), d.size());
        Request meeting = team.start_barrier();
        copy.wait();
        while (!sum.done()) {
        }
        require(sum.done(), "a done request stays done");
        Request moved = std::move(gather);
        moved.wait();
        meeting.wait();
        scatter = Request();  // waits
        require(share == std::vector<std::int64_t>(10, 2 * p), "start_reduce_scatter");
    }  // in_place is waited for here
    require(b == std::vector<std::int64_t>(1000, p), "start_all_reduce");
    require(all[static_cast<std::size_t>(10 * p - 1)] == p - 1, "start_all_gather");
    require(d == std::vector<std::int64_t>(10, 3 * p), "start_all_reduce in place");
    require(e == std::vector<std::int64_t>(7, 0), "start_broadcast");
}

void check_answers(Communicator& team) {
    const attune::Explanation why = team.explain({attune::Collective::all_reduce, 16});
    require(!why.config.empty() && !why.algorithm.empty() && !why.reason.empty(), "explain");
    require(why.source == "default" || why.source == "tuned" || why.source == "forced", "explain source");
    require(team.summary().find(" calls: ") != std::string::npos, "summary");
    std::vector<float> buffer(8);
    int code = 0;
    try {
        team.all_reduce(buffer.data(), buffer.data() + 1, 4);
    } catch (const attune::Error& error) {
        code = error.exit_code();
    }
    require(code == 2, "overlapping buffers are refused");
    code = 0;
    try {
        team.explain({attune::Collective::all_reduce, 1, static_cast<attune::DType>(99)});
    } catch (const attune::Error& error) {
        code = error.exit_code();
        require(std::strstr(error.what(), "dtype 99") != nullptr, "the unknown type is named");
    }
    require(code == 2, "an unknown type is refused");
}

int run() {
    Communicator team;
    check_type<float>(team);
    check_type<double>(team);
    check_type<std::int32_t>(team);
    check_type<std::int64_t>(team);
    check_requests(team);
    check_answers(team);
    team.barrier();
    Communicator second;  // a second team of the same ranks
    check_type<float>(second);
    team = std::move(second);
    team.barrier();
    int code = 0;
    try {
        second.barrier();  // NOLINT(bugprone-use-after-move): that is what is tried
    } catch (const attune::Error& error) {
        code = error.exit_code();
    }
    require(code == 2, "a moved-from communicator says so");
    return 0;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const attune::Error& error) {
        std::fprintf(stderr, "runtime_program: %s\n", error.what());
        return error.exit_code();
    } catch (const Failure& failure) {
        std::fprintf(stderr, "runtime_program: wrong: %s\n", failure.what.c_str());
        return 1;
    }
}

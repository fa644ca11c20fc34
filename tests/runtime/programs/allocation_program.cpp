// Counts what repeated calls of the public headers allocate; tests/support/allocation_count.cpp replaces operator new, for the library as well.
// Prints the name of each kind of call that allocated; exit 1 when there is one.
#include "tests/support/allocation_count.hpp"

#include <attune/attune.h>
#include <attune/attune.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using attune::Communicator;

bool allocates(const char* what, const auto& call) {
    for (int warm = 0; warm < 8; ++warm)  // all slots of calls in flight have been used, all caches filled
        call();
    const std::uint64_t before = attune::test::allocations();
    for (int turn = 0; turn < 20; ++turn)
        call();
    const std::uint64_t made = attune::test::allocations() - before;
    if (made != 0) std::printf("%s allocates %llu times in 20 calls\n", what, static_cast<unsigned long long>(made));
    return made != 0;
}

// An explanation is made of strings: if none is counted, nothing of the library is.
bool sees_the_library(Communicator& team) {
    const std::uint64_t before = attune::test::allocations();
    team.explain({attune::Collective::all_reduce, 100});
    return attune::test::allocations() > before;
}

// Of 7 elements for each rank, also at the root of gather_v and scatter_v.
struct Buffers {
    explicit Buffers(const Communicator& team)
        : blocks(static_cast<std::uint64_t>(team.size())),
          root(team.rank() == 0),
          input(100 * blocks),
          output(100 * blocks),
          each(blocks, 7),
          matrix(blocks * blocks, 7) {}
    attune::Counts at_root() const { return root ? attune::Counts(each) : attune::Counts(); }

    std::uint64_t blocks;
    bool root;
    std::vector<float> input, output;
    std::vector<std::uint64_t> each, matrix;
};

bool any_of_vectors(Communicator& team, Buffers& b) {
    float *const in = b.input.data(), *const out = b.output.data();
    bool any = allocates("all_reduce", [&] { team.all_reduce(in, out, 100); });
    any |= allocates("all_reduce in place", [&] { team.all_reduce(out, 100); });
    any |= allocates("broadcast", [&] { team.broadcast(out, 100, 0); });
    any |= allocates("reduce", [&] { team.reduce(in, b.root ? out : nullptr, 100, 0); });
    any |= allocates("scan", [&] { team.scan(in, out, 100); });
    any |= allocates("exscan", [&] { team.exscan(in, out, 100); });
    any |= allocates("barrier", [&] { team.barrier(); });
    return any;
}

bool any_of_blocks(Communicator& team, Buffers& b) {
    float *const in = b.input.data(), *const out = b.output.data();
    bool any = allocates("all_gather", [&] { team.all_gather(in, out, 100); });
    any |= allocates("reduce_scatter", [&] { team.reduce_scatter(in, out, 100); });
    any |= allocates("gather", [&] { team.gather(in, b.root ? out : nullptr, 100, 0); });
    any |= allocates("scatter", [&] { team.scatter(b.root ? in : nullptr, out, 100, 0); });
    any |= allocates("all_to_all", [&] { team.all_to_all(in, out, 100); });
    any |= allocates("all_to_all in place", [&] { team.all_to_all(out, 100); });
    return any;
}

bool any_of_amounts(Communicator& team, Buffers& b) {
    float *const in = b.input.data(), *const out = b.output.data();
    const int next = (team.rank() + 1) % team.size(), previous = (team.rank() + team.size() - 1) % team.size();
    const std::vector<attune::Transfer> transfers = {{true, next, 3, 0}, {false, previous, 3, 0}};
    bool any = allocates("all_gather_v", [&] { team.all_gather_v(in, out, b.each); });
    any |= allocates("reduce_scatter_v", [&] { team.reduce_scatter_v(in, out, b.each); });
    any |= allocates("gather_v", [&] { team.gather_v(in, 7, out, b.at_root(), 0); });
    any |= allocates("scatter_v", [&] { team.scatter_v(in, b.at_root(), out, 7, 0); });
    any |= allocates("all_to_all_v", [&] { team.all_to_all_v(in, b.each, out, b.each); });
    any |= allocates("all_to_all_v of a known matrix", [&] { team.all_to_all_v(in, out, b.matrix); });
    any |= allocates("send_recv", [&] { team.send_recv(in, next, out, previous, 9); });
    any |= allocates("batch_send_recv", [&] { team.batch_send_recv(in, out, transfers); });
    return any;
}

// Long messages take other ways than short ones: fragments, and each protocol of the transport.
bool any_of_long(Communicator& team) {
    std::vector<float> input(300'000), output(300'000);
    bool any = allocates("a long all_reduce", [&] { team.all_reduce(input.data(), output.data(), 300'000); });
    any |= allocates("a long broadcast", [&] { team.broadcast(output.data(), 300'000, 0); });
    return any;
}

bool any_of_handles(Communicator& team, Buffers& b) {
    float *const in = b.input.data(), *const out = b.output.data();
    attune::Prepared sum = team.prepare(attune::calls::all_reduce(out, 100));
    attune::Prepared exchange = team.prepare(attune::calls::all_to_all_v(in, b.each, out, b.each));
    bool any = allocates("start_broadcast", [&] { team.start_broadcast(in, 100, 0).wait(); });
    any |= allocates("a prepared call", [&] { sum.start().wait(); });
    any |= allocates("a prepared call with amounts", [&] { exchange.run(); });
    any |= allocates("two calls at once", [&] {
        attune::Request first = team.start_all_reduce(in, out, 50), second = team.start_broadcast(out + 50, 50, 0);
        second.wait();
        first.wait();
    });
    attune::Group group;
    any |= allocates("a group of calls", [&] {
        group.add(team, attune::calls::all_reduce(in, out, 50));
        group.add(team, attune::calls::broadcast(out + 50, 50, 0));
        group.run();
    });
    return any;
}

bool any_of_cxx(Communicator& team) {
    Buffers buffers(team);
    bool any = any_of_vectors(team, buffers);
    any |= any_of_blocks(team, buffers);
    any |= any_of_amounts(team, buffers);
    any |= any_of_handles(team, buffers);
    any |= any_of_long(team);
    return any;
}

bool any_of_c() {
    attune_communicator* team = nullptr;
    attune_prepared* prepared = nullptr;
    attune_call call = ATTUNE_CALL;
    call.collective = ATTUNE_ALL_REDUCE;
    call.count = 100;
    std::vector<float> buffer(100);
    if (attune_open(nullptr, &team) != 0 || attune_prepare(team, &call, ATTUNE_IN_PLACE, buffer.data(), &prepared) != 0) return true;
    bool any = allocates("attune_all_reduce", [&] { attune_all_reduce(team, ATTUNE_IN_PLACE, buffer.data(), 100, ATTUNE_FLOAT32, ATTUNE_MAX); });
    any |= allocates("attune_start_prepared", [&] {
        attune_request* request = nullptr;
        attune_start_prepared(prepared, &request);
        attune_wait(request);
    });
    attune_barrier(team);  // a rank that has left is looked at by those that wait, which allocates
    attune_free_prepared(prepared);
    attune_close(team);
    return any;
}

}  // namespace

int main() {
    try {
        Communicator team;
        if (!sees_the_library(team)) {
            std::puts("the allocations of the library are not counted");
            return 1;
        }
        Communicator other = team.dup();
        const bool cxx = any_of_cxx(team), of_other = any_of_cxx(other);
        return any_of_c() || cxx || of_other ? 1 : 0;
    } catch (const attune::Error& error) {
        std::fprintf(stderr, "allocation_program: %s\n", error.what());
        return error.exit_code();
    }
}

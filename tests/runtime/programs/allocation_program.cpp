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

bool any_of_cxx(Communicator& team) {
    const auto ranks = static_cast<std::uint64_t>(team.size());
    std::vector<float> input(100 * ranks), output(100 * ranks);
    const std::vector<std::uint64_t> counts(ranks, 7);
    const int next = (team.rank() + 1) % team.size(), previous = (team.rank() + team.size() - 1) % team.size();
    const std::vector<attune::Transfer> transfers = {{true, next, 3, 0}, {false, previous, 3, 0}};
    attune::Prepared prepared = team.prepare(attune::calls::all_reduce(output.data(), 100));
    bool any = allocates("all_reduce", [&] { team.all_reduce(input.data(), output.data(), 100); });
    any |= allocates("start_broadcast", [&] { team.start_broadcast(input.data(), 100, 0).wait(); });
    any |= allocates("all_gather_v", [&] { team.all_gather_v(input.data(), output.data(), counts); });
    any |= allocates("all_to_all_v", [&] { team.all_to_all_v(input.data(), counts, output.data(), counts); });
    any |= allocates("gather_v", [&] { team.gather_v(input.data(), 7, output.data(), team.rank() == 0 ? attune::Counts(counts) : attune::Counts(), 0); });
    any |= allocates("send_recv", [&] { team.send_recv(input.data(), next, output.data(), previous, 9); });
    any |= allocates("batch_send_recv", [&] { team.batch_send_recv(input.data(), output.data(), transfers); });
    any |= allocates("a prepared call", [&] { prepared.start().wait(); });
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
        const bool cxx = any_of_cxx(team);
        return any_of_c() || cxx ? 1 : 0;
    } catch (const attune::Error& error) {
        std::fprintf(stderr, "allocation_program: %s\n", error.what());
        return error.exit_code();
    }
}

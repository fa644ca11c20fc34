#include "libcore/topology.hpp"

#include "libcore/cpuid.hpp"
#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sched.h>
#include <set>
#include <thread>

namespace attune::core {
namespace {

TEST(CpuSet, TextIsSortedRanges) {
    EXPECT_EQ(CpuSet{}.text(), "");
    EXPECT_EQ((CpuSet{{3}}.text()), "3");
    EXPECT_EQ((CpuSet{{8, 0, 2, 1, 3}}.text()), "0-3,8");
    EXPECT_EQ((CpuSet{{0, 2, 4}}.text()), "0,2,4");
    EXPECT_EQ((CpuSet{{5, 5, 6}}.text()), "5-6");
}

TEST(CpuSet, ParseOfTextIsTheIdentity) {
    for (const std::string_view text : {"", "0", "0-3,8", "0,2,4", "10-20,22-23,65535"})
        EXPECT_EQ(CpuSet::parse(text).text(), text);
    EXPECT_EQ(CpuSet::parse("0-3,8").cpus, (std::vector<int>{0, 1, 2, 3, 8}));
}

TEST(CpuSet, RefusesWhatIsNoSet) {
    for (const std::string_view text :
         {"x", "-1", "1-", "1--2", "3-1", "1,1", "2,1", "0-3,3", ",", "1,", " 1", "65536", "0-99999999", "0-999999999999999999", "1-2-3"}) {
        tests::expect_error(ErrorCode::usage, "CPU set '", [text] { CpuSet::parse(text); });
    }
}

TEST(AllowedCpus, AreTheKernelsSet) {
    const CpuSet allowed = allowed_cpus();
    ASSERT_FALSE(allowed.cpus.empty());
    EXPECT_EQ(CpuSet::parse(allowed.text()).cpus.size(), allowed.cpus.size()) << "no CPU twice";
    cpu_set_t kernel{};
    if (::sched_getaffinity(0, sizeof kernel, &kernel) != 0) GTEST_SKIP() << "more than 1024 CPUs";
    EXPECT_EQ(static_cast<std::size_t>(CPU_COUNT(&kernel)), allowed.cpus.size());
    for (const int cpu : allowed.cpus)
        EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(cpu), &kernel)) << cpu;
}

// In a thread of its own, so the test program's own binding stays.
TEST(Bind, AThreadRunsWhereItIsToldAndMayNotLeave) {
    std::jthread([] {
        for (const int cpu : allowed_cpus().cpus) {
            bind_this_thread(cpu);
            EXPECT_EQ(allowed_cpus().cpus, std::vector<int>{cpu});
            EXPECT_EQ(::sched_getcpu(), cpu);
        }
    }).join();
}

TEST(Bind, AProcessIsBoundWithAllItsThreads) {
    const CpuSet before = allowed_cpus();
    const CpuSet first{{before.cpus.front()}};
    bind_this_process(first);
    EXPECT_EQ(allowed_cpus(), first);
    std::jthread([&first] { EXPECT_EQ(allowed_cpus(), first); }).join();
    bind_this_process(before);
    EXPECT_EQ(allowed_cpus(), before);
}

TEST(Bind, AnImpossibleSetIsNamed) {
    tests::expect_error(ErrorCode::failure, "'65535'", [] { bind_this_process(CpuSet{{65535}}); });
    tests::expect_error(ErrorCode::failure, "empty CPU set", [] { bind_this_process(CpuSet{}); });
    tests::expect_error(ErrorCode::failure, "numbers go from 0", [] { bind_this_thread(-1); });
    tests::expect_error(ErrorCode::failure, "numbers go from 0", [] { bind_this_thread(1 << 20); });
}

TEST(Topology, DescribesThisMachineConsistently) {
    const Topology topology = discover_topology();
    EXPECT_GE(topology.sockets, 1);
    EXPECT_GE(topology.numa_nodes, 1);
    EXPECT_GE(topology.cores_per_l3, 1);
    EXPECT_EQ(topology.allowed, allowed_cpus());
    EXPECT_EQ(topology.instruction_set, supported_instruction_set());
    const std::set<std::string> known = {"avx512", "avx2", "generic"};
    EXPECT_TRUE(known.contains(topology.instruction_set)) << topology.instruction_set;
    if (topology.l1d_bytes > 0 && topology.l2_bytes > 0) {
        EXPECT_LE(topology.l1d_bytes, topology.l2_bytes);
    }
    const Topology again = discover_topology();
    EXPECT_EQ(again.cpu_name, topology.cpu_name);
    EXPECT_EQ(again.l3_bytes, topology.l3_bytes);
}

#if defined(__x86_64__)
TEST(Topology, NamesTheCpu) {
    const Topology topology = discover_topology();
    EXPECT_EQ(topology.cpu_vendor.size(), 12U) << topology.cpu_vendor;
    EXPECT_GT(topology.cpu_family, 0);
    EXPECT_EQ(topology.cpu_name, read_cpu_identity().name);
}
#endif

TEST(Context, HasNamesOnceAndNoEmptyValues) {
    std::set<std::string> names;
    for (const auto& [name, value] : discover_context()) {
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_FALSE(value.empty()) << name;
        EXPECT_EQ(value.find('\n'), std::string::npos) << name;
    }
    EXPECT_TRUE(names.contains("kernel"));
    EXPECT_TRUE(names.contains("host"));
    EXPECT_TRUE(names.contains("compiler"));
}

}  // namespace
}  // namespace attune::core

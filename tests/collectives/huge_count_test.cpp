// More than 2^31 elements: sparse buffers, whose zeros need no memory until they are written.
#include "collectives/communicator.hpp"
#include "tests/support/communicator_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace attune::collectives {
namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

class SparseBuffer {
public:
    explicit SparseBuffer(std::uint64_t bytes) : bytes_(bytes) {
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        data_ = memory == MAP_FAILED ? nullptr : static_cast<std::int8_t*>(memory);
        // Huge pages would make every zero that is read a page of its own.
        if (data_ != nullptr) ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    }
    ~SparseBuffer() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }
    SparseBuffer(const SparseBuffer&) = delete;
    SparseBuffer& operator=(const SparseBuffer&) = delete;
    std::int8_t* data() const noexcept { return data_; }

private:
    std::int8_t* data_ = nullptr;
    std::uint64_t bytes_;
};

std::uint64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    for (std::string name, unit, line; std::getline(file, line);)
        if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
    return 0;
}

// Marks around the places where 31 and 32 bits end, and at both ends.
std::vector<std::uint64_t> marks_of(std::uint64_t count) {
    std::vector<std::uint64_t> marks;
    for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{1}, GiB, 2 * GiB - 1, 2 * GiB, 2 * GiB + 1, count / 2, count - 1})
        if (place < count) marks.push_back(place);
    std::ranges::sort(marks);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    return marks;
}

std::uint64_t nonzero(const std::int8_t* data, std::uint64_t count) {
    return count - static_cast<std::uint64_t>(std::count(data, data + count, std::int8_t{0}));
}

void run_on_two(const Problem& problem, std::uint64_t output_count, std::int8_t (*expected)(std::uint64_t place, std::uint64_t count)) {
    auto team = Communicator::make_local(2, CommunicatorOptions());
    const auto thrown = test::on_threads(2, [&](int rank) {
        const SparseBuffer input(problem.count), output(output_count);
        ASSERT_NE(input.data(), nullptr);
        ASSERT_NE(output.data(), nullptr);
        for (const std::uint64_t place : marks_of(problem.count))
            input.data()[place] = static_cast<std::int8_t>(rank + 1);
        team[static_cast<std::size_t>(rank)]->run(problem, input.data(), output.data());
        std::uint64_t marked = 0;
        for (std::uint64_t block = 0; block < output_count / problem.count; ++block)
            for (const std::uint64_t place : marks_of(problem.count)) {
                const std::uint64_t at = block * problem.count + place;
                EXPECT_EQ(output.data()[at], expected(at, problem.count)) << "rank " << rank << " element " << at;
                ++marked;
            }
        EXPECT_EQ(nonzero(output.data(), output_count), marked);
    });
    EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(SlowHugeCounts, AnAllReduceOfMoreThanTwoToThe31ElementsIsRight) {
    if (available_bytes() < 7 * GiB) GTEST_SKIP() << "needs 7 GiB of free memory";
    Problem problem;
    problem.count = 2 * GiB + 4099;
    problem.dtype = core::DType::int8;
    run_on_two(problem, problem.count, [](std::uint64_t, std::uint64_t) { return std::int8_t{3}; });
}

TEST(SlowHugeCounts, AnAllGatherToMoreThanTwoToThe31ElementsIsRight) {
    if (available_bytes() < 7 * GiB) GTEST_SKIP() << "needs 7 GiB of free memory";
    Problem problem;
    problem.collective = Collective::all_gather;
    problem.count = GiB + 4099;
    problem.dtype = core::DType::int8;
    run_on_two(problem, 2 * problem.count, [](std::uint64_t at, std::uint64_t count) { return static_cast<std::int8_t>(at / count + 1); });
}

}  // namespace
}  // namespace attune::collectives

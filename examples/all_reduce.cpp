// Sums vectors over all ranks and shows what each size runs and why: attune-run -n 2 -- all_reduce
#include <attune/attune.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Distinct by position and small, so that every sum of them is exact.
float input_of(int rank, std::uint64_t i) {
    return static_cast<float>((i % 1021) + static_cast<std::uint64_t>(rank));
}

// Not added up again for each element: with hundreds of ranks that would take longer than everything else.
std::uint64_t count_wrong(const std::vector<float>& sum, int ranks) {
    const auto size = static_cast<std::uint64_t>(ranks), sum_of_ranks = size * (size - 1) / 2;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < sum.size(); ++i)
        wrong += sum[i] == static_cast<float>(size * (i % 1021) + sum_of_ranks) ? 0 : 1;
    return wrong;
}

std::uint64_t sum_vectors(attune::Communicator& team, std::uint64_t count) {
    std::vector<float> input(count), sum(count);
    for (std::uint64_t i = 0; i < count; ++i)
        input[i] = input_of(team.rank(), i);
    team.all_reduce(input.data(), sum.data(), count);
    return count_wrong(sum, team.size());
}

std::string size_text(std::uint64_t bytes) {
    const char* units[] = {"B", "KiB", "MiB"};
    int unit = 0;
    for (; bytes >= 1024; bytes /= 1024)
        ++unit;
    return std::to_string(bytes) + " " + units[unit];
}

int run() {
    attune::Communicator team;
    const bool talks = team.rank() == 0;
    if (talks) std::printf("%d ranks, database: %s\n", team.size(), team.table_origin().empty() ? "none" : team.table_origin().c_str());
    if (talks) std::printf("%8s  %-8s %-8s %5s  %5s  %s\n", "size", "source", "match", "gain", "wrong", "configuration");
    std::int64_t wrong = 0;
    for (std::uint64_t bytes = 8; bytes <= (std::uint64_t{16} << 20); bytes *= 8) {
        const std::uint64_t count = bytes / sizeof(float);
        std::int64_t bad = static_cast<std::int64_t>(sum_vectors(team, count));
        team.all_reduce(&bad, 1);
        wrong += bad;
        const attune::Explanation why = team.explain({attune::Collective::all_reduce, count, attune::DType::float32});
        if (talks)
            std::printf("%8s  %-8s %-8s %5.2f  %5lld  %s\n", size_text(bytes).c_str(), why.source.c_str(), why.match.c_str(), why.gain,
                        static_cast<long long>(bad), why.config.c_str());
    }
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
    return wrong == 0 ? 0 : 4;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const attune::Error& error) {
        std::fprintf(stderr, "all_reduce: %s\n", error.what());
        return error.exit_code();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "all_reduce: %s\n", error.what());
        return 1;
    }
}

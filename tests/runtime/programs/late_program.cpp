// Sums a vector many times; rank 1 comes late to a tenth of the calls: attune-run -n 2 -- late_program CALLS DELAY_US
#include <attune/attune.hpp>

#include <cstdlib>
#include <vector>

#include <time.h>

int main(int argc, char** argv) {
    const int calls = argc > 1 ? std::atoi(argv[1]) : 200;
    const long delay_ns = (argc > 2 ? std::atol(argv[2]) : 5000) * 1000;
    attune::Communicator team;
    std::vector<float> values(1024, 1.0F);
    for (int call = 0; call < calls; ++call) {
        const timespec delay{delay_ns / 1'000'000'000, delay_ns % 1'000'000'000};
        if (team.rank() == 1 && call % 10 == 5) nanosleep(&delay, nullptr);
        team.all_reduce(values.data(), values.size());
    }
    return 0;
}

// Sums a vector many times; rank 1 comes late to a tenth of the calls, and kills itself before one when that is named:
// attune-run -n 2 -- late_program CALLS DELAY_US [LAST_CALL]
#include <attune/attune.hpp>

#include <csignal>
#include <cstdlib>
#include <vector>

#include <time.h>

namespace {

long number(const char* text) {
    return std::strtol(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    const long calls = argc > 1 ? number(argv[1]) : 200;
    const long delay_ns = (argc > 2 ? number(argv[2]) : 5000) * 1000;
    const long last = argc > 3 ? number(argv[3]) : calls;
    attune::Communicator team;
    std::vector<float> values(1024, 1.0F);
    for (long call = 0; call < calls; ++call) {
        const timespec delay{delay_ns / 1'000'000'000, delay_ns % 1'000'000'000};
        if (team.rank() == 1 && call == last) std::raise(SIGKILL);
        if (team.rank() == 1 && call % 10 == 5) nanosleep(&delay, nullptr);
        team.all_reduce(values.data(), values.size());
    }
    return 0;
}

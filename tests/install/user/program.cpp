#include <attune/attune.hpp>

#include <cstdio>

int main() {
    attune::Communicator team;
    int sum = team.rank() + 1;
    team.all_reduce(&sum, 1);
    std::printf("rank %d of %d: %d\n", team.rank(), team.size(), sum);
}

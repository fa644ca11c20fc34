// The test program is its own arena rank: arenas start /proc/self/exe again.
#include "tuner/arena_factory.hpp"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == attune::tuner::arena_rank_word) return attune::tuner::arena_rank_main();
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}

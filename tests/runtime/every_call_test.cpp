// The programs that make every call of the public headers, on real ranks.
#include "tests/support/run_process.hpp"

#include <gtest/gtest.h>

#include <string>

namespace attune::test {
namespace {

class EveryCall : public testing::TestWithParam<int> {
protected:
    ProcessResult run(const std::string& program) {
        const TemporaryFolder folder;
        ProcessOptions options;
        options.environment = {{"XDG_DATA_HOME", folder.path()}};
        options.folder = folder.path();
        return run_process({ATTUNE_RUN, "-n", std::to_string(GetParam()), "--", program}, options);
    }
};

TEST_P(EveryCall, OfTheHeaderForCxxIsRightAndWrongUseIsExplained) {
    const ProcessResult result = run(ATTUNE_EVERY_CALL_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(EveryCall, OfTheHeaderForCIsRightAndWrongUseIsExplained) {
    const ProcessResult result = run(ATTUNE_C_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(EveryCall, OfTheExampleInCIsRight) {
    const ProcessResult result = run(ATTUNE_C_EXAMPLE);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, std::to_string(GetParam()) + " ranks, 1000 elements, wrong: 0\n");
}

TEST_P(EveryCall, AllocatesNothingWhenRepeated) {
    const ProcessResult result = run(ATTUNE_ALLOCATION_PROGRAM);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryCall, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace attune::test

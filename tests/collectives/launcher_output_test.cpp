// Output of ranks with their tags: whole lines of any length, and a target that takes no more is noticed.
#include "collectives/launcher_output.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace attune::collectives {
namespace {

std::string read_to_the_end(int descriptor) {
    std::string text;
    std::array<char, 65536> chunk;
    for (ssize_t got = 0; (got = ::read(descriptor, chunk.data(), chunk.size())) > 0;)
        text.append(chunk.data(), static_cast<std::size_t>(got));
    return text;
}

// What comes out when `text` is written into the rank's pipe in pieces, each forwarded by itself.
std::string forwarded(const std::string& text, std::size_t piece) {
    OutputPipe from_rank = make_output_pipe();
    int target[2];
    EXPECT_EQ(::pipe2(target, O_CLOEXEC), 0);
    std::string result;
    std::thread reader([&] { result = read_to_the_end(target[0]); });
    TaggedOutput output(3, std::move(from_rank.read), target[1]);
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string part = text.substr(at, piece);
        EXPECT_EQ(::write(from_rank.write.get(), part.data(), part.size()), static_cast<ssize_t>(part.size()));
        output.forward();
    }
    output.finish();
    EXPECT_EQ(output.write_error(), 0);
    ::close(target[1]);
    reader.join();
    ::close(target[0]);
    return result;
}

TEST(TaggedOutput, TagsEveryLineAndEndsTheLastOne) {
    EXPECT_EQ(forwarded("one\ntwo\n\nthree", 2), "[3] one\n[3] two\n[3] \n[3] three\n");
    EXPECT_EQ(forwarded("", 1), "");
}

TEST(TaggedOutput, KeepsLongLinesWhole) {
    const std::string line(300'000, 'x');
    EXPECT_EQ(forwarded(line + "\n" + line + "\n", 50'000), "[3] " + line + "\n[3] " + line + "\n");
}

TEST(TaggedOutput, NoticesATargetThatTakesNoMoreAndReadsOn) {
    const core::UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full);
    OutputPipe from_rank = make_output_pipe();
    TaggedOutput output(0, std::move(from_rank.read), full.get());
    for (int i = 0; i < 100; ++i) {
        const std::string line(1000, 'y');
        ASSERT_EQ(::write(from_rank.write.get(), (line + "\n").data(), 1001), 1001);
        output.forward();
    }
    EXPECT_EQ(output.write_error(), ENOSPC);
}

}  // namespace
}  // namespace attune::collectives

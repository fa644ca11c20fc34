#include "libcore/file.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace attune::core {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string read_text(const std::string& path, const ReadOptions& options = {}) {
    const std::vector<std::byte> bytes = read_whole_file(path, options);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_open(int descriptor) {
    return ::fcntl(descriptor, F_GETFD) != -1;
}

std::size_t files_in(const std::string& path) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
}

TEST(UniqueFd, ClosesOnceAndMoves) {
    const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    {
        UniqueFd first(number);
        UniqueFd second = std::move(first);
        EXPECT_FALSE(first);  // NOLINT: a moved-from descriptor is documented as none
        EXPECT_EQ(second.get(), number);
        first = std::move(second);
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
    UniqueFd released(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd owner(released.release());
    EXPECT_FALSE(released);
    EXPECT_TRUE(is_open(owner.get()));
}

TEST(ReadWholeFile, GivesTheBytesAndEnforcesTheLimit) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory.file("f");
    replace_file(path, bytes_of("12345"));
    EXPECT_EQ(read_text(path), "12345");
    EXPECT_EQ(read_text(path, {.limit_bytes = 5}), "12345");
    tests::expect_error(ErrorCode::failure, "5 bytes exceed the limit of 4", [&] { read_whole_file(path, {.limit_bytes = 4}); });
    replace_file(path, {});
    EXPECT_EQ(read_text(path, {.limit_bytes = 0}), "");
}

TEST(ReadWholeFile, SaysWhatIsMissing) {
    tests::expect_error(ErrorCode::not_found, "'/nonexistent/file': No such file", [] { read_whole_file("/nonexistent/file"); });
}

TEST(ReadWholeFile, RefusesLinksOnlyWhenAsked) {
    const tests::TemporaryDirectory directory;
    replace_file(directory.file("f"), bytes_of("x"));
    ASSERT_EQ(::symlink(directory.file("f").c_str(), directory.file("link").c_str()), 0);
    EXPECT_EQ(read_text(directory.file("link")), "x");
    tests::expect_error(ErrorCode::failure, "symbolic link", [&] { read_whole_file(directory.file("link"), {.follow_links = false}); });
    EXPECT_EQ(read_text(directory.file("f"), {.follow_links = false}), "x");
}

TEST(ReadWholeFile, NeverBlocksOnAFifoNorReadsADirectoryOrDevice) {
    const tests::TemporaryDirectory directory;
    ASSERT_EQ(::mkfifo(directory.file("fifo").c_str(), 0600), 0);
    for (const std::string& path : {directory.file("fifo"), directory.path(), std::string("/dev/zero")}) {
        tests::expect_error(ErrorCode::failure, "no regular file", [&] { read_whole_file(path); });
    }
}

TEST(WriteAll, ReportsAFailedWrite) {
    const UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    tests::expect_error(ErrorCode::failure, "cannot write 'thing'", [&] { write_all(read_only.get(), bytes_of("x"), "thing"); });
    write_all(read_only.get(), {}, "nothing to write");
}

TEST(ReplaceFile, ReplacesWithTheModeAndLeavesNothingElse) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory.file("f");
    replace_file(path, bytes_of("old"));
    replace_file(path, bytes_of("new"), 0640);
    EXPECT_EQ(read_text(path), "new");
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0640U);
    EXPECT_EQ(files_in(directory.path()), 1U);
}

TEST(ReplaceFile, KeepsTheOldFileAndCleansUpWhenItCannotRename) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory.file("d");
    make_directories(path + "/inside");
    tests::expect_error(ErrorCode::failure, "cannot rename to", [&] { replace_file(path, bytes_of("x")); });
    EXPECT_EQ(files_in(directory.path()), 1U);
    tests::expect_error(ErrorCode::not_found, "create a file beside", [&] { replace_file(directory.file("none/f"), bytes_of("x")); });
}

TEST(RenameDurably, MovesOverTheOldFile) {
    const tests::TemporaryDirectory directory;
    replace_file(directory.file("a"), bytes_of("a"));
    replace_file(directory.file("b"), bytes_of("b"));
    rename_durably(directory.file("a"), directory.file("b"));
    EXPECT_EQ(read_text(directory.file("b")), "a");
    EXPECT_FALSE(file_exists(directory.file("a")));
    tests::expect_error(ErrorCode::not_found, "cannot rename to", [&] { rename_durably(directory.file("a"), directory.file("b")); });
}

TEST(Directories, ParentsAndCreation) {
    EXPECT_EQ(parent_directory("/a/b"), "/a");
    EXPECT_EQ(parent_directory("/a"), "/");
    EXPECT_EQ(parent_directory("a"), ".");
    const tests::TemporaryDirectory directory;
    make_directories(directory.file("x/y/z"));
    make_directories(directory.file("x/y/z/"));
    EXPECT_TRUE(std::filesystem::is_directory(directory.file("x/y/z")));
    replace_file(directory.file("f"), bytes_of("x"));
    tests::expect_error(ErrorCode::failure, "no directory", [&] { make_directories(directory.file("f")); });
    tests::expect_error(ErrorCode::failure, "cannot make the directory", [&] { make_directories(directory.file("f/g")); });
}

TEST(FileExists, SeesDanglingLinksToo) {
    const tests::TemporaryDirectory directory;
    EXPECT_FALSE(file_exists(directory.file("f")));
    ASSERT_EQ(::symlink("nowhere", directory.file("link").c_str()), 0);
    EXPECT_TRUE(file_exists(directory.file("link")));
}

}  // namespace
}  // namespace attune::core

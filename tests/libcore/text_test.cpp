#include "libcore/text.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <random>

namespace attune::core {
namespace {

using Pieces = std::vector<std::string>;
const Pieces collectives = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "barrier"};

TEST(Split, KeepsEmptyPiecesAndGivesNoneForEmptyText) {
    EXPECT_EQ(split("", ','), Pieces{});
    EXPECT_EQ(split("a", ','), Pieces{"a"});
    EXPECT_EQ(split("a,,b,", ','), (Pieces{"a", "", "b", ""}));
    EXPECT_EQ(split(",", ','), (Pieces{"", ""}));
}

TEST(Split, IsUndoneByJoin) {
    for (const std::string text : {"a", "a,b", ",a", "a,", ",,,"})
        EXPECT_EQ(join(split(text, ','), ","), text);
    EXPECT_EQ(join(Pieces{"a", "b"}, ", "), "a, b");
    EXPECT_EQ(join(Pieces{}, ", "), "");
}

TEST(Printable, EscapesWhatWouldBreakALineOrATerminal) {
    EXPECT_EQ(printable("a\tb\nc\\d\x01"), "a\\tb\\nc\\\\d\\x01");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(printable(std::string(200, 'x'), 5), "xxxxx...");
    EXPECT_EQ(printable("xxxxx", 5), "xxxxx");
}

TEST(Nearest, CountsSwappedNeighboursAsOneMistake) {
    EXPECT_EQ(nearest("all_redcue", collectives), "all_reduce");
    const Pieces pair = {"abXX", "ba"};
    EXPECT_EQ(nearest("ab", pair), "ba");
}

TEST(Nearest, PicksTheSmallestDistanceAndTheFirstOfEquals) {
    EXPECT_EQ(nearest("all_gathr", collectives), "all_gather");
    EXPECT_EQ(nearest("allreduce", collectives), "all_reduce");
    EXPECT_EQ(nearest("ALL_REDUCE", collectives), "all_reduce");
    EXPECT_EQ(nearest("Attune_db", Pieces{"ATTUNE_DB"}), "ATTUNE_DB");
    const Pieces equal = {"cat", "car"};
    EXPECT_EQ(nearest("caz", equal), "cat");
}

TEST(Nearest, GivesNothingBeyondTwoMistakesOrAThird) {
    EXPECT_EQ(nearest("xyz", Pieces{"abc"}), "");
    EXPECT_EQ(nearest("axy", Pieces{"abc"}), "abc");                          // 2 of 3
    EXPECT_EQ(nearest("abcdefghXXX", Pieces{"abcdefghijk"}), "abcdefghijk");  // 3 of 11
    EXPECT_EQ(nearest("abcdefgXXXX", Pieces{"abcdefghijk"}), "");             // 4 of 11
    EXPECT_EQ(nearest("word", Pieces{}), "");
    EXPECT_EQ(nearest(std::string(100000, 'a'), collectives), "");
}

// The textbook recursion over all alignments, without the table.
std::size_t slow_distance(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return a.size() + b.size();
    std::size_t best = slow_distance(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1);
    best = std::min(best, slow_distance(a.substr(1), b) + 1);
    best = std::min(best, slow_distance(a, b.substr(1)) + 1);
    const bool swapped = a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0];
    return swapped ? std::min(best, slow_distance(a.substr(2), b.substr(2)) + 1) : best;
}

TEST(Nearest, AgreesWithAnOracleOnRandomWords) {
    std::mt19937 random(1);
    const auto word = [&random] {
        std::string out(random() % 6, ' ');
        for (char& c : out)
            c = static_cast<char>('a' + random() % 3);
        return out;
    };
    for (int i = 0; i < 300; ++i) {
        const std::string a = word();
        const std::string b = word() + "c";
        EXPECT_EQ(nearest(a, Pieces{b}) == b, slow_distance(a, b) <= 2) << a << " " << b;
    }
}

TEST(ShellWord, QuotesWhatAShellWouldSplitOrExpand) {
    EXPECT_EQ(shell_word("/data/a-b_c.attune.db"), "/data/a-b_c.attune.db");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("my data"), "'my data'");
    EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(RequireWord, ReturnsARightWordAndNamesTheNearestOrAll) {
    EXPECT_EQ(require_word("collective", "barrier", collectives), "barrier");
    tests::expect_error(ErrorCode::usage, "did you mean 'barrier'?", [] { require_word("collective", "barier", collectives); });
    tests::expect_error(ErrorCode::usage, "use one of: all_reduce, all_gather", [] { require_word("collective", "quicksort", collectives); });
}

}  // namespace
}  // namespace attune::core

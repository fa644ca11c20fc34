// What attune-bench makes of its options, and how it prints, without starting a rank.
#include "apps/tools/bench/compare_sides.hpp"
#include "apps/tools/bench/list.hpp"
#include "apps/tools/bench/problems.hpp"
#include "apps/tools/bench/report.hpp"
#include "collectives/catalogue.hpp"
#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attune::tools::bench {
namespace {

using collectives::Collective;
using collectives::Problem;

Options sweep_of(const std::string& collective, std::uint64_t from, std::uint64_t to, std::uint64_t factor = 2) {
    Options options;
    options.collectives = {collective};
    options.ranks.values = {4};
    options.sizes = {.min_bytes = from, .max_bytes = to, .factor = factor, .increment_bytes = 0};
    return options;
}

TEST(Problems, SizesAreTheLargerBufferRoundedDownToWholeElementsAndRanks) {
    const std::vector<Problem> gather = problems_of(sweep_of("all_gather", 100, 200), 4);
    ASSERT_EQ(gather.size(), 2u);
    EXPECT_EQ(gather[0].count, 6u);
    EXPECT_EQ(gather[0].bytes(), 96u);
    EXPECT_EQ(gather[1].bytes(), 192u);
    const std::vector<Problem> reduce = problems_of(sweep_of("all_reduce", 101, 101), 4);
    EXPECT_EQ(reduce.at(0).bytes(), 100u);
}

TEST(Problems, SizesThatBecomeEqualAreKeptOnce) {
    Options options = sweep_of("all_gather", 16, 31);
    options.sizes.increment_bytes = 1;
    EXPECT_EQ(problems_of(options, 4).size(), 1u);
}

TEST(Problems, ABarrierIsOneProblemInOneForm) {
    Options options = sweep_of("barrier", 8, 1 << 20);
    options.dtypes = {"all"};
    options.ops = {"all"};
    const std::vector<Problem> problems = problems_of(options, 4);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].count, 0u);
    EXPECT_EQ(forms_of(options, problems[0]), std::vector<bool>{false});
}

TEST(Problems, OperatorsMultiplyReductionsOnlyAndRootsRootedOnly) {
    Options options = sweep_of("all", 64, 64);
    options.ops = {"all"};
    options.roots.all = true;
    const std::vector<Problem> problems = problems_of(options, 4);
    const auto count = [&](Collective collective) { return std::ranges::count(problems, collective, &Problem::collective); };
    EXPECT_EQ(count(Collective::all_reduce), 5);  // sum prod min max avg
    EXPECT_EQ(count(Collective::reduce_scatter), 5);
    EXPECT_EQ(count(Collective::all_gather), 1);
    EXPECT_EQ(count(Collective::broadcast), 4);
    EXPECT_EQ(count(Collective::barrier), 1);
}

TEST(Problems, OperatorsThatDoNotWorkOnATypeAreLeftOutOfAllAndErrorsWhenNamed) {
    Options options = sweep_of("all_reduce", 64, 64);
    options.dtypes = {"int32", "float32"};
    options.ops = {"all"};
    EXPECT_EQ(problems_of(options, 4).size(), 7u + 5u);
    options.dtypes = {"all"};
    options.ops = {"bxor"};
    EXPECT_EQ(problems_of(options, 4).size(), 8u);  // integers
    options.dtypes = {"int32"};
    options.ops = {"avg"};
    EXPECT_THROW(problems_of(options, 4), core::Error);
}

TEST(Problems, CountsReplaceSizesAndTypesMayBeAliases) {
    Options options = sweep_of("reduce_scatter", 8, 8);
    options.counts = {"0", "7"};
    options.dtypes = {"float", "int64"};
    const std::vector<Problem> problems = problems_of(options, 4);
    ASSERT_EQ(problems.size(), 4u);
    EXPECT_EQ(problems[0].count, 0u);
    EXPECT_EQ(problems[1].bytes(), 4 * 7 * 4u);
    EXPECT_EQ(problems[3].bytes(), 4 * 7 * 8u);
}

TEST(Problems, SizesOfVFormsAreTotalsAndCountsAreOfEachRank) {
    Options options = sweep_of("all_gather_v", 100, 100);
    const Problem total = problems_of(options, 4).at(0);
    EXPECT_EQ(bytes_of(total), 100u);
    EXPECT_EQ(count_of(total), 25u);
    EXPECT_EQ(total.amounts->receive, (std::vector<std::uint64_t>{7, 6, 6, 6}));
    options.counts = {"3"};
    EXPECT_EQ(count_of(problems_of(options, 4).at(0)), 12u);
    options.amounts = "one-hot";
    EXPECT_EQ(problems_of(options, 4).at(0).amounts->receive, (std::vector<std::uint64_t>{0, 0, 0, 12}));
    options.counts.clear();
    options.amounts = "zero";
    options.sizes = {.min_bytes = 8, .max_bytes = 1 << 20, .factor = 8, .increment_bytes = 0};
    EXPECT_EQ(problems_of(options, 4).size(), 1u);
}

TEST(Problems, EverySizeOfEveryCollectiveIsAtMostTheOneAskedFor) {
    for (const char* amounts : {"balanced", "one-hot", "zero"}) {
        Options options = sweep_of("all", 0, 1 << 16, 8);
        options.amounts = amounts;
        for (const int ranks : {1, 2, 3, 7}) {
            for (const Problem& problem : problems_of(options, ranks)) {
                EXPECT_LE(bytes_of(problem), 1u << 16) << name_of(problem.collective);
                EXPECT_TRUE(collectives::has_amounts(problem.collective) || bytes_of(problem) == problem.bytes());
            }
        }
    }
}

TEST(Problems, PatternsOfMessagesSayWhoTalksAndHowMuchMoves) {
    const auto pattern = [](const char* word, int ranks) {
        Options options = sweep_of("send_recv", 64, 64);
        options.pattern = word;
        return std::pair(messages_of(options, problems_of(options, ranks).at(0)), answers(options, Collective::send_recv));
    };
    EXPECT_EQ(pattern("ring", 4), std::pair(1.0, false));
    EXPECT_EQ(pattern("ping_pong", 4), std::pair(1.0, true));
    EXPECT_EQ(pattern("stream", 4), std::pair(1.0, false));
    EXPECT_EQ(pattern("bidirectional", 4), std::pair(2.0, false));
    EXPECT_EQ(pattern("rate", 6), std::pair(3.0, false));
    EXPECT_EQ(pattern("pairs", 6), std::pair(1.0, true));
}

TEST(Problems, FormsInPlaceAreOfTheCollectivesThatHaveThem) {
    const Options options = sweep_of("all", 64, 64);
    for (const Problem& problem : problems_of(options, 4)) {
        const bool both = forms_of(options, problem).size() == 2;
        EXPECT_EQ(both, problem.collective != Collective::barrier && collectives::has_in_place(problem.collective)) << name_of(problem.collective);
    }
}

TEST(Problems, WrongWordsAndRootsAreUsageErrors) {
    Options options = sweep_of("broadcast", 8, 8);
    options.roots.root = 4;
    EXPECT_THROW(problems_of(options, 4), core::Error);
    options = sweep_of("all_reduce", 8, 8);
    options.ops = {"summ"};
    EXPECT_THROW(problems_of(options, 4), core::Error);
    options = sweep_of("all_reduce", 8, 8);
    options.counts = {"7x"};
    EXPECT_THROW(problems_of(options, 4), core::Error);
}

TEST(Problems, BusBandwidthCarriesTheCollectivesFactor) {
    Problem problem;
    problem.ranks = 4;
    const auto bus = [&](Collective collective, std::uint64_t count) {
        problem.collective = collective;
        problem.count = count;
        return bus_bandwidth(problem, 1.0);
    };
    EXPECT_DOUBLE_EQ(bus(Collective::all_reduce, 1000).value(), 4.0 * 1.5);
    EXPECT_DOUBLE_EQ(bus(Collective::all_gather, 250).value(), 4.0 * 0.75);
    EXPECT_DOUBLE_EQ(bus(Collective::reduce_scatter, 250).value(), 4.0 * 0.75);
    EXPECT_DOUBLE_EQ(bus(Collective::broadcast, 1000).value(), 4.0);
    EXPECT_DOUBLE_EQ(bus(Collective::all_to_all, 250).value(), 4.0 * 0.75);
    EXPECT_DOUBLE_EQ(bus(Collective::gather, 250).value(), 4.0 * 0.75);
    EXPECT_DOUBLE_EQ(bus(Collective::reduce, 1000).value(), 4.0);
    EXPECT_DOUBLE_EQ(bus(Collective::scan, 1000).value(), 4.0);
    EXPECT_FALSE(bus(Collective::barrier, 0).has_value());
}

TEST(CompareSides, AreChoicesOfOneCollective) {
    using collectives::Collective;
    const auto text = [](const char* side) { return parse_side(side, Collective::all_reduce).entries.front().second.text(); };
    EXPECT_EQ(text("ring"), "algorithm=ring");
    EXPECT_EQ(text("all_reduce:two_level"), "algorithm=two_level");
    EXPECT_EQ(text("all_reduce:ring:segment_bytes=65536:channels=2"), "algorithm=ring,segment_bytes=64K,channels=2");
    EXPECT_EQ(text("congestion_control=reno"), "congestion_control=reno");
    for (const char* wrong : {"", "rnig", "broadcast:linear", "ring:", "ring:two_shot", "ring:segment_byte=1K", "all_reduce"})
        EXPECT_THROW(parse_side(wrong, Collective::all_reduce), core::Error) << wrong;
}

TEST(CompareSides, NameTheNearestSideOrAlgorithm) {
    const auto message = [](const char* side) -> std::string {
        try {
            parse_side(side, collectives::Collective::all_reduce);
            return "accepted";
        } catch (const core::Error& error) {
            return error.what();
        }
    };
    EXPECT_EQ(message("tuend"), "unknown side of --compare 'tuend'; did you mean 'tuned'?");
    EXPECT_EQ(message("Default"), "unknown side of --compare 'Default'; did you mean 'default'?");
    EXPECT_EQ(message("rnig"), "unknown all_reduce algorithm 'rnig'; did you mean 'ring'?");
    EXPECT_NE(message("bananas").find("use one of: one_shot"), std::string::npos);
}

TEST(Options, ContradictionsAreRefused) {
    const auto refused = [](auto change) {
        Options options = sweep_of("all_reduce", 8, 8);
        change(options);
        EXPECT_THROW(validate(options), core::Error);
    };
    refused([](Options& o) { o.json = o.csv = true; });
    refused([](Options& o) { o.rows = true; });
    refused([](Options& o) { o.compare = {"default"}; });
    refused([](Options& o) { o.compare = {"default", "ring", "two_shot"}; });
    refused([](Options& o) { o.compare = {"ring", "two_shot"}, o.rows = true; });
    refused([](Options& o) { o.compare = {"default", "tuned"}, o.algorithm = "ring"; });
    refused([](Options& o) { o.collectives.clear(); });
    refused([](Options& o) { o.plot = o.json = true; });
    refused([](Options& o) { o.plot = o.csv = true; });
    refused([](Options& o) { o.compare = {"default", "tuned"}, o.per_rank = true; });
    refused([](Options& o) { o.list = true, o.markdown = "file.md"; });
    refused([](Options& o) { o.skew = "ramp", o.mode = "streaming"; });
    refused([](Options& o) { o.skew = "ramp", o.compare = {"default", "tuned"}; });
    refused([](Options& o) { o.skew = "late"; });
    refused([](Options& o) { o.skew = "ramp:2s"; });
    refused([](Options& o) { o.pattern = "stream"; });
    refused([](Options& o) { o.amounts = "zero"; });
    refused([](Options& o) { o.roots_given = true; });
    refused([](Options& o) { o.collectives = {"all_gather", "broadcast"}, o.ops_given = true; });
    refused([](Options& o) { o.collectives = {"gather_v"}, o.in_place = "yes"; });
    EXPECT_NO_THROW(validate([] {
        Options options = sweep_of("send_recv", 8, 8);
        options.pattern = "stream";
        options.skew = "none";
        return options;
    }()));
    EXPECT_NO_THROW(validate([] {
        Options options = sweep_of("all", 8, 8);
        options.pattern = "stream", options.amounts = "zero", options.in_place = "yes";
        options.roots_given = options.ops_given = true;
        return options;
    }()));
    EXPECT_NO_THROW(validate(sweep_of("all_reduce", 8, 8)));
}

TEST(Forced, SettingsAddParametersToTheAlgorithm) {
    Options options = sweep_of("all_reduce", 8, 8);
    options.settings.set("segment_bytes", "64K");
    options.algorithm = "mesh";
    EXPECT_EQ(forced_choices(options).entries.at(0).second.text(), "algorithm=two_shot,segment_bytes=64K");
}

Line example_line() {
    Cell cell;
    cell.problem.collective = Collective::all_reduce;
    cell.problem.ranks = 2;
    cell.problem.count = 1024;
    cell.choice.config = core::Config::parse("algorithm=ring,segment_bytes=1K");
    cell.times = Times{.median_us = 4.096, .low_us = 4, .high_us = 4.2, .minimum_us = 3.9, .p95_us = 5, .p99_us = 6, .iterations = 100};
    cell.wrong = 0;
    cell.placement = "c1";
    Cell refused;
    refused.problem = cell.problem;
    refused.problem.in_place = true;
    refused.reason = "ring, \"alone\", does not apply";
    return {{cell, refused}};
}

TEST(Report, ALineShowsBothFormsWhatRanAndWhyNot) {
    const Options options;
    const std::string text = line_text(options, example_line());
    for (const char* piece : {"4096", "1024", "float32", "sum", " -1 ", "4.10", "1.00", "ring", "default", "c1", "does not apply"}) {
        EXPECT_NE(text.find(piece), std::string::npos) << piece << " in " << text;
    }
}

TEST(Report, TotalsKnowTheExitCode) {
    Totals good;
    good.add(example_line());
    EXPECT_EQ(good.exit_code(), 0);
    EXPECT_DOUBLE_EQ(good.average_bus_bandwidth().value(), 1.0);
    Line wrong = example_line();
    wrong.cells[0].wrong = 3;
    good.add(wrong);
    EXPECT_EQ(good.exit_code(), 4);
    Totals failed;
    Line broken = example_line();
    broken.cells[1].failed = true;
    failed.add(broken);
    EXPECT_EQ(failed.exit_code(), 1);
    Totals nothing;
    Line refused = example_line();
    refused.cells.erase(refused.cells.begin());
    nothing.add(refused);
    EXPECT_THROW(nothing.exit_code(), core::Error);
}

TEST(Report, TheFooterDoesNotClaimAnUncheckedResult) {
    Options options;
    Totals totals;
    totals.add(example_line());
    EXPECT_NE(footer_text(options, totals).find("N/A"), std::string::npos);
    options.check = true;
    Line right = example_line();
    right.cells[0].wrong = 0;
    totals.add(right);
    EXPECT_NE(footer_text(options, totals).find("Out of bounds values : 0 OK"), std::string::npos);
    Line wrong = example_line();
    wrong.cells[0].wrong = 3;
    totals.add(wrong);
    EXPECT_NE(footer_text(options, totals).find("Out of bounds values : 3 FAILED"), std::string::npos);
}

TEST(Report, CsvFieldsAreQuotedAndEveryRowHasEveryColumn) {
    EXPECT_EQ(csv_field("plain"), "plain");
    EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    const auto columns = [](const std::string& line) {
        bool quoted = false;
        std::ptrdiff_t count = 1;
        for (const char letter : line) {
            if (letter == '"') quoted = !quoted;
            if (letter == ',' && !quoted) ++count;
        }
        return count;
    };
    const std::string text = csv_text(example_line());
    const std::size_t end = text.find('\n');
    EXPECT_EQ(columns(text.substr(0, end)), columns(csv_titles()));
    EXPECT_EQ(columns(text.substr(end + 1)), columns(csv_titles()));
}

TEST(List, HoldsEveryAlgorithmOfTheCatalogue) {
    const Options options;
    const Json document = list_json(options);
    EXPECT_EQ(document["algorithms"].size(), collectives::catalogue().size());
    const std::string text = list_text(options);
    for (const collectives::Algorithm& algorithm : collectives::catalogue())
        EXPECT_NE(text.find(algorithm.name), std::string::npos);
}

TEST(Report, NothingCheckedIsNotSaidToBeRight) {
    Options options;
    options.check = true;
    Line line;
    line.cells.emplace_back();
    line.cells.back().failed = true;
    line.cells.back().reason = "rank 1 died";
    Totals totals;
    totals.add(line);
    EXPECT_EQ(footer_text(options, totals).find("0 OK"), std::string::npos);
    EXPECT_EQ(failure_text(totals), "a call failed: rank 1 died");
}

}  // namespace
}  // namespace attune::tools::bench

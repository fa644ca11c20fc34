#include "libcore/config.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace attune::core {
namespace {

TEST(Config, AxesAreTheClosedListInCanonicalOrder) {
    const std::vector<std::string> expected = {
        "algorithm",         "segment_bytes",       "channels",          "protocol", "radix", "groups", "wire_dtype", "inline_bytes", "staging_stores",
        "nontemporal_bytes", "socket_buffer_bytes", "congestion_control"};
    EXPECT_TRUE(std::ranges::equal(config_axes(), expected));
}

TEST(Config, TextIsCanonicalWhateverTheOrderAndSpelling) {
    const Config config = Config::parse("protocol=staged,segment_bytes=65536,algorithm=ring,channels=02");
    EXPECT_EQ(config.text(), "algorithm=ring,segment_bytes=64K,channels=2,protocol=staged");
    EXPECT_EQ(config, Config::parse("algorithm=ring,channels=2,segment_bytes=64KiB,protocol=staged"));
    EXPECT_EQ(Config::parse(""), Config());
    EXPECT_TRUE(Config().empty());
    EXPECT_EQ(Config().text(), "");
}

TEST(Config, ValuesAreReadAsTextAndNumber) {
    const Config config = Config::parse("algorithm=two_level,groups=4x8x16,segment_bytes=1M,radix=4,inline_bytes=0");
    EXPECT_EQ(config.algorithm(), "two_level");
    EXPECT_EQ(config.get("groups"), "4x8x16");
    EXPECT_EQ(config.get("protocol"), std::nullopt);
    EXPECT_EQ(config.number("segment_bytes", 7), 1U << 20);
    EXPECT_EQ(config.number("radix", 7), 4U);
    EXPECT_EQ(config.number("inline_bytes", 7), 0U);
    EXPECT_EQ(config.number("channels", 7), 7U);
    EXPECT_EQ(Config().algorithm(), "");
}

TEST(Config, SetReplacesAndKeepsTheOrder) {
    Config config;
    config.set("protocol", "staged");
    config.set("algorithm", "ring");
    config.set("segment_bytes", 2048);
    config.set("protocol", "inline");
    config.set("channels", 2);
    EXPECT_EQ(config.text(), "algorithm=ring,segment_bytes=2K,channels=2,protocol=inline");
}

TEST(Config, WithLetsTheOtherWin) {
    const Config base = Config::parse("algorithm=ring,segment_bytes=64K");
    EXPECT_EQ(base.with(Config::parse("segment_bytes=0,protocol=staged")).text(), "algorithm=ring,segment_bytes=0,protocol=staged");
    EXPECT_EQ(base.with(Config()), base);
    EXPECT_EQ(Config().with(base), base);
}

TEST(Config, RefusesWhatItCannotMean) {
    const auto refused = [](std::string_view text, std::string_view part) { tests::expect_error(ErrorCode::usage, part, [text] { Config::parse(text); }); };
    refused("algoritm=ring", "did you mean 'algorithm'?");
    refused("colour=red", "use one of: algorithm, segment_bytes");
    refused("algorithm=ring,algorithm=ring", "given twice");
    refused("segment_bytes=64KB", "is ambiguous");
    refused("segment_bytes=", "segment_bytes");
    refused("segment_bytes=-1", "is negative");
    refused("channels=0", "at least 1");
    refused("channels=two", "at least 1");
    refused("radix=4294967296", "at least 1");
    refused("algorithm=", "is not a word");
    refused("algorithm=Ring", "is not a word");
    refused("algorithm=a b", "is not a word");
    refused("algorithm=" + std::string(65, 'a'), "is not a word");
    refused("ring", "is not name=value");
    refused("algorithm=ring,", "is not name=value");
    refused("=ring", "config name ''");
    refused("algorithm=ring\n", "ring\\n");
}

TEST(Config, ParseOfTextIsTheIdentity) {
    std::mt19937 random(3);
    const auto value_for = [&random](const std::string& name) {
        if (name.ends_with("_bytes")) return std::to_string(random() >> random() % 32);
        return std::to_string(1 + random() % 1000);
    };
    for (int i = 0; i < 300; ++i) {
        Config config;
        for (const std::string& name : config_axes()) {
            if (random() % 2 == 0) config.set(name, std::string_view(value_for(name)));
        }
        EXPECT_EQ(Config::parse(config.text()), config);
        EXPECT_EQ(Config::parse(config.text()).text(), config.text());
    }
}

}  // namespace
}  // namespace attune::core

#include "libcore/key.hpp"

#include "tests/support/expect_error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace attune::core {
namespace {

constexpr std::string_view sample = "collective/all_reduce/float32/sum/4/1x4/none/shm/out/ordinary/run/latency/bound";

Key sample_key() {
    Key key;
    key.collective = "all_reduce";
    key.dtype_class = "float32";
    key.op = "sum";
    key.ranks = 4;
    key.node_map = "1x4";
    key.transport = "shm";
    return key;
}

TEST(Key, TextHasItsFieldsInTheDocumentedOrder) {
    EXPECT_EQ(sample_key().text(), sample);
}

TEST(Key, ParseOfTextIsTheIdentityAndEveryFieldCounts) {
    const std::vector<std::function<void(Key&)>> changes = {
        [](Key&) {},
        [](Key& k) { k.target = "fusion"; },
        [](Key& k) { k.collective = "all_gather"; },
        [](Key& k) { k.dtype_class = "bytes"; },
        [](Key& k) { k.op = "none"; },
        [](Key& k) { k.ranks = 5; },
        [](Key& k) { k.node_map = "2,2,1:cyclic"; },
        [](Key& k) { k.root_class = "any"; },
        [](Key& k) { k.transport = "local"; },
        [](Key& k) { k.in_place = true; },
        [](Key& k) { k.buffers = "mapped"; },
        [](Key& k) { k.determinism = "size"; },
        [](Key& k) { k.objective = "throughput"; },
        [](Key& k) { k.binding = "unbound"; },
    };
    std::vector<std::string> texts;
    for (const auto& change : changes) {
        Key key = sample_key();
        change(key);
        EXPECT_EQ(Key::parse(key.text()), key);
        for (const std::string& other : texts)
            EXPECT_NE(other, key.text());
        texts.push_back(key.text());
    }
}

TEST(Key, RefusesTextThatTextCannotProduce) {
    const std::string text(sample);
    const auto replaced = [&text](const std::string& from, const std::string& to) { return std::string(text).replace(text.find(from), from.size(), to); };
    const std::vector<std::string> wrong = {"",
                                            "collective",
                                            text + "/more",
                                            text.substr(0, text.rfind('/')),
                                            replaced("/4/", "/04/"),
                                            replaced("/4/", "/-4/"),
                                            replaced("/4/", "/four/"),
                                            replaced("/4/", "/99999999999/"),
                                            replaced("/out/", "/outside/"),
                                            replaced("/sum/", "//"),
                                            replaced("sum", "s m"),
                                            replaced("sum", "s\nm"),
                                            replaced("sum", std::string(300, 's'))};
    for (const std::string& one : wrong)
        tests::expect_error(ErrorCode::failure, "key '", [&one] { Key::parse(one); });
}

TEST(Key, CoversItselfAndWithAnyRootEveryRoot) {
    Key any = sample_key(), second = sample_key(), unrooted = sample_key();
    any.root_class = "any", second.root_class = "2", unrooted.root_class = "none";
    EXPECT_TRUE(any.covers(any));
    EXPECT_TRUE(any.covers(second));
    EXPECT_TRUE(second.covers(second));
    EXPECT_FALSE(second.covers(any));
    EXPECT_FALSE(any.covers(unrooted));
    second.ranks += 1;
    EXPECT_FALSE(any.covers(second));
}

TEST(Key, RefusesToWriteAFieldThatCouldNotBeReadBack) {
    Key slash = sample_key();
    slash.collective = "all/reduce";
    tests::expect_error(ErrorCode::failure, "'/'", [&slash] { (void)slash.text(); });
    Key empty = sample_key();
    empty.node_map.clear();
    tests::expect_error(ErrorCode::failure, "empty field", [&empty] { (void)empty.text(); });
}

}  // namespace
}  // namespace attune::core

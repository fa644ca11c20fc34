// Identity: one text, one digest, and the fields that differ.
#include "db/fingerprint.hpp"

#include "libcore/error.hpp"
#include "tests/db/support.hpp"

#include <gtest/gtest.h>

namespace attune::db {

TEST(Identity, HasItsFieldsInTheDocumentedOrder) {
    const Identity identity = test::machine();
    std::vector<std::string> names;
    for (const auto& [name, value] : identity.fields)
        names.push_back(name);
    const std::vector<std::string> expected = {"cpu_vendor",   "cpu_family", "cpu_model", "instruction_set", "sockets",      "numa_nodes",
                                               "cores_per_l3", "l1d_bytes",  "l2_bytes",  "l3_bytes",        "allowed_cpus", "link"};
    EXPECT_EQ(names, expected);
    EXPECT_EQ(identity.fields.at(10).second, "2");
}

TEST(Identity, ParsesItsOwnText) {
    const Identity identity = test::machine();
    EXPECT_EQ(Identity::parse(identity.text()), identity);
    EXPECT_EQ(Identity::parse(identity.text()).digest(), identity.digest());
    EXPECT_EQ(identity.digest().size(), 16U);
}

TEST(Identity, DigestChangesWithEveryField) {
    const Identity identity = test::machine();
    for (std::size_t i = 0; i < identity.fields.size(); ++i) {
        Identity other = identity;
        other.fields[i].second += "x";
        EXPECT_NE(other.digest(), identity.digest()) << identity.fields[i].first;
    }
}

TEST(Identity, ValuesCannotBreakTheText) {
    core::Topology topology;
    topology.cpu_vendor = "a;b=c\nd\x7f";
    const Identity identity = identity_of(topology);
    EXPECT_EQ(identity.fields.front().second, "a_b_c_d_");
    EXPECT_EQ(Identity::parse(identity.text()), identity);
}

TEST(Identity, RefusesTextThatItCannotProduce) {
    for (const char* text : {"", "cpu", "=1", "a=1;;b=2", "a=1;a=2", "a=b=c", "a=\x1b[31m"}) {
        EXPECT_THROW(Identity::parse(text), core::Error) << text;
    }
}

TEST(Identity, DifferencesNameTheFieldAndBothValues) {
    const auto found = differences(test::machine("97"), test::machine("98"));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].name, "cpu_model");
    EXPECT_EQ(found[0].stored, "97");
    EXPECT_EQ(found[0].current, "98");
    EXPECT_TRUE(differences(test::machine(), test::machine()).empty());
}

TEST(Identity, DifferencesIncludeFieldsOnlyOneSideHas) {
    Identity fewer = test::machine();
    fewer.fields.pop_back();
    const auto gone = differences(test::machine(), fewer);
    ASSERT_EQ(gone.size(), 1U);
    EXPECT_EQ(gone[0].name, "link");
    EXPECT_EQ(gone[0].current, "");
    EXPECT_EQ(differences(fewer, test::machine()).at(0).stored, "");
}

}  // namespace attune::db

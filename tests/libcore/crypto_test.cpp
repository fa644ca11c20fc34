#include "libcore/crypto.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attune::core {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// FIPS 180-4 examples (NIST "SHA256.pdf") and the empty message.
TEST(Sha256, KnownAnswers) {
    EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(HmacSha256, KnownAnswers) {
    const std::string key1(20, '\x0b');
    EXPECT_EQ(hex(hmac_sha256(bytes_of(key1), bytes_of("Hi There"))), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const std::string key6(131, '\xaa');
    EXPECT_EQ(hex(hmac_sha256(bytes_of(key6), bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, TakesAnEmptyKeyAndMessage) {
    EXPECT_EQ(hex(hmac_sha256({}, {})), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Digest64, IsTheFirstEightBytesLittleEndian) {
    EXPECT_EQ(digest64(bytes_of("abc")), 0xeacf018fbf1678baULL);
}

TEST(EqualConstantTime, SeesEveryByteAndTheLength) {
    const std::string text(32, 'x');
    EXPECT_TRUE(equal_constant_time(bytes_of(text), bytes_of(std::string(32, 'x'))));
    EXPECT_TRUE(equal_constant_time({}, {}));
    EXPECT_FALSE(equal_constant_time(bytes_of(text), bytes_of(text).first(31)));
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] = 'y';
        EXPECT_FALSE(equal_constant_time(bytes_of(text), bytes_of(other))) << i;
    }
}

TEST(RandomBytes, FillTheWholeSpanAndDiffer) {
    std::vector<std::byte> first(64), second(64);
    random_bytes(first);
    random_bytes(second);
    EXPECT_NE(first, second);
    EXPECT_TRUE(std::any_of(first.end() - 16, first.end(), [](std::byte b) { return b != std::byte{0}; }));
    random_bytes({});
}

TEST(Hex, IsLowerCaseTwoDigitsAByte) {
    const std::byte bytes[] = {std::byte{0}, std::byte{0x0f}, std::byte{0xa0}, std::byte{0xff}};
    EXPECT_EQ(hex(bytes), "000fa0ff");
    EXPECT_EQ(hex({}), "");
}

}  // namespace
}  // namespace attune::core

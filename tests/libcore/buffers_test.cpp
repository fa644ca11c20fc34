#include "libcore/buffers.hpp"

#include "libcore/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace attune::core {
namespace {

TEST(Buffer, IsZeroedAlignedAndGuarded) {
    for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 4099UL}) {
        Buffer buffer(bytes);
        EXPECT_EQ(buffer.size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
        EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](std::byte b) { return b == std::byte{0}; }));
        EXPECT_TRUE(buffer.guards_intact());
    }
}

TEST(Buffer, EveryGuardByteTrips) {
    Buffer buffer(13);
    for (std::size_t i = 1; i <= Buffer::guard_bytes; ++i) {
        std::byte* const places[] = {buffer.data() - i, buffer.data() + buffer.size() + i - 1};
        for (std::byte* place : places) {
            const std::byte saved = *place;
            *place = std::byte{0};
            EXPECT_FALSE(buffer.guards_intact()) << i;
            *place = saved;
            EXPECT_TRUE(buffer.guards_intact()) << i;
        }
    }
}

TEST(Buffer, MovesItsMemory) {
    Buffer first(10);
    first.data()[3] = std::byte{7};
    const std::byte* const address = first.data();
    Buffer second = std::move(first);
    EXPECT_EQ(second.data(), address);
    EXPECT_EQ(second.data()[3], std::byte{7});
    EXPECT_TRUE(Buffer().guards_intact());
}

TEST(Buffer, AnImpossibleSizeIsBadAlloc) {
    EXPECT_THROW(Buffer{std::numeric_limits<std::size_t>::max()}, Error);
}

}  // namespace
}  // namespace attune::core

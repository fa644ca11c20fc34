// The fold kernels of every instruction set against a scalar oracle, bit for bit, on hostile values.
#include "collectives/kernels/fold.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace attune::collectives {
namespace {

constexpr std::array<std::string_view, 3> instruction_sets = {"generic", "avx2", "avx512"};

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
T canonical_nan() {
    if constexpr (sizeof(T) == 4) return std::bit_cast<T>(std::uint32_t{0x7fc00000});
    if constexpr (sizeof(T) == 8) return std::bit_cast<T>(std::uint64_t{0x7ff8000000000000});
}

template <typename T>
T combine_floats(core::Op op, T a, T b) {
    if (op == core::Op::sum || op == core::Op::prod) {
        const T result = op == core::Op::sum ? a + b : a * b;
        return std::isnan(result) ? canonical_nan<T>() : result;
    }
    if (std::isnan(a) || std::isnan(b)) return canonical_nan<T>();
    const bool a_first = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    return (op == core::Op::min) == a_first ? a : b;
}

template <typename T>
T combine(core::Op op, T a, T b) {
    using U = BitsOf<T>;
    if constexpr (std::is_floating_point_v<T>) return combine_floats(op, a, b);
    if (op == core::Op::sum) return std::bit_cast<T>(static_cast<U>(std::bit_cast<U>(a) + std::bit_cast<U>(b)));
    if (op == core::Op::prod) return std::bit_cast<T>(static_cast<U>(std::bit_cast<U>(a) * std::bit_cast<U>(b)));
    return (op == core::Op::min) == (a < b) ? a : b;
}

template <typename T>
std::vector<T> hostile_values() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {T{0}, T{1}, static_cast<T>(-1), T{3}, Limits::max(), Limits::lowest(), Limits::min()};
    if constexpr (std::is_floating_point_v<T>) {
        const auto payload = std::bit_cast<T>(static_cast<BitsOf<T>>(std::bit_cast<BitsOf<T>>(canonical_nan<T>()) + 12345));
        const auto signaling = std::bit_cast<T>(static_cast<BitsOf<T>>(std::bit_cast<BitsOf<T>>(Limits::infinity()) + 1));
        for (const T value : {T{0.1F}, Limits::infinity(), canonical_nan<T>(), payload, signaling, Limits::denorm_min(), Limits::epsilon()}) {
            values.push_back(value);
            values.push_back(-value);
        }
        values.push_back(-T{0});
    }
    return values;
}

template <typename T>
std::vector<std::vector<T>> random_sources(std::size_t how_many, std::size_t count, std::mt19937& random) {
    const std::vector<T> values = hostile_values<T>();
    std::vector<std::vector<T>> sources(how_many, std::vector<T>(count));
    for (auto& source : sources) {
        for (T& element : source) {
            element = values[random() % values.size()];
            if (random() % 2 == 0) element = static_cast<T>(static_cast<std::int32_t>(random())) / T{3};
        }
    }
    return sources;
}

template <typename T>
std::vector<T> oracle(core::Op op, const std::vector<std::vector<T>>& sources) {
    std::vector<T> result = sources[0];
    for (std::size_t index = 1; index < sources.size(); ++index) {
        for (std::size_t element = 0; element < result.size(); ++element) {
            result[element] = combine(op, result[element], sources[index][element]);
        }
    }
    return result;
}

// Storage for `count` elements that starts `shift` bytes off a cache line, with a guard byte at both ends.
class Shifted {
public:
    Shifted(std::size_t bytes, std::size_t shift) : bytes_(bytes), storage_(bytes + 192, std::byte{0x5a}) {
        const auto base = reinterpret_cast<std::uintptr_t>(storage_.data()) + 64;
        begin_ = 64 + (64 - base % 64) % 64 + shift;
    }
    std::byte* data() { return storage_.data() + begin_; }
    bool guards_intact() const { return storage_[begin_ - 1] == std::byte{0x5a} && storage_[begin_ + bytes_] == std::byte{0x5a}; }

private:
    std::size_t bytes_;
    std::vector<std::byte> storage_;
    std::size_t begin_ = 0;
};

struct Case {
    std::string_view set;
    core::DType dtype;
    core::Op op;
    std::size_t sources, count, shift;
    int aliased = -1;  // the destination is this source
};

template <typename T>
bool matches(const Case& test, std::mt19937& random) {
    const auto sources = random_sources<T>(test.sources, test.count, random);
    const std::vector<T> expected = oracle(test.op, sources);
    const std::size_t bytes = test.count * sizeof(T);
    std::vector<Shifted> copies;
    std::vector<const void*> pointers;
    for (const auto& source : sources) {
        copies.emplace_back(bytes, (test.shift * (copies.size() + 1)) % 64);
        if (bytes != 0) std::memcpy(copies.back().data(), source.data(), bytes);
    }
    for (Shifted& copy : copies)
        pointers.push_back(copy.data());
    Shifted separate(bytes, test.shift);
    Shifted& destination = test.aliased < 0 ? separate : copies[static_cast<std::size_t>(test.aliased)];
    fold_kernel_for(test.set, test.dtype, test.op)(destination.data(), pointers.data(), pointers.size(), test.count);
    return destination.guards_intact() && (bytes == 0 || std::memcmp(destination.data(), expected.data(), bytes) == 0);
}

bool matches(const Case& test, std::mt19937& random) {
    switch (test.dtype) {
        case core::DType::float32:
            return matches<float>(test, random);
        case core::DType::float64:
            return matches<double>(test, random);
        case core::DType::int32:
            return matches<std::int32_t>(test, random);
        case core::DType::int64:
            return matches<std::int64_t>(test, random);
    }
    return false;
}

std::string describe_case(const Case& test) {
    return std::string(test.set) + " " + std::string(core::name_of(test.dtype)) + " " + std::string(core::name_of(test.op)) + " sources " +
           std::to_string(test.sources) + " count " + std::to_string(test.count) + " shift " + std::to_string(test.shift) + " aliased " +
           std::to_string(test.aliased);
}

class FoldKernels : public testing::TestWithParam<std::string_view> {
protected:
    void SetUp() override {
        if (fold_kernel_for(GetParam(), core::DType::float32, core::Op::sum) == nullptr) GTEST_SKIP() << "this CPU lacks " << GetParam();
    }
    template <typename Visit>
    void for_every_dtype_and_op(Visit visit) {
        for (const core::DType dtype : core::all_dtypes()) {
            for (const core::Op op : core::all_ops())
                visit(dtype, op);
        }
    }
    std::mt19937 random_{11};
};

TEST_P(FoldKernels, EqualTheScalarOracleBitForBitForEverySmallCount) {
    for_every_dtype_and_op([&](core::DType dtype, core::Op op) {
        for (std::size_t count = 0; count <= 200; ++count) {
            for (const std::size_t sources : {1U, 2U, 3U, 4U, 7U}) {
                const Case test{GetParam(), dtype, op, sources, count, 0};
                ASSERT_TRUE(matches(test, random_)) << describe_case(test);
            }
        }
    });
}

TEST_P(FoldKernels, AcceptAnyAlignment) {
    for_every_dtype_and_op([&](core::DType dtype, core::Op op) {
        for (std::size_t shift = 0; shift < 64; shift += core::size_of(dtype)) {
            const Case test{GetParam(), dtype, op, 3, 133, shift};
            ASSERT_TRUE(matches(test, random_)) << describe_case(test);
        }
        const Case odd{GetParam(), dtype, op, 2, 61, 1};
        ASSERT_TRUE(matches(odd, random_)) << describe_case(odd);
    });
}

TEST_P(FoldKernels, MayWriteOverAnyOneOfTheirSources) {
    for_every_dtype_and_op([&](core::DType dtype, core::Op op) {
        for (const std::size_t sources : {1U, 2U, 3U, 5U}) {
            for (int aliased = 0; aliased < static_cast<int>(sources); ++aliased) {
                for (const std::size_t count : {1U, 15U, 64U, 157U}) {
                    const Case test{GetParam(), dtype, op, sources, count, 8, aliased};
                    ASSERT_TRUE(matches(test, random_)) << describe_case(test);
                }
            }
        }
    });
}

TEST_P(FoldKernels, GiveTheSameBitsWithOperandsSwapped) {
    for_every_dtype_and_op([&](core::DType dtype, core::Op op) {
        if (dtype != core::DType::float32) return;
        const std::vector<float> values = hostile_values<float>();
        for (const float a : values) {
            for (const float b : values) {
                std::uint32_t forward = 0, backward = 0;
                const std::array<const void*, 2> ab = {&a, &b}, ba = {&b, &a};
                const FoldKernel kernel = fold_kernel_for(GetParam(), dtype, op);
                kernel(&forward, ab.data(), 2, 1);
                kernel(&backward, ba.data(), 2, 1);
                ASSERT_EQ(forward, backward) << a << " " << core::name_of(op) << " " << b;
            }
        }
    });
}

TEST_P(FoldKernels, CopyOneSourceWithItsBitsUnchanged) {
    const std::array<std::uint32_t, 2> source = {0x7fc12345, 0xff800001};
    std::array<std::uint32_t, 2> destination{};
    const void* const pointer = source.data();
    fold_kernel_for(GetParam(), core::DType::float32, core::Op::sum)(destination.data(), &pointer, 1, 2);
    EXPECT_EQ(source, destination);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, FoldKernels, testing::ValuesIn(instruction_sets), [](const auto& info) { return std::string(info.param); });

TEST(Fold, UsesTheBestInstructionSetOfThisCpu) {
    const FoldKernel chosen = fold_kernel(core::DType::int64, core::Op::min);
    EXPECT_EQ(chosen, fold_kernel_for(kernel_instruction_set(), core::DType::int64, core::Op::min));
    EXPECT_EQ(fold_kernel_for("sse9", core::DType::int64, core::Op::min), nullptr);
}

TEST(CopyStreaming, CopiesEverySizeAtEveryAlignmentAndNothingElse) {
    std::vector<std::byte> source(700);
    for (std::size_t index = 0; index < source.size(); ++index)
        source[index] = static_cast<std::byte>(index * 7);
    for (std::size_t shift = 0; shift < 64; shift += 3) {
        for (std::size_t bytes = 0; bytes < 400; bytes += 1 + bytes / 16) {
            Shifted destination(bytes, shift);
            copy_streaming(destination.data(), source.data() + shift, bytes);
            ASSERT_TRUE(destination.guards_intact());
            ASSERT_TRUE(bytes == 0 || std::memcmp(destination.data(), source.data() + shift, bytes) == 0) << shift << " " << bytes;
        }
    }
}

}  // namespace
}  // namespace attune::collectives

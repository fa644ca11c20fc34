// The fold kernels of every instruction set against a scalar oracle, bit for bit, on hostile values.
#include "collectives/kernels/fold.hpp"

#include "libcore/element.hpp"

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
T canonical_nan() {
    return std::numeric_limits<T>::quiet_NaN();
}
static_assert(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()) == 0x7fc00000);
static_assert(std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()) == 0x7ff8000000000000);

template <typename T>
T combine_floats(core::Op op, T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return canonical_nan<T>();
    if (op == core::Op::min || op == core::Op::max) {
        const bool a_first = a < b || (a == b && std::signbit(a) && !std::signbit(b));
        return (op == core::Op::min) == a_first ? a : b;
    }
    const T result = op == core::Op::prod ? a * b : a + b;
    return std::isnan(result) ? canonical_nan<T>() : result;
}

// In 64 unsigned bits, of which the type keeps its own.
template <typename T>
T combine_integers(core::Op op, T a, T b) {
    const std::uint64_t x = static_cast<std::make_unsigned_t<T>>(a), y = static_cast<std::make_unsigned_t<T>>(b);
    if (op == core::Op::prod) return static_cast<T>(x * y);
    if (op == core::Op::min) return b < a ? b : a;
    if (op == core::Op::max) return a < b ? b : a;
    if (op == core::Op::band) return static_cast<T>(x & y);
    if (op == core::Op::bor) return static_cast<T>(x | y);
    if (op == core::Op::bxor) return static_cast<T>(x ^ y);
    return static_cast<T>(x + y);
}

template <typename T>
T combine(core::Op op, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return combine_floats(op, a, b);
    } else {
        return combine_integers(op, a, b);
    }
}

template <typename T>
std::vector<T> hostile_values() {
    using Wide = core::Accumulator<T>;
    using Limits = std::numeric_limits<Wide>;
    std::vector<T> values;
    for (const Wide value : {Wide{0}, Wide{1}, static_cast<Wide>(-1), Wide{3}, Limits::max(), Limits::lowest(), Limits::min()})
        values.push_back(static_cast<T>(value));
    if constexpr (std::is_floating_point_v<Wide>) {
        for (const Wide value :
             {Wide{0.1F}, Limits::infinity(), Limits::denorm_min(), Limits::epsilon(), Wide{0}, Wide{65504}, Wide{0x1p-24F}, Wide{0x1p-133F}}) {
            values.push_back(static_cast<T>(value));
            values.push_back(static_cast<T>(-value));
        }
    }
    return values;
}

// Half of them any bits at all, for floats mostly numbers of all magnitudes, now and then a NaN, quiet or signaling, with any payload.
template <typename T>
T random_element(const std::vector<T>& hostile, std::mt19937& random) {
    const std::uint32_t turn = random() % 4;
    if (turn == 0) return hostile[random() % hostile.size()];
    if constexpr (core::is_floating_type<T>) {
        using Wide = core::Accumulator<T>;
        if (turn == 1) return static_cast<T>(static_cast<Wide>(static_cast<std::int32_t>(random())) / Wide{0x3p24F});
        if (turn == 2 && random() % 8 == 0) return static_cast<T>(std::numeric_limits<Wide>::signaling_NaN());
    }
    const std::uint64_t bits = std::uint64_t{random()} << 32 | random();
    T value{};
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

template <typename T>
std::vector<std::vector<T>> random_sources(std::size_t how_many, std::size_t count, std::mt19937& random) {
    const std::vector<T> values = hostile_values<T>();
    std::vector<std::vector<T>> sources(how_many, std::vector<T>(count));
    for (auto& source : sources) {
        for (T& element : source)
            element = random_element(values, random);
    }
    return sources;
}

// `divisor` 0: a fold, which copies a single source as it is; else an average of so many ranks.
template <typename T>
T oracle_element(core::Op op, const std::vector<std::vector<T>>& sources, std::size_t element, int divisor) {
    using Wide = core::Accumulator<T>;
    if (sources.size() == 1 && divisor == 0) return sources[0][element];
    auto result = static_cast<Wide>(sources[0][element]);
    for (std::size_t index = 1; index < sources.size(); ++index)
        result = combine(op, result, static_cast<Wide>(sources[index][element]));
    if constexpr (std::is_floating_point_v<Wide>) {
        if (divisor != 0) result /= static_cast<Wide>(divisor);
        if (std::isnan(result)) result = canonical_nan<Wide>();
    }
    return static_cast<T>(result);
}

template <typename T>
std::vector<T> oracle(core::Op op, const std::vector<std::vector<T>>& sources, int divisor) {
    std::vector<T> result(sources[0].size());
    for (std::size_t element = 0; element < result.size(); ++element)
        result[element] = oracle_element(op, sources, element, divisor);
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
    int divisor = 0;   // an average of so many ranks
};

template <typename T>
bool matches(const Case& test, std::mt19937& random) {
    const auto sources = random_sources<T>(test.sources, test.count, random);
    const std::vector<T> expected = oracle(test.op, sources, test.divisor);
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
    if (test.divisor != 0) {
        average_kernel_for(test.set, test.dtype)(destination.data(), {pointers.data(), pointers.size(), test.divisor}, test.count);
    } else {
        fold_kernel_for(test.set, test.dtype, test.op)(destination.data(), pointers.data(), pointers.size(), test.count);
    }
    return destination.guards_intact() && (bytes == 0 || std::memcmp(destination.data(), expected.data(), bytes) == 0);
}

bool matches(const Case& test, std::mt19937& random) {
    return core::with_element_type(test.dtype, [&]<class T>(T) { return matches<T>(test, random); });
}

std::string describe_case(const Case& test) {
    return std::string(test.set) + " " + std::string(core::name_of(test.dtype)) + " " + std::string(core::name_of(test.op)) + " sources " +
           std::to_string(test.sources) + " count " + std::to_string(test.count) + " shift " + std::to_string(test.shift) + " aliased " +
           std::to_string(test.aliased) + " divisor " + std::to_string(test.divisor);
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
                if (!core::unsupported(dtype, op)) visit(dtype, op);
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

template <typename T>
void expect_commutative(std::string_view set, core::DType dtype, core::Op op) {
    const FoldKernel kernel = fold_kernel_for(set, dtype, op);
    for (const T& a : hostile_values<T>()) {
        for (const T& b : hostile_values<T>()) {
            T forward{}, backward{};
            const std::array<const void*, 2> ab = {&a, &b}, ba = {&b, &a};
            kernel(&forward, ab.data(), 2, 1);
            kernel(&backward, ba.data(), 2, 1);
            ASSERT_EQ(std::memcmp(&forward, &backward, sizeof(T)), 0) << core::name_of(dtype) << " " << core::name_of(op);
        }
    }
}

TEST_P(FoldKernels, GiveTheSameBitsWithOperandsSwapped) {
    for_every_dtype_and_op(
        [&](core::DType dtype, core::Op op) { core::with_element_type(dtype, [&]<class T>(T) { expect_commutative<T>(GetParam(), dtype, op); }); });
}

TEST_P(FoldKernels, AverageByOneDivisionBeforeTheOnlyRounding) {
    for (const core::DType dtype : core::all_dtypes()) {
        if (!core::is_floating(dtype)) continue;
        for (std::size_t count = 0; count <= 150; ++count) {
            for (const std::size_t sources : {1U, 2U, 3U, 7U}) {
                for (const int divisor : {1, 2, 3, 7, 1000}) {
                    const Case test{GetParam(), dtype, core::Op::avg, sources, count, (count % 8) * core::size_of(dtype), count % 3 == 0 ? 0 : -1, divisor};
                    ASSERT_TRUE(matches(test, random_)) << describe_case(test);
                }
            }
        }
    }
}

// 2048 + 1 + 1 in float16: rounding in between would lose both ones.
TEST_P(FoldKernels, RoundSixteenBitFloatsOnceForTheWholeFold) {
    const core::Float16 large(2048), one(1);
    const std::array<const void*, 3> sources = {&large, &one, &one};
    core::Float16 sum{};
    fold_kernel_for(GetParam(), core::DType::float16, core::Op::sum)(&sum, sources.data(), 3, 1);
    EXPECT_EQ(static_cast<float>(sum), 2050.0F);
    average_kernel_for(GetParam(), core::DType::float16)(&sum, {sources.data(), 3, 1025}, 1);
    EXPECT_EQ(static_cast<float>(sum), 2.0F);
}

// All values there are, one by one through widening and rounding: their sum with -0 is themselves, NaNs become the canonical one.
TEST_P(FoldKernels, ConvertEveryPatternOfSixteenBitsLikeTheScalarTypes) {
    const auto check = [&]<class T>(core::DType dtype, T) {
        std::vector<T> values(0x10000), zeros(values.size()), sums(values.size());
        for (std::size_t bits = 0; bits < values.size(); ++bits) {
            values[bits].bits = static_cast<std::uint16_t>(bits);
            zeros[bits].bits = 0x8000;
        }
        const std::array<const void*, 2> sources = {values.data(), zeros.data()};
        fold_kernel_for(GetParam(), dtype, core::Op::sum)(sums.data(), sources.data(), 2, values.size());
        for (std::size_t bits = 0; bits < values.size(); ++bits)
            ASSERT_EQ(sums[bits].bits, T(static_cast<float>(values[bits])).bits) << core::name_of(dtype) << " " << bits;
    };
    check(core::DType::float16, core::Float16{});
    check(core::DType::bfloat16, core::Bfloat16{});
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

TEST(Fold, HasNoKernelForImpossiblePairsAndOneForAllOthers) {
    for (const core::DType dtype : core::all_dtypes()) {
        for (const core::Op op : core::all_ops())
            EXPECT_EQ(fold_kernel(dtype, op) == nullptr, core::unsupported(dtype, op).has_value()) << core::name_of(dtype) << core::name_of(op);
        EXPECT_EQ(average_kernel(dtype) != nullptr, core::is_floating(dtype)) << core::name_of(dtype);
    }
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

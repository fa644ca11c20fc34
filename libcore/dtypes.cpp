#include "libcore/dtypes.hpp"

#include "libcore/text.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace attune::core {

namespace {

enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer };

struct DTypeFacts {
    DType dtype;
    std::string_view name;
    std::size_t bytes;
    Kind kind;
};

// In the order of the enumeration.
constexpr std::array facts_table = {
    DTypeFacts{DType::float32, "float32", 4, Kind::floating},       DTypeFacts{DType::float64, "float64", 8, Kind::floating},
    DTypeFacts{DType::int32, "int32", 4, Kind::signed_integer},     DTypeFacts{DType::int64, "int64", 8, Kind::signed_integer},
    DTypeFacts{DType::int8, "int8", 1, Kind::signed_integer},       DTypeFacts{DType::int16, "int16", 2, Kind::signed_integer},
    DTypeFacts{DType::uint8, "uint8", 1, Kind::unsigned_integer},   DTypeFacts{DType::uint16, "uint16", 2, Kind::unsigned_integer},
    DTypeFacts{DType::uint32, "uint32", 4, Kind::unsigned_integer}, DTypeFacts{DType::uint64, "uint64", 8, Kind::unsigned_integer},
    DTypeFacts{DType::float16, "float16", 2, Kind::floating},       DTypeFacts{DType::bfloat16, "bfloat16", 2, Kind::floating},
};

constexpr auto dtypes = [] {
    std::array<DType, facts_table.size()> all{};
    for (std::size_t index = 0; index < all.size(); ++index)
        all[index] = facts_table[index].dtype;
    return all;
}();

// Words of C++, PyTorch, nccl-tests and hccl_test.
constexpr std::array<std::pair<std::string_view, DType>, 22> aliases = {{
    {"float", DType::float32}, {"fp32", DType::float32},    {"double", DType::float64}, {"fp64", DType::float64},  {"half", DType::float16},
    {"fp16", DType::float16},  {"bf16", DType::bfloat16},   {"bfp16", DType::bfloat16}, {"int", DType::int32},     {"long", DType::int64},
    {"short", DType::int16},   {"char", DType::int8},       {"byte", DType::uint8},     {"uchar", DType::uint8},   {"ushort", DType::uint16},
    {"uint", DType::uint32},   {"ulong", DType::uint64},    {"int8_t", DType::int8},    {"uint8_t", DType::uint8}, {"int32_t", DType::int32},
    {"int64_t", DType::int64}, {"uint64_t", DType::uint64},
}};

const DTypeFacts& facts(DType dtype) noexcept {
    return facts_table[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t size_of(DType dtype) noexcept {
    return facts(dtype).bytes;
}

std::string_view name_of(DType dtype) noexcept {
    return facts(dtype).name;
}

bool is_floating(DType dtype) noexcept {
    return facts(dtype).kind == Kind::floating;
}

bool is_signed(DType dtype) noexcept {
    return facts(dtype).kind != Kind::unsigned_integer;
}

std::span<const DType> all_dtypes() noexcept {
    return dtypes;
}

DType parse_dtype(std::string_view text) {
    const auto* const alias = std::ranges::find(aliases, text, &std::pair<std::string_view, DType>::first);
    if (alias != aliases.end()) return alias->second;
    std::vector<std::string> names;
    for (const DTypeFacts& entry : facts_table) {
        if (text == entry.name) return entry.dtype;
        names.emplace_back(entry.name);
    }
    require_word("dtype", text, names);  // always throws: no name is equal
    return DType::float32;
}

}  // namespace attune::core

#include "libcore/dtypes.hpp"

#include "libcore/text.hpp"

#include <array>
#include <vector>

namespace attune::core {

namespace {

struct DTypeFacts {
    DType dtype;
    std::string_view name;
    std::string_view alias;  // accepted, never printed
    std::size_t bytes;
    bool floating;
};

// In the order of the enumeration.
constexpr std::array<DTypeFacts, 4> facts_table = {{
    {DType::float32, "float32", "float", 4, true},
    {DType::float64, "float64", "double", 8, true},
    {DType::int32, "int32", "int", 4, false},
    {DType::int64, "int64", "", 8, false},
}};
constexpr std::array<DType, 4> dtypes = {DType::float32, DType::float64, DType::int32, DType::int64};

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
    return facts(dtype).floating;
}

std::span<const DType> all_dtypes() noexcept {
    return dtypes;
}

DType parse_dtype(std::string_view text) {
    std::vector<std::string> names;
    for (const DTypeFacts& entry : facts_table) {
        if (text == entry.name || (!entry.alias.empty() && text == entry.alias)) return entry.dtype;
        names.emplace_back(entry.name);
    }
    require_word("dtype", text, names);  // always throws: no name is equal
    return DType::float32;
}

}  // namespace attune::core

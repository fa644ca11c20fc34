// Sizes and durations as people write them. K, M, G are 1024-based, as in nccl-tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attune::core {

// "8", "64K", "4M", "1G", "64KiB" -> bytes. "64KB" is refused with a hint (1000- or 1024-based?). Throws Error(usage).
std::uint64_t parse_bytes(std::string_view text);

// "250ms", "5s", "2m", "1h", plain number = seconds -> nanoseconds. Throws Error(usage).
std::int64_t parse_duration_ns(std::string_view text);

// 65536 -> "64 KiB", 24 -> "24 B"; not whole multiples keep up to two decimals ("1.5 KiB").
std::string format_bytes(std::uint64_t bytes);
// Canonical text of a size in a config: 65536 -> "64K", 1000 -> "1000" (parse_bytes reads it back exactly).
std::string compact_bytes(std::uint64_t bytes);
// 1234.5 us -> "1.23 ms"; three significant digits.
std::string format_time_us(double microseconds);

}  // namespace attune::core

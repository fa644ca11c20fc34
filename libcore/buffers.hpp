// Aligned memory with guard bytes around it, for tests, benchmarks and scratch.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace attune::core {

// `bytes` of zeroed memory, 64-byte aligned, with `guard_bytes` of a known pattern on both sides. Move-only. Throws
// Error(failure).
class Buffer {
public:
    static constexpr std::size_t guard_bytes = 64;
    Buffer() = default;
    explicit Buffer(std::size_t bytes);

    std::byte* data() noexcept { return data_; }
    const std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::span<std::byte> span() noexcept { return {data_, size_}; }
    bool guards_intact() const noexcept;

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept;
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace attune::core

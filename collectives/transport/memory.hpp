// Owner of a mapped segment.
#pragma once

#include <cstddef>
#include <utility>

#include <sys/mman.h>

namespace attune::collectives {

// Unmaps its pages. Move-only.
class Mapping {
public:
    Mapping() = default;
    // Zeroed memory of this process, or `descriptor` shared. data() is null when the system refused (errno says why).
    explicit Mapping(std::size_t bytes, int descriptor = -1) noexcept : bytes_(bytes) {
        const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
        data_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    }
    Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping() {
        if (data_ != nullptr) munmap(data_, bytes_);
    }
    std::byte* data() const noexcept { return data_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace attune::collectives

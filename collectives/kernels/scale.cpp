#include "collectives/kernels/scale.hpp"

#include <cstring>
#include <limits>

namespace attune::collectives {

namespace {

// Element by element through memcpy: user buffers need no alignment.
template <typename T>
void scale(void* data, std::size_t count, T factor) noexcept {
    auto* const bytes = static_cast<std::byte*>(data);
    for (std::size_t index = 0; index < count; ++index) {
        T value;
        std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
        value *= factor;
        if (value != value) value = std::numeric_limits<T>::quiet_NaN();
        std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
    }
}

}  // namespace

void scale_elements(core::DType dtype, void* data, std::size_t count, double factor) noexcept {
    if (dtype == core::DType::float32) scale(data, count, static_cast<float>(factor));
    if (dtype == core::DType::float64) scale(data, count, factor);
}

}  // namespace attune::collectives

#include "tuner/engine/arrival.hpp"

#include "tuner/engine/check_values.hpp"

namespace attune::tuner::engine {

std::int64_t Arrival::after_ns(std::uint64_t iteration, int rank, int ranks) const noexcept {
    switch (skew) {
        case Skew::uniform:
            return static_cast<std::int64_t>(mixed(seed ^ mixed(iteration * 65537 + static_cast<std::uint64_t>(rank))) %
                                             (static_cast<std::uint64_t>(latest_ns) + 1));
        case Skew::one_late:
            return iteration % static_cast<std::uint64_t>(ranks) == static_cast<std::uint64_t>(rank) ? latest_ns : 0;
        case Skew::ramp:
            return ranks == 1 ? 0 : latest_ns * rank / (ranks - 1);
        case Skew::none:
            break;
    }
    return 0;
}

}  // namespace attune::tuner::engine
